"""Embeddings: a vector for each image or text, or a set of vectors for each word and region."""

from typing import Any, Self

import numpy as np

from polyglance.errors import PolyglanceError
from polyglance.numerics.ragged import Ragged

NO_SINGLE_VECTOR = (
    "a cross-attention model compares all vectors of an image with all words, so it has no "
    "single vector per image or text; compare with 'model.similarity' or 'polyglance evaluate', "
    "and search with a model whose attention.matching is none"
)

Embeddings = Any
"""What images or texts are encoded as: vectors [n, D], `VectorSets`, or those of many models."""


class VectorSets(Ragged):
    """n sets of vectors: `flat` float32 [total, D], set after set.

    It takes the place of an array [n, D] where images and texts are encoded and ranked: `len`,
    indexing by a slice or an array of rows, and assignment to rows. A set of length 0 is missing.

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
        """Sets to be assigned to."""
        return cls.from_lengths(np.empty((int(np.sum(lengths)), dim), np.float32), lengths)

    @property
    def dim(self) -> int:
        """Dimension of a vector."""
        return self.flat.shape[1]

    def __array__(self, *_: Any, **__: Any) -> np.ndarray:
        raise PolyglanceError(NO_SINGLE_VECTOR)

    def finite(self) -> np.ndarray:
        """Which sets are there and hold finite numbers only, [n] bool."""
        bad = ~np.isfinite(self.flat).all(axis=1)
        owner = np.repeat(np.arange(len(self)), self.lengths)
        return (self.lengths > 0) & (np.bincount(owner[bad], minlength=len(self)) == 0)
