"""An image found by a search."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

ScoreKind = str
"""What a score is: "probability" of a match; "standard", standard deviations above the usual value;
or the name of a similarity, such as "cosine"."""


class Cutoff(NamedTuple):
    """The least score of a match, and what kind of score it is."""

    kind: ScoreKind
    least: float


@dataclass(frozen=True, slots=True)
class Hit:
    """An image found; `rank` counts from 1, and `copies` are other files with the same bytes."""

    path: Path
    score: float
    rank: int
    copies: tuple[Path, ...] = ()
    similarity: float | None = None
    """The model's similarity, if `score` is calibrated or of a combined query."""
    second: float | None = None
    """For a frame of a library's video, its position in the video."""

    @property
    def paths(self) -> tuple[Path, ...]:
        """All files with this image."""
        return (self.path, *self.copies)

    @property
    def name(self) -> str:
        """The path as text, even if the file name is not UTF-8."""
        return path_text(self.path)


def path_text(path: Path) -> str:
    """A path as text, even if the file name is not UTF-8."""
    return os.fsencode(path).decode("utf-8", "replace")
