"""Features of a list of images: where the vectors are, and how to gather them."""

import re
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from polyglance.errors import PolyglanceError
from polyglance.vision.extraction.store import FeatureStore, Form


@dataclass(frozen=True)
class Features:
    """Features of n images, in order.

    `keys[i]` is image i's key in `store`, or None if `problems` has the reason why there is none.
    """

    name: str
    store: FeatureStore
    keys: list[str | None]
    problems: list[tuple[Path, str]] = field(default_factory=list)
    computed: int = 0
    seconds: float = 0.0

    def __len__(self) -> int:
        return len(self.keys)

    @property
    def dim(self) -> int:
        """Dimension of a vector."""
        return self.store.dim

    @property
    def form(self) -> Form:
        """ "global" or "set"."""
        return self.store.form

    @cached_property
    def available(self) -> np.ndarray:
        """Which images have features, [n] bool."""
        return np.array([key is not None for key in self.keys], bool)

    @cached_property
    def _rows(self) -> tuple[np.ndarray, np.ndarray]:
        start = np.full(len(self.keys), -1, np.int64)
        count = np.zeros(len(self.keys), np.int64)
        known = [key for key in self.keys if key is not None]
        start[self.available], count[self.available] = self.store.rows(known)
        return start, count

    @property
    def lengths(self) -> np.ndarray:
        """Vectors per image, [n] int64; 0 for an image without features."""
        return self._rows[1]

    def gather(self, indices: np.ndarray, dtype: DTypeLike = np.float32) -> Any:
        """`gather_global` or `gather_set`, by `form`."""
        find = self.gather_global if self.form == "global" else self.gather_set
        return find(indices, dtype)

    def sample(self, row: int) -> np.ndarray:
        """A value that identifies an image's features, for a digest."""
        return np.asarray(self.gather(np.array([row]))[0])

    def gather_global(self, indices: np.ndarray, dtype: DTypeLike = np.float32) -> np.ndarray:
        """Vectors [n, dim] of the images at `indices` [n]."""
        start, _ = self._select(indices)
        vectors = self.store.vectors[start].astype(dtype, copy=False)
        self.store.was_read(len(start))
        return vectors

    def gather_set(
        self, indices: np.ndarray, dtype: DTypeLike = np.float32
    ) -> tuple[np.ndarray, np.ndarray]:
        """Sets of the images at `indices` [n]: ([n, k_max, dim] padded with 0, lengths [n])."""
        start, count = self._select(indices)
        position = np.arange(count.max(initial=0))  # [k_max]
        inside = position < count[:, None]  # [n, k_max]
        rows = start[:, None] + np.where(inside, position, 0)
        vectors = self.store.vectors[rows].astype(dtype, copy=False)
        vectors[~inside] = 0
        self.store.was_read(rows.size)
        return vectors, count

    def _select(self, indices: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        start, count = self._rows
        start, count = start[indices], count[indices]
        if (start < 0).any():
            index = int(np.asarray(indices)[start < 0][0])
            raise PolyglanceError(
                f"{self.name}: image {index} has no features; leave out the images listed in "
                "Features.problems"
            )
        return start, count


def parse_feature(name: str) -> tuple[str, str]:
    """Split `EXTRACTOR/FORM`; the form is global, grid, gridN, tencrop or tencropN.

    >>> parse_feature("efficientnet-lite2/grid3")
    ('efficientnet-lite2', 'grid3')
    """
    extractor, slash, form = name.rpartition("/")
    forms = r"global|grid([1-9]\d?)?|tencrop([1-9]\d{1,3})?"
    if not slash or not extractor or not re.fullmatch(forms, form):
        raise PolyglanceError(
            f"feature '{name}': expected EXTRACTOR/global, EXTRACTOR/grid, EXTRACTOR/gridN or "
            "EXTRACTOR/tencropN, such as efficientnet-lite2/grid3"
        )
    return extractor, form


def pool_grid(grid: np.ndarray, side: int) -> np.ndarray:
    """Average-pool [b, h, w, d] to [b, side, side, d].

    Cell i covers rows floor(i·h/side) to ceil((i+1)·h/side), as torch's adaptive pooling does.
    """
    _, height, width, _ = grid.shape
    if side > min(height, width):
        raise PolyglanceError(f"grid{side}: the network's grid is only {height}×{width}")
    rows = [grid[:, top:bottom].mean(1) for top, bottom in _spans(height, side)]
    half = np.stack(rows, 1)  # [b, side, w, d]
    return np.stack([half[:, :, left:right].mean(2) for left, right in _spans(width, side)], 2)


def _spans(length: int, parts: int) -> list[tuple[int, int]]:
    return [(i * length // parts, -(-(i + 1) * length // parts)) for i in range(parts)]
