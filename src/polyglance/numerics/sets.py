"""Embeddings: one vector per image or text, or a set of vectors (one per region or word)."""

from typing import Any, Self

import numpy as np

from polyglance.errors import PolyglanceError
from polyglance.numerics.ragged import Ragged

NO_SINGLE_VECTOR = (
    "a cross-attention model compares all vectors of an image with all words, so it has no "
    "single vector per image or text; compare with 'model.similarity' or 'polyglance evaluate', "
    "and search with a model whose joint.similarity.kind is cosine"
)

Embeddings = Any
"""Embeddings of images or texts: vectors [n, D], `VectorSets`, or those of several models."""


class VectorSets(Ragged):
    """n sets of vectors: `flat` float32 [total, D], set after set.

    Can be used like an array [n, D] in encoding and ranking: it supports `len`, indexing with a
    slice or an array of rows, and assignment to rows. A set of length 0 means a missing image.

    >>> sets = VectorSets.from_lengths(np.arange(6).reshape(3, 2), np.array([1, 2]))
    >>> sets[np.array([1, 0])].flat.tolist()
    [[2.0, 3.0], [4.0, 5.0], [0.0, 1.0]]
    """

    __slots__ = ()

    def __init__(self, flat: np.ndarray, offsets: np.ndarray) -> None:
        super().__init__(np.asarray(flat, np.float32), offsets)
        if self.flat.ndim != 2:
            raise ValueError(f"vectors of shape {self.flat.shape} do not fit [total, D]")

    @classmethod
    def empty(cls, lengths: np.ndarray, dim: int) -> Self:
        """Uninitialised sets of these lengths."""
        return cls.from_lengths(np.empty((int(np.sum(lengths)), dim), np.float32), lengths)

    @property
    def dim(self) -> int:
        """Dimension of a vector."""
        return self.flat.shape[1]

    def __array__(self, *_: Any, **__: Any) -> np.ndarray:
        raise PolyglanceError(NO_SINGLE_VECTOR)

    def finite(self) -> np.ndarray:
        """[n] bool: which sets are non-empty and have only finite values."""
        bad = ~np.isfinite(self.flat).all(axis=1)
        owner = np.repeat(np.arange(len(self)), self.lengths)
        return (self.lengths > 0) & (np.bincount(owner[bad], minlength=len(self)) == 0)
