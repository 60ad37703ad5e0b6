"""HGR's protocol for video: identical captions are one caption of all their clips.

In MSR-VTT, different clips have identical captions. HGR's code puts every distinct text into the
gallery once and accepts any of its clips as correct, so its recalls are higher than with one
correct clip per caption.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from polyglance.evaluation.ranking.ranks import Ranks
from polyglance.numerics.similarity import Score, dot

CHUNK = 2048
"""Captions scored at a time, against all images."""


@dataclass(frozen=True, slots=True)
class Merged:
    """Distinct texts: `row` [U] is the first caption of each, `text` [M] each caption's text."""

    row: np.ndarray
    text: np.ndarray


def merge_texts(texts: Sequence[str]) -> Merged:
    """Number the distinct texts in order of first appearance.

    >>> merge_texts(["a", "b", "a"]).text.tolist()
    [0, 1, 0]
    """
    number: dict[str, int] = {}
    text = np.array([number.setdefault(value, len(number)) for value in texts], np.int64)
    _, row = np.unique(text, return_index=True)
    return Merged(row, text)


def rank_same_text(
    images: np.ndarray,
    captions: np.ndarray,
    caption_image: np.ndarray,
    merged: Merged,
    score: Score = dot,
    chunk: int = CHUNK,
) -> Ranks:
    """Ranks where every image with a text is correct for it.

    `image_to_text` [N] ranks the U distinct texts, `text_to_image` [U] has an entry for each of
    them. A rank is that of the best correct answer; ties are broken by index.

    Args:
        images: [N, D].
        captions: [M, D].
        caption_image: [M], the image of each caption.
        merged: the distinct texts of the captions.
        score: maps images and texts to scores [N, u].
        chunk: texts scored at a time.
    """
    owner = np.asarray(caption_image, np.int64)
    pairs = np.unique(np.stack([merged.text, owner], 1), axis=0)  # [P, 2] text, image; by text
    vectors = captions[merged.row]
    columns = np.empty(len(vectors), np.int64)
    best = np.full(len(images), -np.inf, np.float32)
    place = np.zeros(len(images), np.int64)
    for start, tile, right in _tiles(images, vectors, pairs, score, chunk):
        columns[start : start + tile.shape[1]] = _first_correct(tile.T, right.T)
        own = np.where(right, tile, -np.inf)
        at = own.argmax(1)
        found = own[np.arange(len(own)), at]
        better = found > best
        best[better], place[better] = found[better], start + at[better]
    rows = np.zeros(len(images), np.int64)
    for start, tile, _ in _tiles(images, vectors, pairs, score, chunk):
        before = start + np.arange(tile.shape[1]) < place[:, None]
        rows += ((tile > best[:, None]) | ((tile == best[:, None]) & before)).sum(1)
    return Ranks(rows, columns)


def _tiles(
    images: np.ndarray, vectors: np.ndarray, pairs: np.ndarray, score: Score, chunk: int
) -> Iterator[tuple[int, np.ndarray, np.ndarray]]:
    """Yield (first text, scores [N, m], which are correct [N, m]), `chunk` texts at a time."""
    for start in range(0, len(vectors), chunk):
        block = vectors[start : start + chunk]
        tile = np.asarray(score(images, block), np.float32)
        low, high = np.searchsorted(pairs[:, 0], [start, start + len(block)])
        right = np.zeros(tile.shape, bool)
        right[pairs[low:high, 1], pairs[low:high, 0] - start] = True
        yield start, tile, right


def _first_correct(scores: np.ndarray, right: np.ndarray) -> np.ndarray:
    """For each row [m, n], the rank of the first correct item in a stable descending sort."""
    own = np.where(right, scores, -np.inf)
    at = own.argmax(1)[:, None]
    best = np.take_along_axis(scores, at, 1)
    before = np.arange(scores.shape[1]) < at
    return np.asarray(((scores > best) | ((scores == best) & before)).sum(1), np.int64)
