"""Routes that help users: spelling suggestions, and heat maps of matches."""

from functools import lru_cache
from typing import Annotated

from fastapi import FastAPI, Query, Response

from polyglance.gallery.suggestion import Suggester
from polyglance.runtime import ExportedModel
from polyglance.serve.answers.heat import image_heat
from polyglance.serve.problems import Problem
from polyglance.serve.queries.texts import LONGEST, checked
from polyglance.serve.routes.images import Id
from polyglance.serve.service import Service
from polyglance.serve.shapes import Heat, Suggestion

Text = Annotated[str, Query(max_length=LONGEST, description="a sentence", examples=["an elephnat"])]
Like = Annotated[str | None, Query(max_length=100, description="the id of another image")]
Language = Annotated[str | None, Query(max_length=20, description="of the sentence")]


def add_help(app: FastAPI, service: Service) -> None:
    """Add the routes.

    Args:
        app: to add them to.
        service: to search.
    """

    @app.get("/v1/suggestions")
    def did_you_mean(response: Response, q: Text = "", language: Language = None) -> Suggestion:
        """Another spelling that matches better; null if there is none."""
        response.headers["cache-control"] = "no-store"
        collection, text = service.now.collection, checked(q)
        if not len(collection):
            return Suggestion(suggestion=None)
        suggester = _suggester(collection.model)
        return Suggestion(suggestion=suggester(collection.scorer, text, language))

    @app.get("/v1/images/{name}/heat")
    def heat(
        response: Response, name: Id, q: Text = "", like: Like = None, language: Language = None
    ) -> Heat:
        """Which parts of an image match a sentence, another image, or both."""
        response.headers["cache-control"] = "no-store"
        collection = service.now.collection
        place = collection.place(name)
        if place is None:
            raise Problem(404, "there is no image with this id")
        return image_heat(collection, place, q, like, language)


@lru_cache(2)
def _suggester(model: ExportedModel) -> Suggester:
    """One per model, as reading a vocabulary takes a while."""
    return Suggester(model)
