"""The images that a search ranks: their embeddings."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np


@dataclass(frozen=True, slots=True)
class Gallery:
    """Readable images in the order of their paths, with `embeddings` [N, D], float32 or float16.

    `unreadable` are the others, with the reason.
    """

    paths: list[Path]
    embeddings: np.ndarray
    unreadable: list[tuple[Path, str]]
    has_files: bool = True
    """Whether the paths are files; they are bare names where a dataset has features only."""
    content: Sequence[str] = ()
    """A digest of each image's file, equal for identical ones; none where there are no files."""

    unit: bool = False
    """Whether embeddings have length one, so that a product of two is their cosine."""
    told: int = 0
    """How many of the unreadable ones, the last, an earlier search has told of."""

    def __len__(self) -> int:
        return len(self.paths)

    def places(self) -> list[list[int]]:
        """Rows of identical files together, in the order of the paths."""
        found: dict[str, list[int]] = {}
        for row, key in enumerate(self.content or map(str, range(len(self)))):
            found.setdefault(key, []).append(row)
        return list(found.values())
