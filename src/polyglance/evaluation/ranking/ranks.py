"""Ranks in both directions from an explicit caption → image index, by counting.

The rank of an item is the number of items before it: those with a strictly higher score, and those
with the same score that belong to an image with a lower index. This is the position in a stable
descending sort of captions ordered by image. The rule is deterministic, and a model with equal
scores for all pairs is at chance level, not at 100 %.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from polyglance.errors import PolyglanceError
from polyglance.evaluation.encoder import as_embeddings
from polyglance.numerics.sets import Embeddings
from polyglance.numerics.similarity import Score, dot

CHUNK = (512, 2048)
"""Images × captions per tile: 4 MiB of float32 scores."""

SET_CHUNK = (512, 128)
"""For sets of vectors, whose scores are slow, so that the progress bar moves regularly."""

Progress = Callable[[int], None]


@dataclass(frozen=True, slots=True)
class Ranks:
    """Ranks from 0. An image's rank is the best among its own captions."""

    image_to_text: np.ndarray  # [N] int64
    text_to_image: np.ndarray  # [M] int64


def rank_both(
    images: Embeddings,
    captions: Embeddings,
    caption_image: np.ndarray,
    score: Score = dot,
    chunk: tuple[int, int] | None = None,
    progress: Progress | None = None,
) -> Ranks:
    """Rank all captions for every image and all images for every caption.

    Every score is computed once; additional memory grows with N + M, not with N · M.

    >>> images = np.eye(2, dtype=np.float32)
    >>> rank_both(images, images[[0, 1, 0]], np.array([0, 1, 1])).text_to_image.tolist()
    [0, 0, 1]

    Args:
        images: [N, D], or sets.
        captions: [M, D], or sets.
        caption_image: [M], the image of each caption; every image has at least one.
        score: maps images and captions to scores [n, m]; may have its own `rank_both`, such as
            `on_device.DotOnDevice`.
        chunk: images and captions per tile of scores.
        progress: called with the number of captions ranked since the last call.
    """
    images, captions = as_embeddings(images), as_embeddings(captions)
    if (elsewhere := getattr(score, "rank_both", None)) is not None:
        return elsewhere(images, captions, caption_image, chunk, progress)
    if chunk is None:
        chunk = CHUNK if isinstance(images, np.ndarray) else SET_CHUNK
    owner = check_index(len(images), len(captions), caption_image)
    order = np.argsort(owner, kind="stable")
    owner = owner[order]
    tiles = _Tiles(images, captions, order, score, chunk)
    own, positive_tiles = _positives(tiles, owner)
    best = np.maximum.reduceat(own, np.searchsorted(owner, np.arange(len(images))))
    rows, columns = np.zeros(len(images), np.int64), np.zeros(len(captions), np.int64)
    for j, block in tiles.columns():
        here = slice(j, j + len(block))
        for a in range(0, len(images), chunk[0]):
            tile = positive_tiles.pop((a, j), None)
            if tile is None:
                tile = tiles.score(a, block)
            count_before(tile, a, owner[here], best, own[here], rows, columns[here])
        if progress is not None:
            progress(len(block))
    text_to_image = np.empty_like(columns)
    text_to_image[order] = columns
    return Ranks(rows, text_to_image)


def best_rank(scores: np.ndarray, matches: np.ndarray) -> int:
    """Rank from 0 of the best of the items `matches` [k], given the scores [n] of all items.

    >>> best_rank(np.array([0.5, 0.9, 0.5]), np.array([2]))
    2
    """
    best = matches[np.argmax(scores[matches])]
    tied = np.count_nonzero(scores[:best] == scores[best])
    return int(np.count_nonzero(scores > scores[best]) + tied)


def check_index(images: int, captions: int, caption_image: np.ndarray) -> np.ndarray:
    """The index as int64; a ValueError if it does not fit the vectors.

    Args:
        images: number of images.
        captions: number of captions.
        caption_image: [captions], the image of each caption.
    """
    owner = np.asarray(caption_image, np.int64)
    if owner.shape != (captions,):
        raise ValueError(f"caption_image has shape {owner.shape}, expected ({captions},)")
    if captions and not (owner.min() >= 0 and owner.max() < images):
        raise ValueError(f"caption_image must be in 0…{images - 1}")
    if bare := np.flatnonzero(np.bincount(owner, minlength=images) == 0).tolist():
        raise ValueError(f"image {bare[0]} has no caption; remove it from the gallery")
    if not images:
        raise ValueError("nothing to rank")
    return owner


def check_finite(total: object) -> None:
    """Raise an error for NaN, which compares as "not higher" and would count as a success.

    Args:
        total: a sum of scores, NaN if one of them is.
    """
    if np.isnan(total):  # type: ignore[call-overload]
        raise PolyglanceError(
            "the scores contain NaN: the model returned a vector that is not finite "
            "(a diverged training run, or features of another model)"
        )


def count_before(
    tile: np.ndarray,
    first: int,
    owner: np.ndarray,
    best: np.ndarray,
    own: np.ndarray,
    rows: np.ndarray,
    columns: np.ndarray,
) -> None:
    """Add to `rows` and `columns` how many items of a tile rank before the positives.

    Since `owner` is sorted, ties count in one half of the tile and not in the other; only captions
    of the tile's own images need a comparison of indices.

    Args:
        tile: scores [n, m].
        first: the tile's first image.
        owner: [m], the sorted images of its captions.
        best: [N], the score of each image's best own caption.
        own: [m], the score of each caption with its image.
        rows: [N], counts of captions; updated.
        columns: [m], counts of images; updated.
    """
    index = np.arange(first, first + len(tile))[:, None]
    best = best[first : first + len(tile), None]
    left, right = np.searchsorted(owner, [first, first + len(tile)])
    middle, middle_owner = tile[:, left:right], owner[left:right]
    row = rows[first : first + len(tile)]
    row += _count(tile[:, :left] >= best, 1)
    row += _count(tile[:, left:] > best, 1)
    row += _count((middle == best) & (middle_owner < index), 1)
    columns[:right] += _count(tile[:, :right] > own[:right], 0)
    columns[right:] += _count(tile[:, right:] >= own[right:], 0)
    ties = (middle == own[left:right]) & (index < middle_owner)
    columns[left:right] += _count(ties, 0)


def _count(mask: np.ndarray, axis: int) -> np.ndarray:
    """Count true values along an axis; narrow integers are several times faster."""
    kind = np.uint16 if mask.shape[axis] < 1 << 16 else np.int64
    return np.asarray(np.add.reduce(mask.view(np.uint8), axis=axis, dtype=kind))


@dataclass(frozen=True, slots=True)
class _Tiles:
    """The score matrix, images × captions sorted by image, one tile at a time."""

    images: Embeddings
    captions: Embeddings
    order: np.ndarray
    function: Score
    chunk: tuple[int, int]

    def columns(self) -> Iterator[tuple[int, Embeddings]]:
        """Yield (first column, captions) of each block of columns."""
        for j in range(0, len(self.order), self.chunk[1]):
            picked = self.order[j : j + self.chunk[1]]
            contiguous = np.all(np.diff(picked) == 1)
            yield j, self.captions[slice(picked[0], picked[-1] + 1) if contiguous else picked]

    def score(self, a: int, block: Embeddings) -> np.ndarray:
        """Scores of the images from `a` on with a block of captions; NaN is an error."""
        tile = np.asarray(self.function(self.images[a : a + self.chunk[0]], block), np.float32)
        check_finite(np.vdot(tile, tile))
        return tile


def _positives(
    tiles: _Tiles, owner: np.ndarray
) -> tuple[np.ndarray, dict[tuple[int, int], np.ndarray]]:
    """Score of each caption with its image [M], and the tiles computed for it.

    The tiles are kept, so that compared scores come from the same product. They lie along the
    diagonal, so there are at most as many as blocks of rows and columns.
    """
    own, kept = np.empty(len(owner), np.float32), {}
    height = tiles.chunk[0]
    for j, block in tiles.columns():
        mine = owner[j : j + len(block)]
        for a in range(mine[0] // height * height, mine[-1] + 1, height):
            kept[a, j] = tile = tiles.score(a, block)
            columns = np.flatnonzero((mine >= a) & (mine < a + height))
            own[j + columns] = tile[mine[columns] - a, columns]
    return own, kept
