"""The command that opens the explorer."""

from __future__ import annotations

import contextlib
import socket
import sys
from collections.abc import Callable
from typing import Annotated

from cyclopts import Parameter as Option

from sparsetoken.base.files import path_of
from sparsetoken.base.validation import InvalidInput, choice, integer
from sparsetoken.cli.options import Common, number
from sparsetoken.cli.output import Answer, not_written

SWITCH = 1e-4  # seconds between threads
_LOOPBACK = {"127.0.0.1": socket.AF_INET, "localhost": socket.AF_INET, "::1": socket.AF_INET6}


def explore(
    *,
    host: Annotated[str, Option(help="127.0.0.1, localhost or ::1.")] = "127.0.0.1",
    port: Annotated[int, number("0 picks a free port.")] = 8765,
    browser: Annotated[
        bool, Option("--open", negative="--no-open", help="Open the page in the browser.")
    ] = False,
    export: Annotated[
        str | None, Option(help="Write a page that needs no server to this folder.")
    ] = None,
    common: Common = Common(),
) -> Answer:
    """Open an interactive page of the theory on this computer.

    Example: sparsetoken explore --open
    """
    if export is not None:
        return _exported(export)
    listening = _bound(host, port)
    name = f"[{host}]" if ":" in host else host
    address = f"http://{name}:{listening.getsockname()[1]}/"
    serve = _server(listening)

    def then() -> None:
        if browser:
            import webbrowser

            webbrowser.open(address)
        serve()

    lines = [f"The explorer is at {address} (Ctrl-C stops it)."]
    return Answer("", {"url": address, "status": "listening"}, lines, then=then)


def _exported(folder: str) -> Answer:
    from sparsetoken.explorer.export import export

    place = path_of("--export", folder)
    if place.exists() and not place.is_dir():
        raise InvalidInput("--export", "a folder", folder)
    try:
        path = str(export(place))
    except OSError as error:
        told = not_written("export", place, error, what="folder")
        return Answer("", {"path": None}, ["Wrote nothing"], shortfall=told, code=1)
    return Answer("", {"path": path, "status": "converged"}, [f"Wrote {path}"])


def _bound(host: str, port: int) -> socket.socket:
    """Return a socket that only this computer can reach."""
    remedy = "Only this computer can reach the explorer; use a tunnel from another."
    family = _LOOPBACK[choice("host", host, _LOOPBACK, remedy)]
    integer("port", port, 0, 65535)
    listening = socket.socket(family)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
        listening.listen(64)  # a browser that is early waits
    except OSError as error:
        listening.close()
        remedy = f"{error.strerror}. Choose another, or 0 for a free port."
        raise InvalidInput("port", "one that can be bound", port, remedy) from None
    return listening


def _server(listening: socket.socket) -> Callable[[], None]:
    """Return the server of the page."""
    from sparsetoken.base.machine import needed

    uvicorn = needed("uvicorn", "to serve the page", "explore")
    needed("starlette", "to serve the page", "explore")
    from sparsetoken.explorer.server import create_app

    # A thread that solves exactly shall not hold up one that answers a slider.
    sys.setswitchinterval(SWITCH)
    app = create_app(listening.getsockname()[1])
    # Without its own log, which needs a standard output, uvicorn's goes to standard error.
    config = uvicorn.Config(
        app,
        http="h11",
        log_level="warning",
        log_config=None,
        access_log=False,
        server_header=False,
    )
    server = uvicorn.Server(config)
    server.capture_signals = contextlib.nullcontext  # a signal ends it as any other command
    return lambda: server.run(sockets=[listening])
