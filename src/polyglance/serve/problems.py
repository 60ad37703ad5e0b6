"""What a request is answered with where it cannot be met."""

from typing import Any


class Problem(Exception):
    """An answer other than 200: a status of HTTP, and one sentence."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status, self.message = status, message


def as_json(message: str) -> dict[str, Any]:
    """The body of such an answer, in the form that clients of OpenAI's API know as well."""
    return {"error": {"message": message}}
