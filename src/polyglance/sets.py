"""Sets of vectors without padding, for models that keep a vector for every word and region."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from polyglance.errors import PolyglanceError

NO_POINTS = (
    "a cross-attention model compares all vectors of a picture with all words, so it has no "
    "single vector per picture or text; judge it with 'polyglance evaluate', and search with a "
    "model whose joint.similarity.kind is cosine or order"
)

Codes = Any
"""What pictures or texts are encoded as: points [n, D], `VectorSets`, or those of many models."""


class VectorSets:
    """n sets of vectors: `flat` float32 [total, D], set after set, and `lengths` [n].

    It takes the place of an array [n, D] of points where pictures and texts are encoded and
    ranked: `len`, indexing by a slice or an array of rows, and assignment to rows. A set of
    length 0 is missing.

    >>> sets = VectorSets(np.arange(6).reshape(3, 2), np.array([1, 2]))
    >>> sets[np.array([1, 0])].flat.tolist()
    [[2.0, 3.0], [4.0, 5.0], [0.0, 1.0]]
    """

    def __init__(self, flat: np.ndarray, lengths: np.ndarray) -> None:
        self.flat = np.asarray(flat, np.float32)
        self.lengths = np.asarray(lengths, np.int64)
        self.starts = np.cumsum(self.lengths) - self.lengths
        if self.flat.ndim != 2 or self.lengths.sum() != len(self.flat):
            raise ValueError(
                f"lengths that sum to {self.lengths.sum()} do not fit vectors {self.flat.shape}"
            )

    @classmethod
    def empty(cls, lengths: np.ndarray, dim: int) -> "VectorSets":
        """Sets to be assigned to."""
        return cls(np.empty((int(np.sum(lengths)), dim), np.float32), lengths)

    @classmethod
    def from_padded(cls, vectors: np.ndarray, lengths: np.ndarray) -> "VectorSets":
        """Of vectors [n, K, D] of which the first `lengths` [n] count."""
        return cls(vectors[np.arange(vectors.shape[1]) < lengths[:, None]], lengths)

    @staticmethod
    def concatenate(parts: Sequence["VectorSets"]) -> "VectorSets":
        """The sets of all parts, in order."""
        flat = np.concatenate([part.flat for part in parts])
        return VectorSets(flat, np.concatenate([part.lengths for part in parts]))

    @property
    def dim(self) -> int:
        """Numbers of a vector."""
        return self.flat.shape[1]

    def __len__(self) -> int:
        return len(self.lengths)

    def __getitem__(self, rows: Any) -> "VectorSets":
        lengths = self.lengths[rows]
        if lengths.ndim != 1:
            raise TypeError("sets are taken by a slice or an array of rows")
        return VectorSets(self.flat[self._places(rows)], lengths)

    def __setitem__(self, rows: Any, sets: "VectorSets") -> None:
        if not np.array_equal(self.lengths[rows], sets.lengths):
            raise ValueError("the sets to assign have other lengths")
        self.flat[self._places(rows)] = sets.flat

    def __array__(self, *_: Any, **__: Any) -> np.ndarray:
        raise PolyglanceError(NO_POINTS)

    def padded(self) -> tuple[np.ndarray, np.ndarray]:
        """(float32 [n, K, D] padded with 0, lengths [n]), K the largest length."""
        inside = np.arange(self.lengths.max(initial=0)) < self.lengths[:, None]
        vectors = np.zeros((*inside.shape, self.dim), np.float32)
        vectors[inside] = self.flat
        return vectors, self.lengths

    def finite(self) -> np.ndarray:
        """Which sets are there and hold finite numbers only, [n] bool."""
        bad = ~np.isfinite(self.flat).all(axis=1)
        owner = np.repeat(np.arange(len(self)), self.lengths)
        return (self.lengths > 0) & (np.bincount(owner[bad], minlength=len(self)) == 0)

    def _places(self, rows: Any) -> Any:
        """Where the vectors of `rows` are in `flat`; a slice, so no copy, where they are a run."""
        starts, lengths = self.starts[rows], self.lengths[rows]
        ends = starts + lengths
        if len(starts) and np.array_equal(starts[1:], ends[:-1]):
            return slice(starts[0], ends[-1])
        first = np.cumsum(lengths) - lengths
        return np.arange(lengths.sum()) + np.repeat(starts - first, lengths)
