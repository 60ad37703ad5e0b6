"""The ASGI application: all routes behind the guard."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

from fastapi import FastAPI
from starlette.concurrency import run_in_threadpool
from starlette.types import ASGIApp

from polyglance.core.version import __version__
from polyglance.serve.access.guard import Access, Guard
from polyglance.serve.errors import add_errors
from polyglance.serve.images.collection import Collection
from polyglance.serve.routes.embeddings import add_embeddings
from polyglance.serve.routes.help import add_help
from polyglance.serve.routes.images import add_images
from polyglance.serve.routes.page import add_page
from polyglance.serve.routes.search import add_search
from polyglance.serve.routes.watching import add_watching
from polyglance.serve.service import Service
from polyglance.serve.shapes import ErrorAnswer

_ERRORS: dict[int | str, dict[str, Any]] = {
    code: {"model": ErrorAnswer} for code in (400, 401, 404, 408, 413, 415, 421, 422, 429, 503)
}


def make_app(
    served: Collection | Service, token: str | None = None, access: Access | None = None
) -> ASGIApp:
    """The application that serves a collection.

    Args:
        served: the collection to search, or a service that may replace it.
        token: that requests must send; without it, only local host names are accepted.
        access: full access control, instead of the token alone.
    """
    service = served if isinstance(served, Service) else Service(served)
    app = FastAPI(
        title="Polyglance",
        summary="Search images with sentences in any language, and with other images.",
        version=__version__,
        docs_url=None,  # both pages load scripts from other hosts
        redoc_url=None,
        openapi_url="/v1/openapi.json",
        responses=_ERRORS,
        lifespan=partial(_lifespan, service),
    )
    add_errors(app)
    add_page(app)
    add_images(app, service)
    add_search(app, service)
    add_help(app, service)
    add_embeddings(app, service)
    add_watching(app, service)
    return Guard(app, access or Access(token), service.metrics)


@asynccontextmanager
async def _lifespan(service: Service, _: FastAPI) -> AsyncIterator[None]:
    """Open the collection and warm up while the first requests may arrive.

    Threads and processes are stopped after the last.
    """
    warming = asyncio.create_task(run_in_threadpool(service.warm))
    yield
    service.stop_opening()
    await asyncio.gather(warming, return_exceptions=True)
    service.close()
