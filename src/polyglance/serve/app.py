"""The application: everything that is answered, behind the guard."""

from typing import Any

from fastapi import FastAPI
from starlette.types import ASGIApp

from polyglance.serve.collection import Collection
from polyglance.serve.embeddings import embed_pictures, embed_texts
from polyglance.serve.errors import add_errors
from polyglance.serve.guard import Guard
from polyglance.serve.routes.images import add_images
from polyglance.serve.routes.page import add_page
from polyglance.serve.routes.search import add_search
from polyglance.serve.shapes import EmbeddingRequest, Embeddings, ErrorAnswer, Health
from polyglance.serve.uploads import Uploads
from polyglance.version import __version__

_ERRORS: dict[int | str, dict[str, Any]] = {
    code: {"model": ErrorAnswer} for code in (400, 401, 404, 413, 415, 421, 422, 503)
}


def make_app(collection: Collection, token: str | None = None) -> ASGIApp:
    """The application that serves a collection.

    Args:
        collection: what is searched.
        token: that requests must carry; without it only names of this machine are answered to.
    """
    app = FastAPI(
        title="Polyglance",
        summary="Pictures found by sentences in any language, and by pictures.",
        version=__version__,
        docs_url=None,  # both pages load scripts from other hosts
        redoc_url=None,
        openapi_url="/v1/openapi.json",
        responses=_ERRORS,
    )
    uploads = Uploads(collection.model)
    add_errors(app)
    add_page(app)
    add_images(app, collection)
    add_search(app, collection, uploads)
    _add_embeddings(app, uploads)
    _add_health(app)
    return Guard(app, token)


def _add_health(app: FastAPI) -> None:
    @app.get("/v1/health")
    def health() -> Health:
        """Whether the service runs; needs no token."""
        return Health(version=__version__)


def _add_embeddings(app: FastAPI, uploads: Uploads) -> None:
    @app.post("/v1/embeddings")
    def embeddings(body: EmbeddingRequest) -> Embeddings:
        """Vectors of texts, as OpenAI's API has it."""
        return embed_texts(uploads.model, body)

    @app.post("/v1/embeddings/images")
    def embeddings_of_pictures(body: EmbeddingRequest) -> Embeddings:
        """Vectors of pictures: each input is a file in Base64, or a data URL."""
        return embed_pictures(uploads, body)
