"""Duplicates in a library: equal files and near-duplicates."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from polyglance.core.progress import Bar
from polyglance.library.library import Library
from polyglance.library.media.perceptual_hash import differing_bits
from polyglance.library.record import Record

SIMILARITY, BITS = 0.95, 10
"""Least cosine similarity of near-duplicates' embeddings, and the largest number of bits (of 64)
in which their perceptual hashes differ. Both must hold."""
BLOCK, ACROSS = 512, 4096
"""Images compared with how many others at a time."""
PAIRS = 8192
"""Pairs whose embeddings are compared at a time."""


@dataclass(frozen=True, slots=True)
class Duplicates:
    """A group of duplicates; `exact` if their files are equal."""

    exact: bool
    records: tuple[Record, ...]
    similarity: float
    """Least cosine similarity to the first image."""

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "exact": self.exact,
            "similarity": self.similarity,
            "images": [record.as_dict() for record in self.records],
        }


def find_duplicates(
    library: Library,
    near: bool = True,
    similarity: float = SIMILARITY,
    bits: int = BITS,
    show_progress: bool | None = None,
) -> list[Duplicates]:
    """Groups of equal files, then groups of near-duplicates, in the order of their paths.

    In a group of near-duplicates every image is close to another one of the group. Video frames
    are left out.

    Args:
        library: to search.
        near: also search for near-duplicates.
        similarity: their least cosine similarity.
        bits: of 64, largest difference of their perceptual hashes.
        show_progress: None shows a bar in a terminal, lines elsewhere.
    """
    images = [record for record in library.store.records() if record.second is None]
    by_content: dict[str, list[Record]] = {}
    for record in images:
        by_content.setdefault(record.content, []).append(record)
    found = [Duplicates(True, tuple(g), 1.0) for g in by_content.values() if len(g) > 1]
    if near:
        firsts = [group[0] for group in by_content.values()]
        found += _near(library, firsts, similarity, bits, show_progress)
    return found


def _near(
    library: Library, images: Sequence[Record], similarity: float, bits: int, show: bool | None
) -> Iterator[Duplicates]:
    hashes = np.array([record.perceptual_hash for record in images], np.uint64)
    # Few images have a similar hash, and only their embeddings are loaded.
    rows = np.flatnonzero(_has_near(hashes, bits, show)).tolist()
    vectors = library.store.vectors([images[row].id for row in rows])
    for group in _groups(hashes[rows], vectors, bits, similarity):
        own = tuple(images[rows[place]] for place in group)
        least = float((vectors[group[1:]] @ vectors[group[0]]).min())
        yield Duplicates(False, own, round(least, 4))


def _has_near(hashes: np.ndarray, bits: int, show: bool | None) -> np.ndarray:
    """Which images have one with a similar hash, bool [N]."""
    found, count = np.zeros(len(hashes), bool), len(hashes)
    with Bar("duplicates", count, "img", show if count > 10_000 else False) as bar:
        for start in range(0, count, BLOCK):
            for rows, columns in _near_hashes(hashes, start, bits):
                found[rows] = found[columns] = True
            bar.advance(min(BLOCK, count - start))
    return found


def _near_hashes(
    hashes: np.ndarray, start: int, bits: int
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Pairs i < j of hashes that differ in few bits, for a block of i; at most BLOCK × ACROSS.

    Args:
        hashes: uint64 [N].
        start: of the block.
        bits: largest difference.
    """
    block = hashes[start : start + BLOCK]
    for other in range(start, len(hashes), ACROSS):
        close = differing_bits(block, hashes[other : other + ACROSS]) <= bits
        rows, columns = np.nonzero(np.triu(close, 1) if other == start else close)
        yield start + rows, other + columns


def _groups(
    hashes: np.ndarray, vectors: np.ndarray, bits: int, similarity: float
) -> list[list[int]]:
    """Connected components of images whose hashes and embeddings are similar, each sorted.

    Args:
        hashes: uint64 [N].
        vectors: [N, D], of length one.
        bits: largest difference of hashes.
        similarity: least cosine similarity.
    """
    joined = _Joined(len(hashes))
    for start in range(0, len(hashes), BLOCK):
        for rows, columns in _near_hashes(hashes, start, bits):
            for first in range(0, len(rows), PAIRS):
                one, other = rows[first : first + PAIRS], columns[first : first + PAIRS]
                apart = joined.roots(one) != joined.roots(other)
                one, other = one[apart], other[apart]
                close = np.einsum("nd,nd->n", vectors[one], vectors[other]) >= similarity
                joined.add(one[close], other[close])
    return joined.groups()


class _Joined:
    """Connected components of N things.

    >>> found = _Joined(6)
    >>> found.add(np.array([3, 0, 2]), np.array([4, 2, 5]))
    >>> found.groups()
    [[0, 2, 5], [3, 4]]
    """

    def __init__(self, count: int) -> None:
        self._parent = np.arange(count)

    def roots(self, rows: np.ndarray) -> np.ndarray:
        """The smallest of each one's component, [n] → [n]."""
        found = self._parent[rows]
        while not np.array_equal(above := self._parent[found], found):
            found = above
        self._parent[rows] = found
        return found

    def add(self, one: np.ndarray, other: np.ndarray) -> None:
        """Join pairs, [n] and [n]."""
        pairs = np.unique(np.stack([self.roots(one), self.roots(other)]), axis=1)
        for pair in pairs.T:
            root, child = sorted(self.roots(pair).tolist())
            self._parent[child] = root

    def groups(self) -> list[list[int]]:
        """The components of more than one, each sorted."""
        found: dict[int, list[int]] = {}
        for row, root in enumerate(self.roots(np.arange(len(self._parent))).tolist()):
            found.setdefault(root, []).append(row)
        return sorted(group for group in found.values() if len(group) > 1)
