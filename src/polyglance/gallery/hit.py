"""An image that a search found."""

import os
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Hit:
    """An image found; `rank` counts from 1, and `copies` are other files with the same bytes."""

    path: Path
    score: float
    rank: int
    copies: tuple[Path, ...] = ()
    similarity: float | None = None
    """What the model says, where `score` is calibrated or of a mixture."""

    @property
    def paths(self) -> tuple[Path, ...]:
        """All files that hold the image."""
        return (self.path, *self.copies)

    @property
    def name(self) -> str:
        """The path as text, also where a file's name is not UTF-8."""
        return path_text(self.path)


def path_text(path: Path) -> str:
    """A path as text, also where a file's name is not UTF-8."""
    return os.fsencode(path).decode("utf-8", "replace")
