"""Errors that requests are answered with."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any


class Problem(Exception):
    """An answer other than 200: an HTTP status, one sentence, and additional headers.

    Args:
        status: of HTTP.
        message: one sentence.
        headers: in addition to the usual ones.
    """

    def __init__(
        self, status: int, message: str, headers: Mapping[str, str] = MappingProxyType({})
    ) -> None:
        super().__init__(message)
        self.status, self.message, self.headers = status, message, headers


def as_json(message: str) -> dict[str, Any]:
    """The body of an error answer, in the format of OpenAI's API."""
    return {"error": {"message": message}}
