"""The results of a search."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from polyglance.core.terminal import path_fields
from polyglance.errors import PolyglanceError
from polyglance.gallery.gallery import Gallery
from polyglance.gallery.hit import Cutoff, Hit, ScoreKind, path_text
from polyglance.gallery.query import Query
from polyglance.storage.files import write_json

NOTHING = "nothing here looks like that"
HARDLY_KNOWN = "the model hardly knows these words; try others, or another language"
SHOWN = 3
"""Queries in the short form of results."""


@dataclass(frozen=True, slots=True)
class QueryResult:
    """A query with the images found, best first; none if it has a `problem`."""

    query: Query
    hits: list[Hit]
    hidden: int | None = None
    """Number of images below the threshold, which are not among the hits; None if the model has no
    threshold, or if a library's index was searched, which does not look at all images."""
    closest: tuple[Hit, ...] = ()
    """If no image matches, the best of those below the threshold."""
    score_kind: ScoreKind | None = None
    cutoff: Cutoff | None = None
    """What the hits reach, unless all images were asked for; None if the model has no threshold."""
    known: bool = True
    """False if the model hardly knows the sentence."""
    hardly_known: tuple[str, ...] = ()
    """Words of the sentence that the model hardly knows."""
    matches: int | None = None
    """How many images match, shown or not, identical ones counted once; None if all images were
    asked for, or the model has no threshold."""

    @property
    def nothing(self) -> bool:
        """Whether no image matches."""
        return bool(self.hidden or self.closest) and not self.hits

    @property
    def message(self) -> str | None:
        """What to tell the user if no image matches."""
        return nothing_found(self.known, self.hardly_known) if self.nothing else None

    @property
    def unknown_note(self) -> str | None:
        """What to tell the user if images match, but the model hardly knows some of the words."""
        if not self.hits or not self.hardly_known:
            return None
        return f"the model hardly knows {_quoted(self.hardly_known)} in '{self.query.text}'"

    def as_dict(self) -> dict[str, Any]:
        """JSON form."""
        problem = {} if self.query.problem is None else {"problem": self.query.problem}
        return {
            "query": self.query.text,
            "language": self.query.language,
            "unknown_words": list(self.query.unknown),
            **self._mixture(),
            **problem,
            **({"hardly_known": list(self.hardly_known)} if self.hardly_known else {}),
            **({} if self.message is None else {"message": self.message}),
            "score_kind": self.score_kind,
            "cutoff": None if self.cutoff is None else self.cutoff._asdict(),
            **({} if self.matches is None else {"matches": self.matches}),
            **({} if self.hidden is None else {"hidden": self.hidden}),
            "hits": [_as_dict(hit) for hit in self.hits],
            **({"closest": [_as_dict(hit) for hit in self.closest]} if self.closest else {}),
        }

    def _mixture(self) -> dict[str, list[str]]:
        parts = {"like": self.query.like, "without": self.query.without}
        return {name: [one.text for one in found] for name, found in parts.items() if found}


def nothing_found(known: bool, words: Sequence[str] = ()) -> str:
    """The message that no image matches, and why that may be so.

    Args:
        known: whether the model knows the sentence as a whole.
        words: those of its words that the model hardly knows.
    """
    if words:
        named = f"the model hardly knows {_quoted(words)}"
        return f"{NOTHING}; {named}; try other words, or another language"
    return NOTHING if known else f"{NOTHING}; {HARDLY_KNOWN}"


def _quoted(words: Sequence[str]) -> str:
    return ", ".join(f"'{word}'" for word in words)


def _as_dict(hit: Hit) -> dict[str, Any]:
    found: dict[str, Any] = {"rank": hit.rank, "score": hit.score, **path_fields(hit.path)}
    if hit.second is not None:
        found["second"] = hit.second
    if hit.similarity is not None:
        found["similarity"] = hit.similarity
    if hit.copies:
        found["copies"] = [path_fields(path) for path in hit.copies]
    return found


@dataclass(frozen=True)
class SearchResults:
    """Results in the order of the queries, as a sequence.

    `notes` are about translations, unknown words and unanswered queries, `gallery.unreadable` about
    images left out; `model` and `images` are their paths, if they were passed as paths.
    """

    results: list[QueryResult]
    gallery: Gallery
    notes: list[str]
    model: str | None = None
    images: str | None = None

    def __len__(self) -> int:
        return len(self.results)

    def __iter__(self) -> Iterator[QueryResult]:
        return iter(self.results)

    def __getitem__(self, number: int) -> QueryResult:
        return self.results[number]

    def __repr__(self) -> str:
        results = [
            f"'{one.query.label}': {len(one.hits)}"
            + (f", best {one.hits[0].path.name} ({one.hits[0].score:.2f})" if one.hits else "")
            for one in self.results[:SHOWN]
        ]
        rest = ["…"] if len(self.results) > SHOWN else []
        return f"<SearchResults in {len(self.gallery)} images, {'; '.join([*results, *rest])}>"

    def as_dict(self) -> dict[str, Any]:
        """JSON form."""
        unreadable = self.gallery.unreadable
        count = len(self.gallery) if self.gallery.total is None else self.gallery.total
        return {
            "model": None if self.model is None else path_text(Path(self.model)),
            "images": None if self.images is None else path_text(Path(self.images)),
            "image_count": count,
            "pictures": count,  # the former name of `image_count`
            "skipped": [{**path_fields(path), "reason": reason} for path, reason in unreadable],
            "queries": [result.as_dict() for result in self.results],
        }

    def write_json(self, path: str | Path) -> None:
        """Write `as_dict`."""
        write_json(Path(path), self.as_dict())

    def write_sheet(
        self, path: str | Path, title: str | None = None, fonts: Sequence[Path] = ()
    ) -> list[str]:
        """Write a contact sheet with one row per query.

        Args:
            path: its extension determines the format: .png, .jpg, .webp, .pdf, .tif, .bmp, .gif.
            title: a line above all rows.
            fonts: font files, tried before others.

        Returns:
            The queries that no font can show; the sheet has the name of their script instead.
        """
        from polyglance.gallery.sheets.sheet import SheetRow, undrawable_texts, write_sheet

        if not self.gallery.has_files:
            raise PolyglanceError(
                f"{self.images or 'the dataset'}: has features but no images for a contact sheet; "
                "leave out --sheet"
            )
        rows = [
            SheetRow(
                one.query.label,
                one.hits,
                one.query.language,
                note=one.query.problem or one.message,
                image=one.query.file,
            )
            for one in self.results
        ]
        write_sheet(Path(path), rows, title, fonts)
        return undrawable_texts([row.text for row in rows], fonts)
