"""An image that a search found."""

import os
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Hit:
    """An image found; `rank` counts from 1."""

    path: Path
    score: float
    rank: int

    @property
    def name(self) -> str:
        """The path as text, also where a file's name is not UTF-8."""
        return path_text(self.path)


def path_text(path: Path) -> str:
    """A path as text, also where a file's name is not UTF-8."""
    return os.fsencode(path).decode("utf-8", "replace")
