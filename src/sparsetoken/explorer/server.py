"""The server of the page, and of the theory as JSON, reachable from this computer only."""

from __future__ import annotations

import asyncio
import contextlib
import json
import threading
import time
import traceback
from collections.abc import AsyncIterator, Iterator
from typing import TYPE_CHECKING, Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, JSONResponse, Response, StreamingResponse
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from sparsetoken.base.tables import json_text
from sparsetoken.base.validation import InvalidInput, choice
from sparsetoken.explorer.page import STATIC, page, policy
from sparsetoken.explorer.settings import Settings
from sparsetoken.explorer.words import refusal

if TYPE_CHECKING:
    from sparsetoken.explorer.coarse import CoarseCurves

HOSTS = ("127.0.0.1", "localhost", "[::1]")
"""The names by which a browser on this machine may call the server."""
LONGEST = 4096  # bytes of a request
OPTIONS = {"phase": ("axis",), "simulation": ("dimension", "trials", "seed")}
"""What a request for a view may say besides the settings."""
ALONE = ("descent", "simulation")
"""Views that take turns with themselves alone; all others take turns with one another."""


class _Guard:
    """Refuses what does not come from the page itself.

    A page of another site can point its own name at this machine, so the Host header must be
    one of ours; and it can send simple requests, so those that compute must be JSON, which
    browsers do not send across sites unasked.
    """

    def __init__(self, app: ASGIApp, port: int) -> None:
        self._app = app
        # A browser leaves out the port of http.
        self._hosts = {f"{host}:{port}" for host in HOSTS} | {*HOSTS * (port == 80)}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message["headers"], *_HEADERS]
            await send(message)

        if scope["type"] != "http":
            await self._app(scope, receive, send)
        elif refusal := self._refusal(Request(scope).headers):
            await refusal(scope, receive, send)
        else:
            await self._app(scope, receive, with_headers)

    def _refusal(self, headers: Headers) -> Response | None:
        host = headers.get("host", "")
        if host not in self._hosts:
            return _error(421, "Only localhost can reach this server.")
        if headers.get("origin", f"http://{host}") != f"http://{host}":
            return _error(403, "Requests from other pages are refused.")
        return None


_HEADERS = [
    (b"content-security-policy", policy().encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cache-control", b"no-store"),
]


def _error(status: int, text: str) -> JSONResponse:
    return JSONResponse({"error": text}, status_code=status)


class _Theory:
    """The theory, loaded once, and one computation of each kind at a time: streams take turns.

    Streams that wait hold no thread: there are 40, which the files of the page need too.
    """

    def __init__(self) -> None:
        self._loading, self._coarse = threading.Lock(), threading.Lock()
        self._turns = {kind: asyncio.Lock() for kind in ("theory", *ALONE)}
        self._curves: CoarseCurves | None = None

    def load(self) -> CoarseCurves:
        """Return what makes coarse curves; the theory is imported then."""
        with self._loading:
            if self._curves is None:
                from sparsetoken.explorer.coarse import CoarseCurves

                self._curves = CoarseCurves()
            return self._curves

    def coarse(self, settings: Settings) -> Response:
        """Return coarse learning curves, the query, and the processor time in ms."""
        curves = self.load()
        from sparsetoken.explorer.views import query

        with self._coarse:  # beside exact results, which may be out of date already
            began = time.thread_time()
            views = {"curves": curves.curves(settings), "query": next(query(settings))}
            duration = 1e3 * (time.thread_time() - began)
        timing = {"Server-Timing": f"theory;dur={duration:.2f}"}
        return Response(json_text(views), media_type="application/json", headers=timing)

    def stream(self, name: str, settings: Settings, options: dict[str, Any]) -> Response:
        """Return the events of a view as lines of JSON."""
        self.load()
        from sparsetoken.explorer.views import VIEWS

        events = VIEWS[choice("view", name, VIEWS)](settings, **options)
        turns = self._turns[name if name in ALONE else "theory"]
        return StreamingResponse(_lines(events, turns), media_type="application/x-ndjson")


async def _lines(events: Iterator[dict[str, Any]], turns: asyncio.Lock) -> AsyncIterator[bytes]:
    """Yield events as lines of JSON; an error ends them as an event of its own."""
    last = False
    while not last:
        async with turns:
            event = await run_in_threadpool(_next, events)
        last = event["kind"] in ("end", "error")
        yield json_text(event).encode() + b"\n"
    if event["kind"] == "error":
        yield b'{"kind": "end"}\n'


def _next(events: Iterator[dict[str, Any]]) -> dict[str, Any]:
    try:
        return next(events, {"kind": "end"})
    except InvalidInput as error:
        return {"kind": "error", "message": refusal(error)}
    except Exception as error:
        with contextlib.suppress(OSError, ValueError):  # a full or closed standard error
            traceback.print_exc()
        what = f"This result failed: {error!r}. The output of the server says where."
        return {"kind": "error", "message": what}


async def _given(request: Request, *options: str) -> tuple[Settings, dict[str, Any]]:
    """Return the settings and options in the JSON object that a request carries."""
    content = request.headers.get("content-type", "")
    if content.partition(";")[0].strip().lower() != "application/json":
        raise InvalidInput("Content-Type", "application/json", content)
    text = b""
    async for part in request.stream():
        text += part
        if len(text) > LONGEST:
            raise InvalidInput("body", f"at most {LONGEST} bytes", text)
    try:
        body = json.loads(text)
    except (ValueError, RecursionError):
        raise InvalidInput("body", "a JSON object", text) from None
    if not isinstance(body, dict):
        raise InvalidInput("body", "a JSON object", body)
    for name in body:
        choice("key of the body", name, ("settings", *options))
    values = body.pop("settings", {})
    if not isinstance(values, dict):
        raise InvalidInput("settings", "a JSON object", values)
    return Settings(values), body


def create_app(port: int) -> ASGIApp:
    """Return the application, for requests whose Host header names this port.

    ``POST /api/coarse`` takes ``{"settings": {...}}`` and gives coarse learning curves;
    ``POST /api/view/NAME`` gives the events of a view, a line of JSON each.
    """
    theory = _Theory()

    async def index(_: Request) -> Response:
        return HTMLResponse(page())

    async def coarse(request: Request) -> Response:
        settings, _ = await _given(request)
        return await run_in_threadpool(theory.coarse, settings)

    async def view(request: Request) -> Response:
        name = request.path_params["name"]
        given = await _given(request, *OPTIONS.get(name, ()))
        return await run_in_threadpool(theory.stream, name, *given)

    @contextlib.asynccontextmanager
    async def warm(_: Starlette) -> AsyncIterator[None]:
        # What the first curves need is compiled before they are asked for.
        threading.Thread(target=theory.coarse, args=(Settings({}),), daemon=True).start()
        yield

    routes = [
        Route("/", index),
        Route("/api/coarse", coarse, methods=["POST"]),
        Route("/api/view/{name}", view, methods=["POST"]),
        Mount("/static", StaticFiles(directory=STATIC)),
    ]
    handlers: dict[Any, Any] = {InvalidInput: _invalid, ClientDisconnect: _gone}
    app = Starlette(routes=routes, exception_handlers=handlers, lifespan=warm)
    return _Guard(app, port)


async def _invalid(_: Request, error: Exception) -> Response:
    return _error(400, str(error))


async def _gone(_: Request, __: Exception) -> Response:
    return Response(status_code=499)
