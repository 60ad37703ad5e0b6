"""The images that a search ranks, with their embeddings."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from polyglance.errors import PolyglanceError

NAMED = 10
"""Most unreadable images in an error message."""


@dataclass(frozen=True, slots=True)
class Gallery:
    """Readable images in the order of their paths, with `embeddings` [N, D], float32 or float16.

    `unreadable` are the others, with the reason.
    """

    paths: list[Path]
    embeddings: np.ndarray
    unreadable: list[tuple[Path, str]]
    has_files: bool = True
    """Whether the paths are files; they are bare names if a dataset has only features."""
    content: Sequence[str] = ()
    """A digest of each image's file, equal for identical files; empty without files."""

    unit: bool = False
    """Whether embeddings are normalised, so that their dot product is the cosine."""
    reported: int = 0
    """How many of the unreadable images (the last ones) an earlier search has reported."""
    seconds: Mapping[int, float] = field(default_factory=dict)
    """Row of a video frame → its position in the video."""
    total: int | None = None
    """Number of images that were searched, if these are only those found by a library's index."""

    def __repr__(self) -> str:
        return f"<Gallery of {len(self)} images, embeddings {self.embeddings.shape}>"

    def __len__(self) -> int:
        return len(self.paths)

    def places(self) -> list[list[int]]:
        """Rows grouped by identical files, in the order of the paths."""
        found: dict[str, list[int]] = {}
        for row, key in enumerate(self.content or map(str, range(len(self)))):
            found.setdefault(key, []).append(row)
        return list(found.values())


def none_readable(problems: Sequence[tuple[Path, str]]) -> PolyglanceError:
    """The error for images of which none could be read: it names them, as a later search won't.

    Args:
        problems: images with the reasons.
    """
    named = "; ".join(f"{path}, {reason}" for path, reason in problems[:NAMED])
    rest = f"; and {len(problems) - NAMED} more" if len(problems) > NAMED else ""
    return PolyglanceError(f"no image could be read ({named}{rest})")
