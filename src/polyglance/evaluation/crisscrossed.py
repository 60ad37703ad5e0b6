"""Evaluation on Crisscrossed Captions: recalls within and across modalities, and correlations."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from polyglance.data.crisscrossed import Crisscrossed, Ratings
from polyglance.data.dataset import Dataset
from polyglance.errors import PolyglanceError
from polyglance.evaluation.encoder import (
    Encoder,
    as_embeddings,
    encode_quietly,
    finite,
    similarity_of,
)
from polyglance.evaluation.ranking.metrics import KS
from polyglance.evaluation.ranking.ranks import best_rank

if TYPE_CHECKING:
    from polyglance.evaluation.reports.tables import Rows

POSITIVE = {"sits": 3.0, "sts": 3.0, "sis": 2.5}
"""Mean rating from which a pair is a match.

The thresholds for captions (sts) and images (sis) are those of vse_infty's code (lib/evaluation.py,
cxc_intra), which cites the paper of Crisscrossed Captions. It reads the matches of captions with
images (sits) from a file without a threshold, so this one is unverified: docs/evaluation.md.
"""
DIRECTIONS = {"i2t": "I→T", "t2i": "T→I", "t2t": "T→T", "i2i": "I→I"}
ROUNDS = 1000
CHUNK = 512
Positives = Sequence[np.ndarray]
"""The matching items of each query."""


@dataclass(frozen=True)
class Recall:
    """Percentages of queries with a match among the first K, and the number of queries."""

    r1: float
    r5: float
    r10: float
    queries: int


@dataclass(frozen=True)
class Correlation:
    """Spearman's correlation with human ratings: mean and standard deviation over samples."""

    mean: float
    deviation: float
    pairs: int


@dataclass(frozen=True)
class CrisscrossedReport:
    """Recalls by direction (i2t, t2i, t2t, i2i), correlations by task (sits, sts, sis)."""

    model: str
    recalls: dict[str, Recall]
    correlations: dict[str, Correlation]

    def as_dict(self) -> dict[str, Any]:
        """JSON form."""
        return asdict(self)

    def table(self) -> "Rows":
        """The table for the terminal and Markdown."""
        from polyglance.evaluation.reports.tables import Rows

        found = [
            [DIRECTIONS[name], *(f"{value:.1f}" for value in (own.r1, own.r5, own.r10)), ""]
            for name, own in self.recalls.items()
        ]
        found += [
            [task.upper(), "", "", "", f"{100 * own.mean:.1f} ± {100 * own.deviation:.1f}"]
            for task, own in self.correlations.items()
        ]
        header = ["Crisscrossed Captions", "R@1", "R@5", "R@10", "Spearman × 100"]
        return Rows(self.model, header, found, [])


def evaluate_crisscrossed(
    model: Encoder,
    dataset: Dataset,
    ratings: Crisscrossed,
    *,
    name: str = "model",
    seed: int = 0,
    cache: Path | None = None,
    show_progress: bool | None = None,
) -> CrisscrossedReport:
    """Evaluate a model on Crisscrossed Captions.

    Args:
        model: with cosine similarity, so that images can be compared with images.
        dataset: with the rated images, identified by file name.
        ratings: from `read_crisscrossed`.
        name: of the model in the report.
        seed: for sampling rated pairs.
        cache: folder for features; the XDG cache by default.
        show_progress: None shows progress on a terminal only.
    """
    kind, prepare, _ = similarity_of(model)
    if kind != "cosine":
        raise PolyglanceError(
            f"Crisscrossed Captions also compares images with images and texts with texts, but a "
            f"model of similarity '{kind}' only compares images with texts"
        )
    part = _rated_images(dataset, ratings.images)
    images = as_embeddings(model.encode_dataset(part, cache=cache, show_progress=show_progress))
    if not finite(images).all():
        unread = ratings.images[int(np.argmin(finite(images)))]
        raise PolyglanceError(f"{dataset.name}: the rated image {unread} cannot be read")
    texts = as_embeddings(encode_quietly(model, ratings.texts, "en", show_progress))
    images, texts = prepare(images), prepare(texts)
    sides = {"i": np.asarray(images), "t": np.asarray(texts)}
    return CrisscrossedReport(
        name,
        {
            way: recall(sides[way[0]], sides[way[-1]], matches(ratings, way), way[0] == way[-1])
            for way in DIRECTIONS
        },
        {
            "sits": correlate(sides["t"], sides["i"], ratings.ratings["sits"], seed),
            "sts": correlate(sides["t"], sides["t"], ratings.ratings["sts"], seed),
            "sis": correlate(sides["i"], sides["i"], ratings.ratings["sis"], seed),
        },
    )


def matches(ratings: Crisscrossed, way: str) -> list[np.ndarray]:
    """The matching items of each query of a direction.

    Across modalities, an image's own captions and pairs rated at least 3; for texts, the other
    captions of the same image and pairs rated at least 3; for images, pairs rated at least 2.5.
    """
    owner, found = ratings.caption_image, ratings.ratings
    first, last = way[0], way[-1]
    if first != last:
        pairs = [(np.arange(len(owner)), owner), _match_pairs(found["sits"], "sits")]
        if first == "i":
            pairs = [(image, caption) for caption, image in pairs]
    else:
        rated = _match_pairs(
            found["sts" if first == "t" else "sis"], "sts" if first == "t" else "sis"
        )
        pairs = [rated, rated[::-1]]
        pairs += [_siblings(owner)] if first == "t" else []
    count = len(ratings.images) if first == "i" else len(owner)
    sets: list[set[int]] = [set() for _ in range(count)]
    for queries, items in pairs:
        for query, item in zip(queries.tolist(), items.tolist(), strict=True):
            sets[query].add(item)
    if first == last:
        for query, own in enumerate(sets):
            own.discard(query)
    return [np.array(sorted(own), np.int64) for own in sets]


def recall(
    queries: np.ndarray, items: np.ndarray, positives: Positives, same: bool = False
) -> Recall:
    """Recalls of the best match of every query that has one.

    As in all evaluations here, the item with the lower index comes first in a tie. A query is
    excluded from its own search; vse_infty's code gives it the score 0 instead, which differs if
    its best match has a negative score.

    Args:
        queries: [n, D], normalised.
        items: [m, D], normalised.
        positives: matches of each query.
        same: whether queries and items are the same objects.
    """
    ranks: list[int] = []
    for start in range(0, len(queries), CHUNK):
        scores = queries[start : start + CHUNK] @ items.T
        if same:
            rows = np.arange(len(scores))
            scores[rows, start + rows] = -np.inf
        for row, own in zip(scores, positives[start : start + CHUNK], strict=True):
            if len(own):
                ranks.append(best_rank(row, own))
    if not ranks:
        raise PolyglanceError("Crisscrossed Captions: no query of a direction has a match")
    found = np.array(ranks)
    r1, r5, r10 = (100 * float(np.mean(found < k)) for k in KS)
    return Recall(r1, r5, r10, len(ranks))


def correlate(
    queries: np.ndarray, items: np.ndarray, rated: Ratings, seed: int = 0, rounds: int = ROUNDS
) -> Correlation:
    """Sampled Spearman correlation with the ratings of Crisscrossed Captions.

    Each round samples half of the queries and one rated pair per query, since pairs of one query
    are not independent. The first column of the files is the query. Neither the repository of the
    ratings nor vse_infty has code for this, so the scheme is unverified: docs/evaluation.md.

    Args:
        queries: [n, D], normalised.
        items: [m, D], normalised.
        rated: pairs of them.
        seed: for sampling.
        rounds: number of samples.
    """
    scores = np.einsum("nd,nd->n", queries[rated.first], items[rated.second])
    order = np.argsort(rated.first, kind="stable")
    _, starts, counts = np.unique(rated.first[order], return_index=True, return_counts=True)
    generator, found = np.random.default_rng(seed), []
    half = max(2, len(starts) // 2)
    for _ in range(rounds):
        chosen = generator.permutation(len(starts))[:half]
        pairs = order[starts[chosen] + generator.integers(counts[chosen])]
        found.append(spearman(scores[pairs], rated.score[pairs]))
    return Correlation(float(np.mean(found)), float(np.std(found)), len(rated))


def spearman(first: np.ndarray, second: np.ndarray) -> float:
    """Pearson's correlation of average ranks; 0 if all values of one side are equal.

    >>> spearman(np.array([1.0, 2, 3]), np.array([3.0, 9, 9])).__round__(4)
    0.866
    """
    a, b = (_average_ranks(side) for side in (first, second))
    a, b = a - a.mean(), b - b.mean()
    scale = np.sqrt((a @ a) * (b @ b))
    return float(a @ b / scale) if scale else 0.0


def _average_ranks(values: np.ndarray) -> np.ndarray:
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    return (np.cumsum(counts) - (counts - 1) / 2)[place]


def _match_pairs(rated: Ratings, task: str) -> tuple[np.ndarray, np.ndarray]:
    good = rated.score >= POSITIVE[task]
    return rated.first[good], rated.second[good]


def _siblings(owner: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """All pairs of captions of one image."""
    by_image = [np.flatnonzero(owner == image) for image in np.unique(owner)]
    pairs = [np.meshgrid(own, own, indexing="ij") for own in by_image]
    first, second = (np.concatenate([pair[side].ravel() for pair in pairs]) for side in (0, 1))
    return first, second


def _rated_images(dataset: Dataset, names: Sequence[str]) -> Dataset:
    """The dataset's entries of the rated images, in order."""
    known = {Path(entry.image).name: entry for entry in dataset.images}
    if missing := [name for name in names if name not in known]:
        raise PolyglanceError(
            f"{dataset.name}: lacks {len(missing)} of the {len(names)} rated images, such as "
            f"{missing[0]}; convert Karpathy's COCO ('polyglance data convert karpathy')"
        )
    return replace(dataset, images=[known[name] for name in names])
