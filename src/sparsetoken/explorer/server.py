"""The server: the page, and the theory as JSON, on this machine alone."""

from __future__ import annotations

import contextlib
import json
import threading
import time
from collections.abc import AsyncIterator, Iterator
from typing import TYPE_CHECKING, Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, JSONResponse, Response, StreamingResponse
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from sparsetoken.explorer.page import STATIC, page, policy
from sparsetoken.explorer.settings import Settings
from sparsetoken.validation import InvalidInput, choice

if TYPE_CHECKING:
    from sparsetoken.explorer.coarse import CoarseCurves

HOSTS = ("127.0.0.1", "localhost", "[::1]")
"""The names by which a browser on this machine may call the server."""
LONGEST = 4096  # bytes of a request


class _Guard:
    """Refuses what does not come from the page itself.

    A page of another site can point its own name at this machine, so the Host header must be
    one of ours; and it can send simple requests, so those that compute must be JSON, which
    browsers do not send across sites unasked.
    """

    def __init__(self, app: ASGIApp, port: int | None) -> None:
        self._app = app
        self._hosts = {host if port is None else f"{host}:{port}" for host in HOSTS}
        self._any_port = port is None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        refusal = self._refusal(Request(scope))
        if refusal is not None:
            await refusal(scope, receive, send)
            return

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message["headers"], *_HEADERS]
            await send(message)

        await self._app(scope, receive, with_headers)

    def _refusal(self, request: Request) -> Response | None:
        host = request.headers.get("host", "")
        if self._name(host) not in self._hosts:
            return _error(421, "This server answers to localhost alone.")
        origin = request.headers.get("origin")
        if origin is not None and origin != f"http://{host}":
            return _error(403, "Requests from other pages are refused.")
        return None

    def _name(self, host: str) -> str:
        if not self._any_port:
            return host
        name, colon, port = host.rpartition(":")
        return name if colon and port.isdigit() else host


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
    """The theory, loaded once, and one computation of each kind at a time: streams take turns."""

    def __init__(self) -> None:
        self._loading = threading.Lock()
        self._locks = {name: threading.Lock() for name in ("coarse", "theory", "simulation")}
        self._curves: CoarseCurves | None = None

    def load(self) -> CoarseCurves:
        """Return what makes coarse curves; all of the theory is imported then."""
        with self._loading:
            if self._curves is None:
                from sparsetoken.explorer import views  # noqa: F401
                from sparsetoken.explorer.coarse import CoarseCurves

                self._curves = CoarseCurves()
            return self._curves

    def warm(self) -> None:
        """Compile what the first curves need, before they are asked for."""
        self.coarse(Settings({}))

    def coarse(self, settings: Settings) -> dict[str, Any]:
        """Return coarse learning curves, and the processor time that they took in ms."""
        curves = self.load()
        with self._locks["coarse"]:  # beside exact results, which may be out of date already
            began = time.thread_time()
            found = curves.curves(settings)
            return {"curves": found, "cpu": 1e3 * (time.thread_time() - began)}

    def view(self, name: str, settings: Settings, options: dict[str, Any]) -> Iterator[bytes]:
        """Return the events of a view as lines of JSON."""
        self.load()
        from sparsetoken.explorer.views import VIEWS

        return self._lines(VIEWS[choice("view", name, VIEWS)](settings, **options), "theory")

    def simulation(self, settings: Settings, options: dict[str, Any]) -> Iterator[bytes]:
        """Return the trials of a simulation as lines of JSON."""
        self.load()
        from sparsetoken.explorer.views import simulation

        return self._lines(simulation(settings, **options), "simulation")

    def _lines(self, events: Iterator[dict[str, Any]], kind: str) -> Iterator[bytes]:
        """Return the events as lines of JSON; an error ends them as an event of its own."""
        from sparsetoken.explorer.views import numbers

        while True:
            with self._locks[kind]:
                try:
                    event = next(events, None)
                except InvalidInput as error:
                    event = {"kind": "error", "message": str(error)}
            last = event is None or event["kind"] == "error"
            if event is not None:
                yield json.dumps(numbers(event), allow_nan=False).encode() + b"\n"
            if last:
                yield b'{"kind": "end"}\n'
                return


async def _body(request: Request) -> dict[str, Any]:
    """Return the JSON object that a request carries, or raise `InvalidInput`."""
    if request.headers.get("content-type", "").partition(";")[0] != "application/json":
        raise InvalidInput("Content-Type", "application/json", "another type")
    text = b""
    async for part in request.stream():
        text += part
        if len(text) > LONGEST:
            raise InvalidInput("body", f"at most {LONGEST} bytes", "more")
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        raise InvalidInput("body", "a JSON object", "something else") from None
    if not isinstance(value, dict):
        raise InvalidInput("body", "a JSON object", value)
    return value


def _options(body: dict[str, Any], *names: str) -> dict[str, Any]:
    """Return the options of a request besides its settings."""
    for name in body:
        choice("key of the body", name, ("settings", *names))
    return {name: body[name] for name in names if name in body}


def _settings(body: dict[str, Any]) -> Settings:
    values = body.get("settings", {})
    if not isinstance(values, dict):
        raise InvalidInput("settings", "a JSON object", values)
    return Settings(values)


def create_app(port: int | None = None) -> ASGIApp:
    """Return the application.

    Parameters
    ----------
    port : int, optional
        The port that the Host header must name; any by default.

    Returns
    -------
    ASGI application
        ``POST /api/coarse`` takes ``{"settings": {...}}`` and gives coarse learning curves;
        ``POST /api/view/NAME`` and ``POST /api/simulate`` give events, a line of JSON each.
    """
    theory = _Theory()

    async def index(_: Request) -> Response:
        return HTMLResponse(page())

    async def coarse(request: Request) -> Response:
        body = await _body(request)
        _options(body)
        found = await run_in_threadpool(theory.coarse, _settings(body))
        timing = {"Server-Timing": f"theory;dur={found.pop('cpu'):.2f}"}
        return JSONResponse(found, headers=timing)

    async def view(request: Request) -> Response:
        body = await _body(request)
        name, options = request.path_params["name"], _options(body, "axis")
        if options and name != "phase":
            raise InvalidInput("axis", "given for the phase diagram alone", options["axis"])
        return _stream(await run_in_threadpool(theory.view, name, _settings(body), options))

    async def simulate(request: Request) -> Response:
        body = await _body(request)
        options = {"dimension": 200, "trials": 8, "seed": 0}
        options |= _options(body, *options)
        return _stream(await run_in_threadpool(theory.simulation, _settings(body), options))

    @contextlib.asynccontextmanager
    async def warm(_: Starlette) -> AsyncIterator[None]:
        threading.Thread(target=theory.warm, daemon=True).start()
        yield

    routes = [
        Route("/", index),
        Route("/api/coarse", coarse, methods=["POST"]),
        Route("/api/view/{name}", view, methods=["POST"]),
        Route("/api/simulate", simulate, methods=["POST"]),
        Mount("/static", StaticFiles(directory=STATIC)),
    ]
    app = Starlette(
        routes=routes,
        exception_handlers={InvalidInput: _invalid, ClientDisconnect: _gone},
        lifespan=warm,
    )
    return _Guard(app, port)


async def _invalid(_: Request, error: Exception) -> Response:
    return _error(400, str(error))


async def _gone(_: Request, __: Exception) -> Response:
    return Response(status_code=499)


def _stream(lines: Iterator[bytes]) -> Response:
    return StreamingResponse(lines, media_type="application/x-ndjson")
