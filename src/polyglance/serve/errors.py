"""Error responses in one format."""

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException
from starlette.requests import Request

from polyglance.serve.access.guard import ENDING, FAULT, problem_answer
from polyglance.serve.encoding.batching import Closed
from polyglance.serve.problems import Problem
from polyglance.serve.routes.bodies import content_type

_KNOWN = {404: "there is nothing at this address", 405: "this address does not support this method"}


def add_errors(app: FastAPI) -> None:
    """Handle problems, internal errors and FastAPI's own errors."""

    @app.exception_handler(Problem)
    async def problem(_: Request, error: Problem) -> JSONResponse:
        return problem_answer(error)

    @app.exception_handler(Closed)
    async def ending(_: Request, error: Closed) -> JSONResponse:
        return problem_answer(ENDING)

    @app.exception_handler(Exception)
    async def fault(_: Request, error: Exception) -> JSONResponse:
        return problem_answer(FAULT)  # the guard logs it

    @app.exception_handler(RequestValidationError)
    async def invalid(request: Request, error: RequestValidationError) -> JSONResponse:
        first = error.errors()[0]
        if first["loc"][0] == "body" and content_type(request) != "application/json":
            return problem_answer(Problem(415, "the body must be application/json"))
        if first["type"] == "json_invalid":
            said, at = first["ctx"]["error"], first["loc"][-1]
            return problem_answer(
                Problem(422, f"the body is not valid JSON (character {at}: {_lower(said)})")
            )
        where = ".".join(str(part) for part in first["loc"][1:] if isinstance(part, str | int))
        return problem_answer(Problem(422, f"'{where}': {_lower(first['msg'])}"))

    @app.exception_handler(HTTPException)
    async def refused(_: Request, error: HTTPException) -> JSONResponse:
        said = _KNOWN.get(error.status_code, str(error.detail))
        return problem_answer(Problem(error.status_code, said, error.headers or {}))


def _lower(said: str) -> str:
    """A message as part of a sentence."""
    return said[:1].lower() + said[1:]
