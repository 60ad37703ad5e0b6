"""What stands before every request: who may ask, how much, and what is logged."""

import hmac
import json
import logging
import re
import time
from dataclasses import dataclass, field
from typing import Any

from starlette.requests import ClientDisconnect
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from polyglance.serve.problems import Problem, as_json
from polyglance.serve.uploads import LARGEST_BODY

log = logging.getLogger("polyglance.serve")
LOOPBACK = ("localhost", "127.0.0.1", "[::1]")
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src 'self' blob:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "content-security-policy": _POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
}

FAULT = Problem(500, "something went wrong here; the log of the service says where")


@dataclass(slots=True)
class _Exchange:
    """A request and how far its answer is."""

    scope: Scope
    started: float = field(default_factory=time.perf_counter)
    received: int = 0
    sent: int = 0
    status: int = 0

    def line(self) -> str:
        """For the log: neither the query nor what was sent."""
        route = self.scope.get("route")
        return json.dumps(
            {
                "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
                "method": self.scope["method"],
                "route": getattr(route, "path", None),
                "status": self.status,
                "ms": round(1000 * (time.perf_counter() - self.started), 1),
                "received": self.received,
                "sent": self.sent,
            }
        )


class Guard:
    """Wraps the application: hosts, token, sizes, headers, errors and the log."""

    def __init__(self, app: ASGIApp, token: str | None = None) -> None:
        self.app = app
        self.token = None if token is None else f"Bearer {token}".encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        exchange = _Exchange(scope)

        async def counted() -> Message:
            message = await receive()
            exchange.received += len(message.get("body", b""))
            if exchange.received > LARGEST_BODY:
                raise _too_large()
            return message

        async def headed(message: Message) -> None:
            if message["type"] == "http.response.start":
                exchange.status = message["status"]
                added = [(name.encode(), value.encode()) for name, value in HEADERS.items()]
                message = {**message, "headers": [*message.get("headers", []), *added]}
            exchange.sent += len(message.get("body", b""))
            await send(message)

        try:
            await self._answer(scope, counted, headed, exchange)
        finally:
            log.info(exchange.line())

    async def _answer(
        self, scope: Scope, receive: Receive, send: Send, exchange: _Exchange
    ) -> None:
        try:
            self._check(scope)
            await self.app(scope, receive, send)
        except Problem as problem:
            if not exchange.status:
                await problem_answer(problem)(scope, receive, send)
        except ClientDisconnect:
            pass
        except Exception as error:
            # The message may hold a query or a path: its kind and place are enough to find it.
            log.error(json.dumps({"error": type(error).__name__, "where": _where(error)}))
            if not exchange.status:
                await problem_answer(FAULT)(scope, receive, send)

    def _check(self, scope: Scope) -> None:
        headers = dict(scope["headers"])
        length = headers.get(b"content-length", b"0")
        if not length.isdigit() or int(length[:20]) > LARGEST_BODY:
            raise _too_large()
        if self.token is None:
            # A page of another site can give its own name this machine's address.
            if _host(headers.get(b"host", b"").decode("latin-1")) not in LOOPBACK:
                raise Problem(421, "this service answers to localhost and 127.0.0.1 alone")
            return
        if scope["path"].startswith("/v1/") and scope["path"] != "/v1/health":
            given = headers.get(b"authorization", b"")
            if not hmac.compare_digest(given, self.token):
                raise Problem(401, "this service needs its token: 'Authorization: Bearer TOKEN'")


def problem_answer(problem: Problem) -> JSONResponse:
    """A problem as JSON."""
    extra = {"www-authenticate": "Bearer"} if problem.status == 401 else {}
    headers = {"cache-control": "no-store", **extra}
    return JSONResponse(as_json(problem.message), problem.status, headers)


def _too_large() -> Problem:
    return Problem(413, f"the request is too large; {LARGEST_BODY:,} bytes are the most")


def _host(header: str) -> str:
    """The name in a Host header, without the port.

    >>> _host("[::1]:80"), _host("LocalHost:8000"), _host("127.0.0.1"), _host("[::1].evil")
    ('[::1]', 'localhost', '127.0.0.1', '[::1].evil')
    """
    return re.sub(r":[0-9]*$", "", header.lower()) if header[-1:] != "]" else header.lower()


def _where(error: Exception) -> Any:
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return None if trace is None else f"{trace.tb_frame.f_code.co_filename}:{trace.tb_lineno}"
