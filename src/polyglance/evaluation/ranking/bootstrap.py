"""Bootstrap intervals and paired tests over images.

An image is resampled together with its captions in all languages, so that five captions of one
image are not treated as independent, and averages over languages and differences between runs come
from the same samples. The gallery is unchanged.
"""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from polyglance.evaluation.ranking.metrics import KS, Metrics, Outcome, fold_slices

HEADLINE = (
    *(f"image_to_text.r{k}" for k in KS),
    *(f"text_to_image.r{k}" for k in KS),
    "rsum",
    "mr",
)
"""The metrics with an interval, in the order of `headline`."""

DRAWS_AT_A_TIME = 1 << 22


@dataclass(frozen=True, slots=True)
class Difference:
    """Second run minus first: observed difference, 95 % interval, two-sided p-value."""

    difference: float
    low: float
    high: float
    p: float

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def headline(metrics: Metrics) -> np.ndarray:
    """The six recalls, rsum and mR [8]."""
    return np.array([*metrics.recalls, metrics.rsum, metrics.mr])


def bootstrap(
    outcomes: Sequence[Outcome], images: int, rounds: int = 1000, seed: int = 0
) -> np.ndarray:
    """Headline metrics [outcome, round, 8] of resampled images.

    If a resample has none of a (tiny) fold's images, the observed value is used.

    Args:
        outcomes: of evaluations on one split; all get the same resamples.
        images: number of images in the split.
        rounds: number of resamples.
        seed: of the resampling.
    """
    folds = [list(_hits_per_image(outcome)) for outcome in outcomes]
    parts = []
    for weights in _resamples(images, rounds, seed):
        parts.append([np.mean([_recalls(weights, *f) for f in fold], axis=0) for fold in folds])
    recalls = np.concatenate(parts, axis=1)  # [outcome, round, 6]
    rsum = recalls.sum(axis=2, keepdims=True)
    return np.concatenate([recalls, rsum, rsum / 6], axis=2)


def interval(samples: np.ndarray, level: float = 0.95) -> np.ndarray:
    """Percentile interval [2, …] of samples [round, …]."""
    tail = 50 * (1 - level)
    return np.percentile(samples, [tail, 100 - tail], axis=0)


def paired(first: np.ndarray, second: np.ndarray, observed: float) -> Difference:
    """Compare two runs on the same resamples.

    p is twice the smaller share of resampled differences on one side of zero, at most 1 and
    never below 2 / (rounds + 1).

    >>> paired(np.zeros(99), np.zeros(99), 0.0).p
    1.0

    Args:
        first: samples [round] of the first run.
        second: samples [round] of the second run.
        observed: the second run's metric minus the first's.
    """
    differences = second - first
    sides = (np.count_nonzero(differences <= 0), np.count_nonzero(differences >= 0))
    p = min(1.0, 2 * (min(sides) + 1) / (len(differences) + 1))
    low, high = interval(differences)
    return Difference(float(observed), float(low), float(high), p)


def _resamples(images: int, rounds: int, seed: int) -> Iterator[np.ndarray]:
    """Blocks [r, images] of the count of each image."""
    generator = np.random.default_rng(seed)
    block = max(1, DRAWS_AT_A_TIME // images)
    for start in range(0, rounds, block):
        r = min(block, rounds - start)
        draws = generator.integers(images, size=(r, images)) + images * np.arange(r)[:, None]
        counts = np.bincount(draws.ravel(), minlength=r * images)
        yield counts.reshape(r, images).astype(np.float32)


def _hits_per_image(outcome: Outcome) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """(image, hits, queries) of each fold; hits and queries are [n, 6], by recall."""
    image_ranks, text_ranks = outcome.ranks.image_to_text, outcome.ranks.text_to_image
    size = len(image_ranks)
    captions = np.bincount(outcome.caption_image, minlength=size)
    by_caption = [np.bincount(outcome.caption_image, text_ranks < k, size) for k in KS]
    hits = np.stack([*(image_ranks < k for k in KS), *by_caption], axis=1)
    queries = np.stack([np.ones(size)] * 3 + [captions] * 3, axis=1)
    for fold in fold_slices(size, outcome.folds):
        yield outcome.image[fold], hits[fold], queries[fold]


def _recalls(
    weights: np.ndarray, image: np.ndarray, hits: np.ndarray, queries: np.ndarray
) -> np.ndarray:
    """Recalls in percent [r, 6] of weighted images."""
    drawn = weights[:, image]
    found, total = drawn @ hits.astype(np.float32), drawn @ queries.astype(np.float32)
    observed = hits.sum(axis=0) / queries.sum(axis=0)
    return 100.0 * np.where(total > 0, found / np.maximum(total, 1), observed)
