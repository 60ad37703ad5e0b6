"""Routes for searches, facets, and the best captions of a picture."""

from typing import Annotated

from fastapi import FastAPI, Query, Request, Response
from starlette.concurrency import run_in_threadpool

from polyglance.serve.answers.captions import best_captions
from polyglance.serve.answers.searching import Picture, SearchRequest, search
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
        picture = None if data is None else Picture.of(data, served.engine.picture)
        wanted = SearchRequest(
            parameters.q,
            parameters.like,
            picture,
            parameters.language,
            parameters.everything,
            parameters.where,
        )
        return search(served, wanted, parameters.limit, parameters.cursor)

    @app.get("/v1/search")
    def search_by_text(response: Response, parameters: Parameters) -> Found:
        """Pictures for a sentence, for a picture by its id, or for a combination."""
        response.headers["cache-control"] = "no-store"
        return found(parameters)

    @app.post(
        "/v1/search",
        openapi_extra={"requestBody": {"content": dict.fromkeys(UPLOADS, BINARY)}},
    )
    async def search_by_picture(
        request: Request, response: Response, parameters: Parameters
    ) -> Found:
        """Pictures like the one in the body, combined with a sentence if there is one."""
        if content_type(request) not in UPLOADS:
            raise Problem(415, f"the body must be a picture: {', '.join(UPLOADS)}")
        data = await request.body()
        response.headers["cache-control"] = "no-store"
        return await service.pictures.run(len(data), found, parameters, data)

    @app.get("/v1/facets")
    def what_to_filter_by() -> Facets:
        """Folders, tags, caption languages and dates, with the number of pictures."""
        return facets(service.now.collection)

    @app.post("/v1/captions")
    async def captions(body: CaptionRequest) -> Captions:
        """The captions of a list that match a picture best."""
        if body.image is None:
            return await run_in_threadpool(best_captions, service.now, body)
        return await service.pictures.run(len(body.image), best_captions, service.now, body)
