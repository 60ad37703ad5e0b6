"""Routes for images by id, and their thumbnails."""

from typing import Annotated, Any

from fastapi import FastAPI, Path, Response

from polyglance.serve.answers.info import image_info
from polyglance.serve.images.collection import SHOWN, Collection, File
from polyglance.serve.problems import Problem
from polyglance.serve.routes.bodies import BINARY
from polyglance.serve.service import Service
from polyglance.serve.shapes import ImageInfo

Id = Annotated[str, Path(pattern="^[0-9a-zA-Z@.+-]{1,100}$", description="from a search")]
_TYPES = tuple(f"image/{kind.lower()}" for kind in sorted(SHOWN))
_SENT: dict[int | str, dict[str, Any]] = {200: {"content": dict.fromkeys(_TYPES, BINARY)}}


def add_images(app: FastAPI, service: Service) -> None:
    """Add the routes.

    Args:
        app: to add them to.
        service: whose images are sent.
    """

    @app.get("/v1/thumbnails/{name}", response_class=Response, responses=_SENT)
    def thumbnail(name: Id) -> Response:
        """A thumbnail."""
        collection = service.now.collection
        return _answer(collection.thumbnail(_place(collection, name)))

    @app.get("/v1/images/{name}", response_class=Response, responses=_SENT)
    def image(name: Id) -> Response:
        """The image's file, or a JPEG if browsers cannot show its format."""
        collection = service.now.collection
        return _answer(collection.image(_place(collection, name)))

    @app.get("/v1/images/{name}/info")
    def info(name: Id) -> ImageInfo:
        """Details of an image."""
        collection = service.now.collection
        return image_info(collection, _place(collection, name))


def _place(collection: Collection, name: str) -> int:
    found = collection.place(name)
    if found is None:
        raise Problem(404, "there is no image with this id")
    return found


def _answer(found: File | None) -> Response:
    if found is None:
        raise Problem(404, "the file of this image is gone or cannot be read")
    # An id is derived from the content, so the content never changes.
    headers = {"cache-control": "private, max-age=86400", "content-disposition": "inline"}
    return Response(found.data, media_type=found.type, headers=headers)
