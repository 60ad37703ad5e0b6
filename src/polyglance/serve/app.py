"""The application: what is asked for at which address."""

from pathlib import Path as FilePath
from typing import Annotated, Any

from fastapi import FastAPI, Path, Query, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp

from polyglance.serve.collection import Collection, File
from polyglance.serve.cursors import LONGEST as LONGEST_CURSOR
from polyglance.serve.embeddings import embed_pictures, embed_texts
from polyglance.serve.guard import FAULT, Guard, problem_answer
from polyglance.serve.problems import Problem
from polyglance.serve.searching import LARGEST_PAGE, PAGE, Asked, search
from polyglance.serve.shapes import EmbeddingRequest, Embeddings, ErrorAnswer, Found, Health
from polyglance.serve.texts import LONGEST
from polyglance.serve.uploads import Uploads
from polyglance.version import __version__

PAGE_FILES = FilePath(__file__).parent / "page"
_TYPES = {
    "index.html": "text/html",
    "page.css": "text/css",
    "page.js": "text/javascript",
    "words.json": "application/json",
}
_PICTURES = ("image/jpeg", "image/png", "image/webp", "image/gif", "image/bmp", "image/tiff")
_UPLOADS = (*_PICTURES, "image/avif", "image/heic", "image/heif", "application/octet-stream")
_ERRORS: dict[int | str, dict[str, Any]] = {
    code: {"model": ErrorAnswer} for code in (400, 401, 404, 413, 415, 421, 422, 503)
}
_BODY = {"schema": {"type": "string", "format": "binary"}}

Text = Annotated[
    str,
    Query(
        max_length=LONGEST,
        description='a sentence in any language; -word and -"some words" are not wanted',
        examples=["a beach -people"],
    ),
]
Limit = Annotated[int, Query(ge=1, le=LARGEST_PAGE, description="pictures of a page")]
Cursor = Annotated[str | None, Query(max_length=LONGEST_CURSOR, description="of the page before")]
Language = Annotated[
    str | None, Query(max_length=20, description="of the sentence; by default the script decides")
]
Everything = Annotated[
    bool, Query(description="also pictures that do not look like what is asked for")
]
Id = Annotated[str, Path(pattern="^[0-9a-zA-Z@.+-]{1,100}$", description="as a search gave it")]
Like = Annotated[
    str | None, Query(max_length=100, description="the id of a picture that hits should be like")
]


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
    _add_errors(app)
    _add_page(app)
    _add_pictures(app, collection)
    uploads = Uploads(collection.model)
    _add_search(app, collection, uploads)
    _add_embeddings(app, uploads)
    return Guard(app, token)


def _add_search(app: FastAPI, collection: Collection, uploads: Uploads) -> None:
    @app.get("/v1/health")
    def health() -> Health:
        """Whether the service runs; needs no token."""
        return Health(version=__version__)

    @app.get("/v1/search")
    def search_by_text(
        response: Response,
        q: Text = "",
        like: Like = None,
        limit: Limit = PAGE,
        cursor: Cursor = None,
        language: Language = None,
        everything: Everything = False,
    ) -> Found:
        """Pictures for a sentence, for a picture by its id, or for a mixture of both."""
        response.headers["cache-control"] = "no-store"
        asked = Asked(q, like, None, language, everything)
        return search(collection, asked, limit, cursor)

    @app.post(
        "/v1/search",
        openapi_extra={"requestBody": {"content": dict.fromkeys(_UPLOADS, _BODY)}},
    )
    async def search_by_picture(
        request: Request,
        response: Response,
        q: Text = "",
        like: Like = None,
        limit: Limit = PAGE,
        cursor: Cursor = None,
        language: Language = None,
        everything: Everything = False,
    ) -> Found:
        """Pictures like the one that is the body, mixed with a sentence if there is one."""
        if _content_type(request) not in _UPLOADS:
            raise Problem(415, f"the body must be a picture: {', '.join(_UPLOADS)}")
        data = await request.body()
        response.headers["cache-control"] = "no-store"

        def answer() -> Found:
            asked = Asked(q, like, uploads(data), language, everything)
            return search(collection, asked, limit, cursor)

        return await run_in_threadpool(answer)


def _add_pictures(app: FastAPI, collection: Collection) -> None:
    def sent(found: File | None) -> Response:
        if found is None:
            raise Problem(404, "the file of this picture is gone or cannot be read")
        # An id is of the content, which so never changes.
        headers = {"cache-control": "private, max-age=86400", "content-disposition": "inline"}
        return Response(found.data, media_type=found.type, headers=headers)

    def place(name: str) -> int:
        found = collection.place(name)
        if found is None:
            raise Problem(404, "there is no picture with this id")
        return found

    binary: dict[int | str, dict[str, Any]] = {
        200: {"content": dict.fromkeys(("image/webp", "image/jpeg"), _BODY)}
    }

    @app.get("/v1/thumbnails/{name}", response_class=Response, responses=binary)
    def thumbnail(name: Id) -> Response:
        """A small picture."""
        return sent(collection.thumbnail(place(name)))

    @app.get("/v1/images/{name}", response_class=Response, responses=binary)
    def image(name: Id) -> Response:
        """The picture's file, or a JPEG of it where browsers do not show its format."""
        return sent(collection.image(place(name)))


def _add_embeddings(app: FastAPI, uploads: Uploads) -> None:
    @app.post("/v1/embeddings")
    def embeddings(body: EmbeddingRequest) -> Embeddings:
        """Vectors of texts, as OpenAI's API has it."""
        return embed_texts(uploads.model, body)

    @app.post("/v1/embeddings/images")
    def embeddings_of_pictures(body: EmbeddingRequest) -> Embeddings:
        """Vectors of pictures: each input is a file in Base64, or a data URL."""
        return embed_pictures(uploads, body)


def _add_page(app: FastAPI) -> None:
    files = {name: (PAGE_FILES / name).read_bytes() for name in _TYPES}

    def sent(name: str) -> Response:
        return Response(files[name], media_type=_TYPES[name], headers={"cache-control": "no-cache"})

    @app.get("/", include_in_schema=False)
    def page() -> Response:
        return sent("index.html")

    @app.get("/page/{name}", include_in_schema=False)
    def page_file(name: str) -> Response:
        if name not in files:
            raise Problem(404, "there is nothing at this address")
        return sent(name)


def _content_type(request: Request) -> str:
    return request.headers.get("content-type", "").partition(";")[0].strip().lower()


def _add_errors(app: FastAPI) -> None:
    @app.exception_handler(Problem)
    async def problem(_: Request, error: Problem) -> JSONResponse:
        return problem_answer(error)

    @app.exception_handler(Exception)
    async def fault(_: Request, error: Exception) -> JSONResponse:
        return problem_answer(FAULT)  # and the guard logs it

    @app.exception_handler(RequestValidationError)
    async def invalid(request: Request, error: RequestValidationError) -> JSONResponse:
        first = error.errors()[0]
        if first["loc"][0] == "body" and _content_type(request) != "application/json":
            return problem_answer(Problem(415, "the body must be application/json"))
        where = ".".join(str(part) for part in first["loc"][1:] if isinstance(part, str | int))
        said = str(first["msg"])
        return problem_answer(Problem(422, f"'{where}': {said[:1].lower()}{said[1:]}"))

    @app.exception_handler(HTTPException)
    async def refused(_: Request, error: HTTPException) -> JSONResponse:
        known = {404: "there is nothing at this address", 405: "this address takes other methods"}
        return problem_answer(
            Problem(error.status_code, known.get(error.status_code, str(error.detail)))
        )
