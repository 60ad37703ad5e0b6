"""CORS: which other sites' pages may read answers; only those configured."""

import re
from collections.abc import Collection

from polyglance.errors import PolyglanceError

_ORIGIN = re.compile(r"https?://([a-z0-9.-]+|\[[0-9a-f:]+\])(:[0-9]{1,5})?")
_ASKED = (b"GET, HEAD, POST", b"authorization, content-type")
Headers = list[tuple[bytes, bytes]]


def check_origins(origins: Collection[str]) -> tuple[str, ...]:
    """Check configured origins; a wildcard would expose the images to every site."""
    for origin in origins:
        if not _ORIGIN.fullmatch(origin):
            raise PolyglanceError(
                f"--allow-origin {origin}: must be a scheme and a host in lower case, such as "
                "https://example.org or http://localhost:3000"
            )
    return tuple(origins)


def allowed(origin: bytes, origins: Collection[str]) -> Headers:
    """CORS headers of an answer to a page of an origin; none if it is not allowed."""
    if not origins:
        return []
    if origin.decode("latin-1") not in origins:
        return [(b"vary", b"Origin")]
    return [(b"vary", b"Origin"), (b"access-control-allow-origin", origin)]


def preflight(origin: bytes, origins: Collection[str]) -> Headers | None:
    """Headers of the answer to a preflight request; None if it is not allowed."""
    if origin.decode("latin-1") not in origins:
        return None
    methods, headers = _ASKED
    return [
        (b"access-control-allow-methods", methods),
        (b"access-control-allow-headers", headers),
        (b"access-control-max-age", b"600"),
    ]
