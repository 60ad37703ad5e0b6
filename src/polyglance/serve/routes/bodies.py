"""Bodies of requests: their types, and how the OpenAPI document tells of them."""

from typing import Any

from starlette.requests import Request

_PICTURES = ("image/jpeg", "image/png", "image/webp", "image/gif", "image/bmp", "image/tiff")
UPLOADS = (*_PICTURES, "image/avif", "image/heic", "image/heif", "application/octet-stream")
"""Types that a picture may be sent as; what it is, its content says."""
BINARY: dict[str, Any] = {"schema": {"type": "string", "format": "binary"}}


def content_type(request: Request) -> str:
    """Of a request's body, without parameters."""
    return request.headers.get("content-type", "").partition(";")[0].strip().lower()
