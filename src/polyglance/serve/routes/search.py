"""Routes for searches, facets, and the best captions of an image."""

from typing import Annotated

from fastapi import FastAPI, Query, Request, Response
from starlette.concurrency import run_in_threadpool

from polyglance.serve.answers.captions import best_captions
from polyglance.serve.answers.searching import SearchRequest, UploadedImage, search
from polyglance.serve.images.facets import facets
from polyglance.serve.problems import Problem
from polyglance.serve.queries.parameters import SearchParameters
from polyglance.serve.routes.bodies import BINARY, UPLOADS, content_type
from polyglance.serve.service import Service
from polyglance.serve.shapes import CaptionRequest, Captions, Facets, Found

Parameters = Annotated[SearchParameters, Query()]


def add_search(app: FastAPI, service: Service) -> None:
    """Add the routes.

    Args:
        app: to add them to.
        service: to search.
    """

    def found(parameters: SearchParameters, data: bytes | None = None) -> Found:
        served = service.now
        uploaded = None if data is None else UploadedImage.of(data, served.engine.image)
        wanted = SearchRequest(
            parameters.q,
            parameters.like,
            uploaded,
            parameters.language,
            parameters.everything,
            parameters.where,
        )
        return search(served, wanted, parameters.limit, parameters.cursor)

    @app.get("/v1/search")
    def search_by_text(response: Response, parameters: Parameters) -> Found:
        """Images for a sentence, for an image by its id, or for a combination."""
        response.headers["cache-control"] = "no-store"
        return found(parameters)

    @app.post(
        "/v1/search",
        openapi_extra={"requestBody": {"content": dict.fromkeys(UPLOADS, BINARY)}},
    )
    async def search_by_image(
        request: Request, response: Response, parameters: Parameters
    ) -> Found:
        """Images like the one in the body, combined with a sentence if there is one."""
        if content_type(request) not in UPLOADS:
            raise Problem(415, f"the body must be an image: {', '.join(UPLOADS)}")
        data = await request.body()
        response.headers["cache-control"] = "no-store"
        return await service.images.run(len(data), found, parameters, data)

    @app.get("/v1/facets")
    def what_to_filter_by() -> Facets:
        """Folders, tags, caption languages and dates, with the number of images."""
        return facets(service.now.collection)

    @app.post("/v1/captions")
    async def captions(body: CaptionRequest) -> Captions:
        """The captions of a list that match an image best."""
        if body.image is None:
            return await run_in_threadpool(best_captions, service.now, body)
        return await service.images.run(len(body.image), best_captions, service.now, body)
