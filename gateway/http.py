"""The gateway's one HTTP side: routes of the adapters, health and metrics behind the same walls.

Above: `gateway.app` gives the routes and serves. Every answer carries the security headers, every request must name a
host that is ours (a foreign name is how DNS rebinding shows), every POST must come from a page of ours, and no body is
larger than `BODY_BYTES`.
"""

import ipaddress
import socket
from collections.abc import Awaitable, Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from urllib.parse import urlsplit

import uvicorn
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest
from starlette.applications import Starlette
from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

Health = Callable[[], Awaitable[Mapping[str, bool]]]
"""Tells of each part, by name, whether it works; it must not raise."""

BODY_BYTES = 2_000_000
LOOPBACK = "127.0.0.1"
PORT = 8750
SHUTDOWN_SECONDS = 3

SECURITY_HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; "
        "base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
    ),
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}


def build_app(
    routes: Sequence[BaseRoute], *, health: Health, host: str = LOOPBACK, names: Sequence[str] = ()
) -> Starlette:
    """The ASGI app. `host` is the address it listens on, `names` the further host names it is reached by."""

    async def healthz(_request: Request) -> Response:
        parts = await health()
        ok = all(parts.values())
        return JSONResponse({"ok": ok, **parts}, status_code=200 if ok else 503)

    # Behind a proxy that does not pass Host on, every visitor looks like somebody on this machine.
    metrics = [] if names else [Route("/metrics", _metrics)]
    return Starlette(
        routes=[Route("/healthz", healthz), *metrics, *routes],
        middleware=[
            Middleware(_SecurityHeaders),
            Middleware(_HostCheck, host=host, names=names),
            Middleware(_OriginCheck),
            Middleware(_BodyLimit),
        ],
    )


def listen(host: str = LOOPBACK, port: int = PORT) -> socket.socket:
    """A listening socket, on loopback unless told otherwise.

    Raises:
        OSError: the port is taken, or the address is not one of this machine.
    """
    return socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET)


def build_server(app: Starlette) -> uvicorn.Server:
    """The HTTP server; run it with `serve(sockets=[listen(...)])`, and end it by `should_exit`.

    It keeps no access log: the web chat's first request carries the token in its address.
    """
    return _Server(
        uvicorn.Config(
            app,
            access_log=False,
            lifespan="off",
            log_config=None,
            server_header=False,
            timeout_graceful_shutdown=SHUTDOWN_SECONDS,
        )
    )


class _Server(uvicorn.Server):
    @contextmanager
    def capture_signals(self) -> Generator[None]:
        """Leave the signals to the process: it ends the event streams first, which the server would wait for."""
        yield


async def _metrics(request: Request) -> Response:
    """Only to this machine: behind a proxy the peer is local too, so the host asked for must be as well."""
    peer = request.client.host if request.client else ""
    if not (_is_loopback(peer) and _is_loopback(_host_name(request.headers.get("host", "")))):
        raise HTTPException(403)
    return Response(generate_latest(), headers={"Content-Type": CONTENT_TYPE_LATEST})


def _host_name(netloc: str) -> str:
    """The name in a Host header, without port and brackets; empty when it is malformed."""
    try:
        return urlsplit(f"//{netloc}").hostname or ""
    except ValueError:
        return ""


def _address(name: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(name)
    except ValueError:
        return None


def _is_loopback(name: str) -> bool:
    address = _address(name)
    return name == "localhost" or (address is not None and address.is_loopback)


class _SecurityHeaders:
    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(SECURITY_HEADERS)
            await send(message)

        await self._app(scope, receive, send_with_headers)


class _HostCheck:
    def __init__(self, app: ASGIApp, *, host: str, names: Sequence[str]) -> None:
        self._app = app
        self._names = {host.lower(), *(name.lower() for name in names)}
        bound = _address(host)
        self._any_address = bound is not None and bound.is_unspecified

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and not self._is_ours(_host_name(Headers(scope=scope).get("host", ""))):
            await PlainTextResponse("This host name is not served here.", 421)(scope, receive, send)
            return
        await self._app(scope, receive, send)

    def _is_ours(self, name: str) -> bool:
        # A rebound name is never an address, so addresses are safe where the listener is bound to all of them.
        return _is_loopback(name) or name in self._names or (self._any_address and _address(name) is not None)


class _OriginCheck:
    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["method"] not in {"GET", "HEAD"}:
            headers = Headers(scope=scope)
            # The scheme is left out: behind a proxy that speaks TLS ours is plain.
            if headers.get("origin", "").partition("://")[2].lower() != headers["host"].lower():
                await PlainTextResponse("Only pages of this host may do this.", 403)(scope, receive, send)
                return
        await self._app(scope, receive, send)


class _BodyLimit:
    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        length = Headers(scope=scope).get("content-length", "0") if scope["type"] == "http" else "0"
        if not length.isdecimal() or int(length) > BODY_BYTES:
            await PlainTextResponse("The body is too large.", 413)(scope, receive, send)
            return
        taken = 0

        async def receive_counted() -> Message:
            nonlocal taken
            message = await receive()
            taken += len(message.get("body", b""))
            if taken > BODY_BYTES:
                raise HTTPException(413)
            return message

        await self._app(scope, receive_counted, send)
