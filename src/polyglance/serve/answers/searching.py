"""Searches of a collection, page by page."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from polyglance.errors import PolyglanceError
from polyglance.gallery import Query, check_query
from polyglance.gallery.candidates import DIGITS, Page
from polyglance.gallery.exact import best_first
from polyglance.gallery.exclusion import split_query
from polyglance.gallery.results import nothing_found
from polyglance.serve.encoding.engine import Served
from polyglance.serve.images.collection import Collection
from polyglance.serve.problems import Problem
from polyglance.serve.queries.cursors import Seen, read_cursor, tag_of, write_cursor
from polyglance.serve.queries.filters import EVERYTHING, Where
from polyglance.serve.queries.texts import checked
from polyglance.serve.shapes import Found, Hit, Reason
from polyglance.storage.digest import short_digest

UNWANTED = 8
"""Largest number of excluded terms in a query."""
HINT = "ask with language={}"
EMPTY, FILTERED = "there are no images to search", "the filters leave no image to search"


class NothingAsked(Problem):
    """A query without anything to search for."""


class UploadedImage(NamedTuple):
    """An image sent with a request."""

    vector: np.ndarray
    """[D]."""
    digest: str
    """Digest of the file: the last bits of a vector depend on the batch it was embedded in."""

    @classmethod
    def of(cls, data: bytes, embed: Callable[[bytes], np.ndarray]) -> "UploadedImage":
        """From a file's bytes."""
        return cls(embed(data), short_digest([data], 16).hex())


@dataclass(frozen=True, slots=True)
class SearchRequest:
    """What to search for."""

    text: str = ""
    like: str | None = None
    """The id of an image."""
    uploaded: UploadedImage | None = None
    language: str | None = None
    everything: bool = False
    """Include images below the threshold."""
    where: Where = EVERYTHING

    @property
    def tag(self) -> str:
        """Identifies the query."""
        uploaded = None if self.uploaded is None else self.uploaded.digest
        parts = self.text, self.like, uploaded, self.language, str(self.everything)
        return tag_of(*parts, self.where.tag)


def search(served: Served, request: SearchRequest, limit: int, cursor: str | None) -> Found:
    """The images of one page, best first.

    Args:
        served: the collection, and the engine that encodes the query.
        request: what to search for.
        limit: images per page.
        cursor: from the previous page; None is the first page.
    """
    collection = served.collection
    tag = tag_of(collection.model.id, request.tag)
    seen = read_cursor(cursor, tag)
    query = _query(served, request)
    notes = [note for part in query.parts if (note := part.warn(HINT))]
    files = _files(collection, request.where)
    if not len(files):
        reason: Reason = "filtered" if len(collection) else "empty"
        message = FILTERED if len(collection) else EMPTY
        return Found(hits=[], enough=False, message=message, reason=reason, notes=notes, pictures=0)
    scores = collection.scorer(query, _page(collection, request, files, limit, seen))
    values = np.round(scores.values[collection.firsts].astype(np.float64), DIGITS)
    shown, enough = files, None
    if scores.fits is not None:
        fitting = scores.fits[collection.firsts[collection.place_of_row[files]]]
        enough = bool(fitting.any())
        shown = files if request.everything else files[fitting]
    places = collection.place_of_row[shown]
    if request.like is not None:
        kept = places != collection.place(request.like)
        shown, places = shown[kept], places[kept]
    after = _after(collection, places, values, seen)
    shown, places = shown[after], places[after]
    best = best_first(values[places], limit) if len(places) else places
    hits = [_hit(collection, int(shown[one]), float(values[places[one]])) for one in best]
    more = len(places) > len(hits)
    return Found(
        hits=hits,
        cursor=write_cursor(Seen(hits[-1].score, hits[-1].id), tag) if more else None,
        enough=enough,
        message=nothing_found(scores.known) if enough is False else None,
        reason=("no_match" if scores.known else "hardly_known") if enough is False else None,
        notes=notes,
        pictures=len(files),
    )


def _page(
    collection: Collection,
    request: SearchRequest,
    files: np.ndarray,
    limit: int,
    seen: Seen | None,
) -> Page:
    """The requested part of the ranking, and one more image to see if there is a next page."""
    rows = collection.firsts[collection.place_of_row[files]]
    place = None if seen is None else collection.place(seen.id)
    return Page(
        rows,
        limit + 1,
        request.everything,
        last_row=None if place is None else int(collection.firsts[place]),
        last_score=None if seen is None else seen.score,
    )


def _files(collection: Collection, where: Where) -> np.ndarray:
    """Row of the first file of each matching image, in the order of places."""
    mask = where.rows(collection) if len(collection) else None
    if mask is None:
        return collection.firsts
    rows = np.flatnonzero(mask)
    _, first = np.unique(collection.place_of_row[rows], return_index=True)
    return rows[first]


def _after(
    collection: Collection, places: np.ndarray, values: np.ndarray, seen: Seen | None
) -> np.ndarray:
    """Which of the places come after an image, bool [n].

    By its current rank, so that images added or removed meanwhile are neither repeated nor
    skipped; if the image itself is gone, by its former score.
    """
    if seen is None:
        return np.ones(len(places), bool)
    last = collection.place(seen.id)
    if last is None:
        return values[places] < seen.score
    return (values[places] < values[last]) | ((values[places] == values[last]) & (places > last))


def _hit(collection: Collection, row: int, score: float) -> Hit:
    place = int(collection.place_of_row[row])
    name = collection.ids[place]
    return Hit(
        id=name,
        score=score,
        path=collection.names.names[row],
        **collection.brief(place)._asdict(),
        thumbnail=f"/v1/thumbnails/{name}",
        image=f"/v1/images/{name}",
    )


def _query(served: Served, request: SearchRequest) -> Query:
    """The query, combined with similar images and exclusions."""
    wanted, unwanted = split_query(checked(request.text))
    if len(unwanted) > UNWANTED:
        raise Problem(422, f"a query may exclude at most {UNWANTED} terms")
    images = []
    if request.uploaded is not None:
        images.append(_image("the uploaded image", request.uploaded.vector))
    if request.like is not None:
        place = served.collection.place(request.like)
        if place is None:
            raise Problem(404, "there is no image with the id that 'like' names")
        images.append(_image(request.like, served.collection.vector(place)))
    texts = [_text(served, one, request.language) for one in [wanted] if one]
    without = [_text(served, one, request.language) for one in unwanted]
    if not texts and not images:
        raise NothingAsked(422, "there is nothing to search for; pass a sentence in 'q', or 'like'")
    first, *others = [*texts, *images]
    return replace(first, like=tuple(others), without=tuple(without))


def _text(served: Served, text: str, language: str | None) -> Query:
    try:
        query = check_query(served.collection.model, text, language, HINT)
        return replace(query, vector=served.engine.text(text, language))
    except PolyglanceError as error:
        raise Problem(422, str(error)) from None


def _image(name: str, vector: np.ndarray) -> Query:
    return Query(name, None, (), (), image=vector)
