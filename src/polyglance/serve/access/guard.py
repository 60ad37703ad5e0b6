"""Guards every request: authentication, limits, headers and logging."""

import asyncio
import hmac
import ipaddress
import json
import logging
import math
import re
import time
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from starlette.requests import ClientDisconnect
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from polyglance.serve.access.logs import log, log_event, stamp
from polyglance.serve.access.metrics import Metrics
from polyglance.serve.access.origins import allowed, preflight
from polyglance.serve.access.rates import Rates
from polyglance.serve.problems import Problem, as_json
from polyglance.serve.queries.uploads import LARGEST_BODY

LOOPBACK = ("localhost", "127.0.0.1", "[::1]")
OPEN = ("/v1/health", "/v1/ready")
"""Paths that need no token, besides the page."""
PATIENCE = 30.0
"""Longest pause in seconds between two parts of a request's body."""
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

ENDING = Problem(503, "the service is shutting down; try again later")
FAULT = Problem(500, "internal error; see the log of the service")


@dataclass(frozen=True, slots=True)
class Access:
    """Who may send requests, how often, and what is logged."""

    token: str | None = None
    """Required of requests; without it, only local host names are accepted."""
    rate: int | None = None
    """Requests per client and minute."""
    origins: tuple[str, ...] = ()
    """Other sites whose pages may send requests."""
    log_queries: bool = False
    """Whether queries are logged."""
    host: str = "localhost"
    """The address that the service listens on, by which it may be called."""


@dataclass(slots=True)
class _Exchange:
    """A request and the state of its answer."""

    scope: Scope
    started: float = field(default_factory=time.perf_counter)
    received: int = 0
    sent: int = 0
    status: int = 0
    done: bool = False
    """Whether the whole body has been received."""

    @property
    def route(self) -> str | None:
        """As in the OpenAPI document; None if there is nothing at the address."""
        return getattr(self.scope.get("route"), "path", None)

    @property
    def seconds(self) -> float:
        return time.perf_counter() - self.started

    def line(self, query: bool) -> str:
        """A log line, without the query (unless requested) and the body."""
        logged = {"query": self.scope["query_string"].decode("latin-1")} if query else {}
        return json.dumps(
            {
                "time": stamp(),
                "method": self.scope["method"],
                "route": self.route,
                **logged,
                "status": self.status,
                "ms": round(1000 * self.seconds, 1),
                "received": self.received,
                "sent": self.sent,
            }
        )


class Guard:
    """Wraps the application: hosts, token, rates, sizes, headers, errors, log and metrics.

    Args:
        app: the application.
        access: who may use it, and how often.
        metrics: counts requests.
    """

    def __init__(self, app: ASGIApp, access: Access, metrics: Metrics) -> None:
        self.app, self.access, self.metrics = app, access, metrics
        self.token = None if access.token is None else f"Bearer {access.token}".encode()
        self.hosts = tuple(dict.fromkeys([*LOOPBACK, *_names(access.host)]))
        self.rates = None if access.rate is None else Rates(access.rate)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        exchange = _Exchange(scope)
        added = [(name.encode(), value.encode()) for name, value in HEADERS.items()]
        added += allowed(dict(scope["headers"]).get(b"origin", b""), self.access.origins)

        async def headed(message: Message) -> None:
            if message["type"] == "http.response.start":
                exchange.status = message["status"]
                message = {**message, "headers": [*message.get("headers", []), *added]}
            exchange.sent += len(message.get("body", b""))
            await send(message)

        try:
            with self.metrics.under_way.track_inprogress():
                await self._answer(scope, partial(_counted, receive, exchange), headed, exchange)
        finally:
            log.info(exchange.line(self.access.log_queries))
            self.metrics.answered(
                exchange.route, scope["method"], exchange.status, exchange.seconds
            )

    async def _answer(
        self, scope: Scope, receive: Receive, send: Send, exchange: _Exchange
    ) -> None:
        try:
            self._check(scope)
            if scope["method"] == "OPTIONS" and self.access.origins:
                await self._preflight(scope, receive, send)
                return
            await self.app(scope, receive, send)
        except Problem as problem:
            if not exchange.status:
                await problem_answer(problem)(scope, receive, send)
        except ClientDisconnect:
            pass
        except asyncio.CancelledError:
            if not exchange.status:
                await problem_answer(ENDING)(scope, receive, send)
            raise
        except Exception as error:
            # The message may contain a query or a path; its type and location are enough.
            log_event("fault", logging.ERROR, error=type(error).__name__, where=_where(error))
            if not exchange.status:
                await problem_answer(FAULT)(scope, receive, send)

    def _check(self, scope: Scope) -> None:
        headers = dict(scope["headers"])
        length = headers.get(b"content-length", b"0")
        if not length.isdigit() or int(length[:20]) > LARGEST_BODY:
            raise _too_large()
        self._check_rate(scope)
        if self.token is None:
            # DNS rebinding: a page of another site can resolve its own name to this machine.
            if _host(headers.get(b"host", b"").decode("latin-1")) not in self.hosts:
                named = ", ".join(self.hosts)
                raise Problem(421, f"this service can only be called by these names: {named}")
            return
        path = scope["path"]
        asks_first = scope["method"] == "OPTIONS" and self.access.origins
        shut = path.startswith("/v1/") or path == "/metrics"
        if shut and path not in OPEN and not asks_first:
            given = headers.get(b"authorization", b"")
            if not hmac.compare_digest(given, self.token):
                raise Problem(401, "this service needs its token: 'Authorization: Bearer TOKEN'")

    def _check_rate(self, scope: Scope) -> None:
        if self.rates is None or scope["path"] in OPEN:
            return
        client = scope.get("client")
        seconds = self.rates.wait(client[0] if client else "")
        if seconds:
            wait = math.ceil(seconds)
            raise Problem(
                429,
                f"{self.rates.per_minute} requests per minute is the limit; wait {wait} s",
                {"retry-after": str(wait)},
            )

    async def _preflight(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = dict(scope["headers"])
        found = preflight(headers.get(b"origin", b""), self.access.origins)
        if found is None:
            raise Problem(403, "this origin is not allowed; allow it with --allow-origin")
        await send({"type": "http.response.start", "status": 204, "headers": found})
        await send({"type": "http.response.body", "body": b""})


async def _counted(receive: Receive, exchange: _Exchange) -> Message:
    """The next part of a request, limited in size and time."""
    try:
        message = await asyncio.wait_for(receive(), None if exchange.done else PATIENCE)
    except TimeoutError:
        raise Problem(408, "the rest of the request did not arrive; send it again") from None
    exchange.received += len(message.get("body", b""))
    exchange.done = not message.get("more_body", False)
    if exchange.received > LARGEST_BODY:
        raise _too_large()
    return message


def problem_answer(problem: Problem) -> JSONResponse:
    """A problem as JSON."""
    extra = {"www-authenticate": "Bearer"} if problem.status == 401 else {}
    headers = {"cache-control": "no-store", **extra, **problem.headers}
    return JSONResponse(as_json(problem.message), problem.status, headers)


def _too_large() -> Problem:
    return Problem(413, f"the request is too large; the limit is {LARGEST_BODY:,} bytes")


def _names(host: str) -> tuple[str, ...]:
    """How a Host header may name an address.

    >>> _names("127.0.0.2"), _names("0:0:0:0:0:0:0:1")
    (('127.0.0.2',), ('[0:0:0:0:0:0:0:1]', '[::1]'))
    """
    if ":" not in host:
        return (host.lower(),)
    return f"[{host.lower()}]", f"[{ipaddress.ip_address(host).compressed}]"


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
