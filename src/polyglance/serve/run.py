"""Runs the service."""

import ipaddress
import logging
import socket
import threading
from collections.abc import Callable

from polyglance.errors import PolyglanceError
from polyglance.serve.access.guard import Access
from polyglance.serve.access.logs import log_to_stderr
from polyglance.serve.app import make_app
from polyglance.serve.service import Service

SHORTEST_TOKEN = 16
_PATIENCE = 30
"""Seconds for requests in progress to finish at shutdown."""


def check_access(host: str, token: str | None) -> None:
    """Require a token, hard to guess, if other machines can send requests.

    Args:
        host: address to listen on.
        token: that requests must send, if any.
    """
    if token is not None and (len(token) < SHORTEST_TOKEN or not token.isascii()):
        raise PolyglanceError(
            f"the token must have {SHORTEST_TOKEN} or more ASCII characters; create one with: "
            "python -c 'import secrets; print(secrets.token_urlsafe())'"
        )
    if token is None and not _is_loopback(host):
        raise PolyglanceError(
            f"--host {host}: other machines could send requests; set a --token, or leave out --host"
        )


def _is_loopback(host: str) -> bool:
    """Whether an address is a loopback address.

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
    service: Service,
    host: str,
    port: int,
    access: Access,
    ready: Callable[[str], None] = print,
) -> None:
    """Serve until the process is asked to stop; requests in progress are still answered.

    Args:
        service: to run.
        host: address to listen on.
        port: to listen on; 0 picks a free one.
        access: access control; a token is required if other machines can connect.
        ready: called with the service's address when there are images to search.
    """
    import uvicorn

    check_access(host, access.token)
    with _listening(host, port) as listener:
        logging.getLogger("uvicorn").setLevel(logging.ERROR)
        log_to_stderr()
        settings = uvicorn.Config(
            make_app(service, access=access),
            log_config=None,
            access_log=False,
            server_header=False,
            timeout_graceful_shutdown=_PATIENCE,
            h11_max_incomplete_event_size=16_384,
        )
        shown = f"[{host}]" if ":" in host else host
        address = f"http://{shown}:{listener.getsockname()[1]}/"
        server = uvicorn.Server(settings)

        def follow() -> None:
            service.opened.wait()
            if service.failure is None:
                ready(address)
            else:
                server.should_exit = True

        threading.Thread(target=follow, name="opening", daemon=True).start()
        server.run(sockets=[listener])
    if service.failure is not None:
        raise service.failure


def _listening(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listener = socket.create_server((host, port), family=family)
    except OSError as error:
        raise PolyglanceError(
            f"cannot listen on {host}, port {port} ({error.strerror or error}); choose another "
            "--port, or 0 for a free one"
        ) from None
    # Connections inherit it. asyncio sets it only on sockets made with IPPROTO_TCP, and without it
    # every body waits 40 ms for the acknowledgement of its headers (Nagle, delayed ACK).
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listener
