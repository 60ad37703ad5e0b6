"""Duplicates in a library: equal files and near-duplicates."""

from collections.abc import Iterable, Iterator, Sequence
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
BLOCK = 512
"""Images compared with all others at a time."""


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
    pairs = list(_pairs_by_hash([record.perceptual_hash for record in images], bits, show))
    rows = sorted({row for pair in pairs for row in pair})
    vectors = library.store.vectors([images[row].id for row in rows])
    place = {row: number for number, row in enumerate(rows)}
    close = [(a, b) for a, b in pairs if float(vectors[place[a]] @ vectors[place[b]]) >= similarity]
    for group in _joined(close):
        first = vectors[place[group[0]]]
        least = min(float(first @ vectors[place[row]]) for row in group[1:])
        yield Duplicates(False, tuple(images[row] for row in group), round(least, 4))


def _pairs_by_hash(hashes: list[int], bits: int, show: bool | None) -> Iterator[tuple[int, int]]:
    """Pairs (i, j) with i < j whose hashes differ in few bits, by brute force."""
    values = np.array(hashes, np.uint64)
    with Bar("duplicates", len(values), "img", show if len(values) > 10_000 else False) as bar:
        for start in range(0, len(values), BLOCK):
            block = values[start : start + BLOCK]
            close = differing_bits(block, values[start:]) <= bits
            for row, column in np.argwhere(np.triu(close, 1)):
                yield start + int(row), start + int(column)
            bar.advance(len(block))


def _joined(pairs: Iterable[tuple[int, int]]) -> list[list[int]]:
    """Connected components of pairs, each sorted.

    >>> _joined([(3, 4), (0, 2), (2, 5)])
    [[0, 2, 5], [3, 4]]
    """
    parent: dict[int, int] = {}

    def root(row: int) -> int:
        while parent.setdefault(row, row) != row:
            parent[row] = parent[parent[row]]
            row = parent[row]
        return row

    for one, other in pairs:
        parent[root(one)] = root(other)
    groups: dict[int, list[int]] = {}
    for row in sorted(parent):
        groups.setdefault(root(row), []).append(row)
    return sorted(groups.values())
