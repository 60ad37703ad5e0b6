"""Running the service."""

import ipaddress
import logging
import socket
import sys
from collections.abc import Callable

from polyglance.errors import PolyglanceError
from polyglance.serve.app import make_app
from polyglance.serve.collection import Collection
from polyglance.serve.guard import log

SHORTEST_TOKEN = 16
_PATIENCE = 10
"""Seconds that requests under way have when the service ends."""


def check_access(host: str, token: str | None) -> None:
    """Other machines may ask only with a token, which must not be guessed.

    Args:
        host: the address that is listened at.
        token: what requests must carry, if anything.
    """
    if token is not None and (len(token) < SHORTEST_TOKEN or not token.isascii()):
        raise PolyglanceError(
            f"the token must have {SHORTEST_TOKEN} or more ASCII characters; make one with: "
            "python -c 'import secrets; print(secrets.token_urlsafe())'"
        )
    if token is None and not _is_loopback(host):
        raise PolyglanceError(
            f"--host {host}: other machines could ask; name a --token that they need, or leave "
            "out --host"
        )


def _is_loopback(host: str) -> bool:
    """Whether an address is this machine's alone.

    >>> _is_loopback("127.0.0.1"), _is_loopback("0.0.0.0"), _is_loopback("example.org")
    (True, False, False)
    """
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def run(
    collection: Collection,
    host: str,
    port: int,
    token: str | None = None,
    ready: Callable[[str], None] = print,
) -> None:
    """Serve until the process is told to end.

    Args:
        collection: what is searched.
        host: address to listen at.
        port: to listen at; 0 is a free one.
        token: that requests must carry; needed where other machines may ask.
        ready: is told the service's address.
    """
    import uvicorn

    check_access(host, token)
    with _listening(host, port) as listener:
        logging.getLogger("uvicorn").setLevel(logging.ERROR)
        _log_to_stderr()
        settings = uvicorn.Config(
            make_app(collection, token),
            log_config=None,
            access_log=False,
            server_header=False,
            timeout_graceful_shutdown=_PATIENCE,
            h11_max_incomplete_event_size=16_384,
        )
        shown = f"[{host}]" if ":" in host else host
        ready(f"http://{shown}:{listener.getsockname()[1]}/")
        uvicorn.Server(settings).run(sockets=[listener])


def _listening(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family)
    except OSError as error:
        raise PolyglanceError(
            f"cannot listen at {host}, port {port} ({error.strerror or error}); name another "
            "--port, or 0 for a free one"
        ) from None


def _log_to_stderr() -> None:
    """A line of JSON for each request."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("%(message)s"))
    log.addHandler(handler)
    log.setLevel(logging.INFO)
    log.propagate = False
