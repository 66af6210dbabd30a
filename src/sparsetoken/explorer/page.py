"""The page: one template, served with its files or written with all of them inside."""

from __future__ import annotations

import base64
import functools
import hashlib
import json
from pathlib import Path
from typing import Any

from sparsetoken.explorer.look import LOOK
from sparsetoken.explorer.presets import PRESETS
from sparsetoken.explorer.settings import controls
from sparsetoken.version import __version__

STATIC = Path(__file__).with_name("static")
_MODULES = ("main", "state", "controls", "source", "chart", "picture", "views", "bag", "share")
_UPLOT = "vendor/uplot/uPlot.esm.js"
_SERVED = {
    "explorer/": "/static/",
    "uplot": f"/static/{_UPLOT}",
}


def page(grid: dict[str, Any] | None = None) -> str:
    """Return the page as HTML.

    Parameters
    ----------
    grid : dict, optional
        Results computed beforehand. The page then holds all its files and needs no server.

    Returns
    -------
    str
    """
    boot = {
        "parameters": controls(),
        "presets": PRESETS,
        "look": LOOK,
        "version": __version__,
        "grid": grid,
    }
    parts = {
        "STYLE": _styles(inside=grid is not None),
        "IMPORTS": _imports(inside=grid is not None),
        "BOOT": json.dumps(boot, allow_nan=False).replace("<", "\\u003c"),
    }
    text = (STATIC / "index.html").read_text(encoding="utf-8")
    for name, part in parts.items():
        text = text.replace(f"<!--{name}-->", part)
    return text


def _styles(*, inside: bool) -> str:
    files = ("vendor/uplot/uPlot.min.css", "style.css")
    if not inside:
        return "".join(f'<link rel="stylesheet" href="/static/{name}">' for name in files)
    return "".join(
        f"<style>{(STATIC / name).read_text(encoding='utf-8')}</style>" for name in files
    )


def _imports(*, inside: bool) -> str:
    """Return the map from the names that modules import to where they are."""
    places = {f"explorer/{name}.js": _data(f"{name}.js") for name in _MODULES} if inside else {}
    places |= {"uplot": _data(_UPLOT)} if inside else _SERVED
    return json.dumps({"imports": places})


def _data(name: str) -> str:
    text = base64.b64encode((STATIC / name).read_bytes()).decode()
    return f"data:text/javascript;base64,{text}"


@functools.cache
def policy() -> str:
    """Return the content security policy of the served page: its own files and nothing else."""
    digests = " ".join(f"'sha256-{_digest(text)}'" for text in (_imports(inside=False), _START))
    return (
        f"default-src 'none'; script-src 'self' {digests}; style-src 'self'; connect-src 'self'; "
        "img-src 'self' data: blob:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )


_START = 'import "explorer/main.js";'


def _digest(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
