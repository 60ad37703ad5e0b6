"""Captions found for an image."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from polyglance.core.terminal import path_fields
from polyglance.gallery.hit import path_text


@dataclass(frozen=True, slots=True)
class CaptionHit:
    """A caption found; `rank` counts from 1."""

    text: str
    language: str | None
    score: float
    rank: int
    correct: bool | None = None
    """Whether it belongs to the image; None if the captions' source does not have the image."""


@dataclass(frozen=True, slots=True)
class ImageResult:
    """An image with the captions found, best first."""

    path: Path
    hits: list[CaptionHit]

    @property
    def name(self) -> str:
        """The path as text, even if the file name is not UTF-8."""
        return path_text(self.path)

    def as_dict(self) -> dict[str, Any]:
        """JSON form."""
        hits = [
            {"rank": h.rank, "score": h.score, "caption": h.text, "language": h.language}
            | ({} if h.correct is None else {"correct": h.correct})
            for h in self.hits
        ]
        return {**path_fields(self.path, "image"), "hits": hits}
