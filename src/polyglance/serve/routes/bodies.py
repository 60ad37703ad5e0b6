"""Bodies of requests: their types, and their OpenAPI schema."""

from typing import Any

from starlette.requests import Request

_IMAGES = ("image/jpeg", "image/png", "image/webp", "image/gif", "image/bmp", "image/tiff")
UPLOADS = (*_IMAGES, "image/avif", "image/heic", "image/heif", "application/octet-stream")
"""Content types for an uploaded image; its actual format is detected."""
BINARY: dict[str, Any] = {"schema": {"type": "string", "format": "binary"}}


def content_type(request: Request) -> str:
    """The content type of a request's body, without parameters."""
    return request.headers.get("content-type", "").partition(";")[0].strip().lower()
