"""The command that opens the explorer."""

from __future__ import annotations

import contextlib
import socket
import sys
from pathlib import Path
from typing import Annotated

import typer

from sparsetoken.cli import options as o
from sparsetoken.cli.progress import counting
from sparsetoken.cli.show import guarded, message, put_json

SWITCH = 1e-4  # seconds between threads
_LOOPBACK = {"127.0.0.1": socket.AF_INET, "localhost": socket.AF_INET, "::1": socket.AF_INET6}


@guarded
def explore(
    host: Annotated[str, typer.Option("--host", help="127.0.0.1, localhost or ::1.")] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", help="0 takes one that is free.")] = 8765,
    browser: Annotated[
        bool, typer.Option("--open/--no-open", help="Open the page in the browser.")
    ] = False,
    export: Annotated[
        Path | None,
        typer.Option("--export", help="Write a page that needs no server into this folder."),
    ] = None,
    as_json: o.AsJson = False,
) -> None:
    """Open a page on this machine on which the theory can be moved.

    Example: [cyan]sparsetoken explore --open[/]
    """
    if export is not None:
        _export(export, as_json)
        return
    listening = _bound(host, port)
    name = f"[{host}]" if ":" in host else host
    address = f"http://{name}:{listening.getsockname()[1]}/"
    _serve(listening, address, browser, as_json)


def _export(folder: Path, as_json: bool) -> None:
    from sparsetoken.explorer.export import export
    from sparsetoken.validation import InvalidInput

    if folder.exists() and not folder.is_dir():
        raise InvalidInput("--export", "a folder", str(folder))
    with counting("grid") as progress:
        path = export(folder, on_point=progress)
    if as_json:
        put_json({"path": str(path), "status": "converged"})
    else:
        message(f"Wrote {path}")


def _bound(host: str, port: int) -> socket.socket:
    """Return a socket that is bound to this machine alone."""
    from sparsetoken.validation import InvalidInput, choice, integer

    remedy = "The explorer answers to this machine alone; use a tunnel to reach it from another."
    family = _LOOPBACK[choice("--host", host, _LOOPBACK, remedy)]
    integer("--port", port, 0, 65535)
    listening = socket.socket(family)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
        listening.listen(64)  # a browser that is early waits
    except OSError as error:
        listening.close()
        remedy = f"{error.strerror}. Take another, or 0 for one that is free."
        raise InvalidInput("--port", "one that can be bound", port, remedy) from None
    return listening


def _serve(listening: socket.socket, address: str, browser: bool, as_json: bool) -> None:
    from sparsetoken.extras import needed

    uvicorn = needed("uvicorn", "to serve the page", "explore")
    needed("starlette", "to serve the page", "explore")
    from sparsetoken.explorer.server import create_app

    # A thread that solves exactly shall not hold up one that answers a slider.
    sys.setswitchinterval(SWITCH)
    app = create_app(listening.getsockname()[1])
    config = uvicorn.Config(
        app, log_level="warning", access_log=False, limit_concurrency=64, server_header=False
    )
    server = uvicorn.Server(config)
    server.capture_signals = contextlib.nullcontext  # a signal ends it as any other command
    if as_json:
        put_json({"url": address, "status": "listening"})
    else:
        message(f"The explorer is at {address} (Ctrl-C ends it).")
    if browser:
        import webbrowser

        webbrowser.open(address)
    server.run(sockets=[listening])
