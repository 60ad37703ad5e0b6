"""Sequences of different lengths without padding: word ids, or sets of vectors."""

from collections.abc import Sequence
from itertools import chain
from typing import Any, Self

import numpy as np


class Ragged:
    """n sequences in one array: sequence i is `flat[offsets[i] : offsets[i + 1]]`.

    Indexing with a slice, a mask or an array of rows gives a `Ragged`, with an integer a sequence.

    >>> words = Ragged.join([[4, 5], [6], [7, 8, 9]])
    >>> words[np.array([2, 0])].flat.tolist()
    [7, 8, 9, 4, 5]
    >>> words.pad()[0].tolist()
    [[4, 5, 0], [6, 0, 0], [7, 8, 9]]

    Args:
        flat: [total, …], the items of all sequences.
        offsets: [n + 1] int64, from 0 to total.
    """

    __slots__ = ("flat", "offsets")

    def __init__(self, flat: np.ndarray, offsets: np.ndarray) -> None:
        self.flat = np.asarray(flat)
        self.offsets = np.asarray(offsets, np.int64)
        if self.offsets.ndim != 1 or not len(self.offsets) or self.offsets[-1] != len(self.flat):
            raise ValueError(
                f"offsets that end at {self.offsets[-1:].tolist()} do not fit {self.flat.shape}"
            )

    @classmethod
    def from_lengths(cls, flat: np.ndarray, lengths: np.ndarray) -> Self:
        """From items [total, …] and the `lengths` [n] of the sequences."""
        return cls(flat, np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64))

    @classmethod
    def from_padded(cls, items: np.ndarray, lengths: np.ndarray) -> Self:
        """From padded items [n, T, …] and `lengths` [n]."""
        return cls.from_lengths(items[np.arange(items.shape[1]) < lengths[:, None]], lengths)

    @classmethod
    def join(cls, parts: Sequence[Sequence[int]]) -> Self:
        """From sequences of ids, stored as int32."""
        lengths = np.fromiter(map(len, parts), np.int64, len(parts))
        ids = np.fromiter(chain.from_iterable(parts), np.int32, int(lengths.sum()))
        return cls.from_lengths(ids, lengths)

    @classmethod
    def concatenate(cls, parts: Sequence[Self]) -> Self:
        """The sequences of all parts, in order."""
        flat = np.concatenate([part.flat for part in parts])
        return cls.from_lengths(flat, np.concatenate([part.lengths for part in parts]))

    @property
    def lengths(self) -> np.ndarray:
        """Lengths of the sequences, [n] int64."""
        return np.diff(self.offsets)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, rows: Any) -> Any:
        if isinstance(rows, int | np.integer):
            start, end = self.offsets[:-1][rows], self.offsets[1:][rows]
            return self.flat[start:end]
        return self.from_lengths(self.flat[self._places(rows)], self.lengths[rows])

    def __setitem__(self, rows: Any, values: "Ragged") -> None:
        if not np.array_equal(self.lengths[rows], values.lengths):
            raise ValueError("cannot assign sequences of different lengths")
        self.flat[self._places(rows)] = values.flat

    def pad(
        self, rows: np.ndarray | None = None, value: float = 0
    ) -> tuple[np.ndarray, np.ndarray]:
        """The sequences `rows` [B], or all, padded: [B, T, …] and lengths [B]."""
        return pad(self.flat, self.offsets, np.arange(len(self)) if rows is None else rows, value)

    def _places(self, rows: Any) -> Any:
        """Indices of the items of `rows` in `flat`; a slice, so no copy, if they are contiguous."""
        starts, ends = self.offsets[:-1][rows], self.offsets[1:][rows]
        if len(starts) and np.array_equal(starts[1:], ends[:-1]):
            return slice(starts[0], ends[-1])
        lengths = ends - starts
        first = np.cumsum(lengths) - lengths
        return np.arange(lengths.sum()) + np.repeat(starts - first, lengths)


def pad(
    flat: np.ndarray, offsets: np.ndarray, rows: np.ndarray, value: float = 0
) -> tuple[np.ndarray, np.ndarray]:
    """The sequences `rows` as one array, padded on the right.

    Args:
        flat: [total, …] items of all sequences.
        offsets: [n + 1], the start of each sequence and the end of the last.
        rows: [B], the sequences to return.
        value: padding.

    Returns:
        Items [B, T, …], T the longest length (integers as int64, as torch's embeddings need), and
        lengths [B] int64.
    """
    rows = np.asarray(rows, np.int64)
    starts = offsets[rows]
    lengths = offsets[rows + 1] - starts
    steps = np.arange(int(lengths.max(initial=0)))
    inside = steps < lengths[:, None]  # [B, T]
    kind = np.dtype(np.int64) if flat.dtype.kind in "iu" else flat.dtype
    items = np.full((*inside.shape, *flat.shape[1:]), value, kind)
    items[inside] = flat[(starts[:, None] + steps)[inside]]
    return items, lengths
