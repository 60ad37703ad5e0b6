"""The results of a search for texts by images."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from polyglance.core.terminal import path_fields
from polyglance.errors import PolyglanceError
from polyglance.gallery.captions.hit import ImageResult
from polyglance.gallery.gallery import Gallery
from polyglance.gallery.hit import ScoreKind
from polyglance.storage.files import write_json


@dataclass(frozen=True)
class CaptionResults:
    """Results in the order of the images, as a sequence; `captions` were compared with each."""

    results: list[ImageResult]
    gallery: Gallery
    notes: list[str]
    captions: int
    score_kind: ScoreKind | None = None

    def __len__(self) -> int:
        return len(self.results)

    def __iter__(self) -> Iterator[ImageResult]:
        return iter(self.results)

    def __getitem__(self, number: int) -> ImageResult:
        return self.results[number]

    def as_dict(self) -> dict[str, Any]:
        """JSON form."""
        unreadable = self.gallery.unreadable
        return {
            "captions": self.captions,
            "score_kind": self.score_kind,
            "skipped": [{**path_fields(path), "reason": reason} for path, reason in unreadable],
            "images": [result.as_dict() for result in self.results],
        }

    def write_json(self, path: str | Path) -> None:
        """Write `as_dict`."""
        write_json(Path(path), self.as_dict())

    def write_sheet(
        self, path: str | Path, title: str | None = None, fonts: Sequence[Path] = ()
    ) -> list[str]:
        """Write images with their captions beside them (LIWE's Figure 4).

        Captions that belong to another image get a cross, if that is known.

        Args:
            path: its extension determines the format.
            title: a line above all rows.
            fonts: font files, tried before others.

        Returns:
            The captions that no font can show; the sheet has the name of their script instead.
        """
        from polyglance.gallery.captions.sheet import write_caption_sheet
        from polyglance.gallery.sheets.sheet import undrawable_texts

        if not self.gallery.has_files:
            raise PolyglanceError(
                "the dataset has features but no images for a contact sheet; leave out --sheet"
            )
        write_caption_sheet(Path(path), self.results, title, fonts)
        return undrawable_texts([hit.text for one in self.results for hit in one.hits], fonts)
