"""What a request is answered with where it cannot be met."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any


class Problem(Exception):
    """An answer other than 200: a status of HTTP, one sentence, and headers besides."""

    def __init__(
        self, status: int, message: str, headers: Mapping[str, str] = MappingProxyType({})
    ) -> None:
        super().__init__(message)
        self.status, self.message, self.headers = status, message, headers


def as_json(message: str) -> dict[str, Any]:
    """The body of such an answer, in the form that clients of OpenAI's API know as well."""
    return {"error": {"message": message}}
