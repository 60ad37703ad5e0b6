"""A search of a collection, page by page."""

from dataclasses import dataclass, replace

import numpy as np

from polyglance.errors import PolyglanceError
from polyglance.gallery import Query, check_query
from polyglance.gallery.exact import DIGITS, best_first
from polyglance.gallery.results import NOTHING
from polyglance.serve.collection import Collection
from polyglance.serve.cursors import read_cursor, tag_of, write_cursor
from polyglance.serve.problems import Problem
from polyglance.serve.shapes import Found, Hit
from polyglance.serve.texts import checked, split_query

PAGE, LARGEST_PAGE = 20, 200
UNWANTED = 8
"""Terms that a query may refuse."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What a request asks for."""

    text: str = ""
    like: str | None = None
    """The id of an image."""
    image: np.ndarray | None = None
    """The embedding [D] of an uploaded image."""
    language: str | None = None
    everything: bool = False
    """Whether images that do not look like what is asked for are shown as well."""

    @property
    def tag(self) -> str:
        """The same for the same question alone."""
        image = None if self.image is None else self.image.tobytes()
        return tag_of(self.text, self.like, image, self.language, str(self.everything))


def search(collection: Collection, asked: Asked, limit: int, cursor: str | None) -> Found:
    """The images of one page, best first.

    Args:
        collection: what is searched.
        asked: the question.
        limit: images of a page.
        cursor: of the page before; None is the first page.
    """
    tag = tag_of(collection.tag, asked.tag)
    start = read_cursor(cursor, tag)
    query = _query(collection, asked)
    scores = collection.scorer(query)
    values = scores.values[collection.firsts]
    shown = np.arange(len(collection))
    if scores.fits is not None and not asked.everything:
        shown = np.flatnonzero(scores.fits[collection.firsts])
    if asked.like is not None:
        shown = shown[shown != collection.place(asked.like)]
    end = start + limit
    best = shown[best_first(values[shown], end)[start:]] if start < len(shown) else shown[:0]
    hits = [_hit(collection, int(place), float(values[place])) for place in best]
    enough = None if scores.fits is None else bool(scores.fits.any())
    return Found(
        hits=hits,
        cursor=write_cursor(end, tag) if end < len(shown) else None,
        enough=enough,
        message=NOTHING if enough is False else None,
        notes=[note for part in query.parts if (note := part.warning)],
        pictures=len(collection),
    )


def _hit(collection: Collection, place: int, score: float) -> Hit:
    width, height = collection.size(place) or (None, None)
    name = collection.ids[place]
    return Hit(
        id=name,
        score=round(score, DIGITS),
        path=collection.name(place),
        width=width,
        height=height,
        thumbnail=f"/v1/thumbnails/{name}",
        image=f"/v1/images/{name}",
    )


def _query(collection: Collection, asked: Asked) -> Query:
    """What is wanted, mixed with images to be like, and what is not."""
    wanted, unwanted = split_query(checked(asked.text))
    if len(unwanted) > UNWANTED:
        raise Problem(422, f"a query may refuse {UNWANTED} terms, and this one has more")
    images = [] if asked.image is None else [_image("the uploaded picture", asked.image)]
    if asked.like is not None:
        place = collection.place(asked.like)
        if place is None:
            raise Problem(404, "there is no picture with the id that 'like' names")
        images.append(_image(asked.like, collection.vector(place)))
    try:
        texts = [check_query(collection.model, one, asked.language) for one in [wanted] if one]
        without = [check_query(collection.model, one, asked.language) for one in unwanted]
    except PolyglanceError as error:
        raise Problem(422, str(error)) from None
    if not texts and not images:
        raise Problem(422, "there is nothing to look for; give a sentence in 'q', or 'like'")
    first, *others = [*texts, *images]
    return replace(first, like=tuple(others), without=tuple(without))


def _image(name: str, vector: np.ndarray) -> Query:
    return Query(name, None, (), (), image=vector)
