"""Recalls, median and mean ranks from 0-based ranks, over the full gallery or folds."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from math import comb, floor
from typing import Any

import numpy as np

from polyglance.errors import ArgumentError
from polyglance.evaluation.ranking.ranks import Progress, Ranks, rank_both
from polyglance.numerics.sets import Embeddings
from polyglance.numerics.similarity import Score, dot

KS = (1, 5, 10)


@dataclass(frozen=True, slots=True)
class Direction:
    """One direction: any-hit recalls in percent, ranks counted from 1."""

    r1: float
    r5: float
    r10: float
    median_rank: float
    mean_rank: float

    @property
    def recalls(self) -> tuple[float, float, float]:
        return self.r1, self.r5, self.r10


@dataclass(frozen=True, slots=True)
class Metrics:
    """Both directions of one language, or of an average."""

    image_to_text: Direction
    text_to_image: Direction

    @property
    def recalls(self) -> tuple[float, ...]:
        """The six recalls, image → text first."""
        return *self.image_to_text.recalls, *self.text_to_image.recalls

    @property
    def rsum(self) -> float:
        """Sum of the six recalls."""
        return sum(self.recalls)

    @property
    def mr(self) -> float:
        """Mean of the six recalls."""
        return self.rsum / 6

    def as_dict(self) -> dict[str, Any]:
        return {**asdict(self), "rsum": self.rsum, "mr": self.mr}


def direction(ranks: np.ndarray) -> Direction:
    """Metrics of 0-based ranks [n]; the median rank is ⌊median⌋ + 1.

    >>> direction(np.array([0, 1, 4, 30]))
    Direction(r1=25.0, r5=75.0, r10=75.0, median_rank=3.0, mean_rank=9.75)
    """
    r1, r5, r10 = (100 * float(np.mean(ranks < k)) for k in KS)
    median = float(floor(np.median(ranks)) + 1)
    return Direction(r1, r5, r10, median, float(np.mean(ranks)) + 1)


def metrics(ranks: Ranks) -> Metrics:
    """Metrics of both directions over one gallery."""
    return Metrics(direction(ranks.image_to_text), direction(ranks.text_to_image))


def mean(values: Sequence[Metrics]) -> Metrics:
    """Average every metric, over folds or languages."""

    def side(pick: Callable[[Metrics], Direction]) -> Direction:
        columns = zip(*(asdict(pick(value)).values() for value in values), strict=True)
        return Direction(*(sum(column) / len(values) for column in columns))

    return Metrics(side(lambda m: m.image_to_text), side(lambda m: m.text_to_image))


def fold_slices(images: int, folds: int) -> list[slice]:
    """Contiguous folds of nearly equal size; five of 5,000 are COCO's 1K protocol.

    >>> fold_slices(5, 2)
    [slice(0, 3, None), slice(3, 5, None)]
    """
    if not 1 <= folds <= images:
        raise ArgumentError(f"cannot make {folds} folds of {images} images; reduce `folds`")
    size, rest = divmod(images, folds)
    starts = [fold * size + min(fold, rest) for fold in range(folds + 1)]
    return [slice(a, b) for a, b in pairwise(starts)]


def fold_members(
    caption_image: np.ndarray, images: int, folds: int
) -> Iterator[tuple[slice, np.ndarray]]:
    """Yield each contiguous fold of images, and the indices [m] of its captions.

    Args:
        caption_image: [M], the image of each caption.
        images: number of images.
        folds: number of folds.
    """
    for fold in fold_slices(images, folds):
        yield fold, np.flatnonzero((caption_image >= fold.start) & (caption_image < fold.stop))


def rank_folds(
    images: Embeddings,
    captions: Embeddings,
    caption_image: np.ndarray,
    folds: int = 1,
    score: Score = dot,
    progress: Progress | None = None,
) -> Ranks:
    """`rank_both` within each contiguous fold of images.

    Args:
        images: [N, D] or sets.
        captions: [M, D] or sets.
        caption_image: [M], the image of each caption.
        folds: number of folds; 1 for the full gallery.
        score: maps images and captions to scores [n, m].
        progress: called with the number of captions ranked since the last call.
    """
    if folds == 1:
        return rank_both(images, captions, caption_image, score, progress=progress)
    caption_image = np.asarray(caption_image, np.int64)
    rows, columns = np.empty(len(images), np.int64), np.empty(len(captions), np.int64)
    for fold, members in fold_members(caption_image, len(images), folds):
        owner = caption_image[members] - fold.start
        ranks = rank_both(images[fold], captions[members], owner, score, progress=progress)
        rows[fold], columns[members] = ranks.image_to_text, ranks.text_to_image
    return Ranks(rows, columns)


def fold_metrics(ranks: Ranks, caption_image: np.ndarray, folds: int = 1) -> Metrics:
    """Metrics of each fold, averaged.

    Args:
        ranks: from `rank_folds`.
        caption_image: [M], the image of each caption.
        folds: as passed to `rank_folds`.
    """
    parts = []
    for fold, members in fold_members(caption_image, len(ranks.image_to_text), folds):
        parts.append(metrics(Ranks(ranks.image_to_text[fold], ranks.text_to_image[members])))
    return mean(parts)


@dataclass(frozen=True, slots=True)
class Outcome:
    """Ranks of an evaluation, and what they refer to.

    `image` [N] is the index in the split of each image of the gallery, `caption_image` [M] the row
    in `image` of each caption's image.
    """

    ranks: Ranks
    caption_image: np.ndarray
    image: np.ndarray
    folds: int = 1

    def metrics(self) -> Metrics:
        """Metrics, averaged over the folds."""
        return fold_metrics(self.ranks, self.caption_image, self.folds)


def chance(caption_image: np.ndarray) -> float:
    """Expected mR, in percent, of a random ranking of one gallery."""
    counts = np.bincount(caption_image)
    total = int(counts.sum())
    hits = [float(np.mean(_random_hit(counts, total, k))) for k in KS]
    return 100 * (sum(hits) + sum(min(1.0, k / len(counts)) for k in KS)) / 6


def _random_hit(counts: np.ndarray, total: int, k: int) -> list[float]:
    draws = min(k, total)
    return [1 - comb(total - int(n), draws) / comb(total, draws) for n in counts]
