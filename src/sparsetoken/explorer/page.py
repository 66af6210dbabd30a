"""The page: one template, served with its files or written with all of them inside."""

from __future__ import annotations

import base64
import functools
import hashlib
import json
from pathlib import Path
from typing import Any

from sparsetoken.base.tables import json_text
from sparsetoken.explorer.settings import PRESETS, controls
from sparsetoken.figures.palette import COLOURS, NAMES
from sparsetoken.version import __version__

STATIC = Path(__file__).with_name("static")
_MODULES = tuple(sorted(path.stem for path in STATIC.glob("*.js")))
_STYLES = ("vendor/uplot/uPlot.min.css", "style.css")
_UPLOT = "vendor/uplot/uPlot.esm.js"
_SERVED = {"explorer/": "/static/", "uplot": f"/static/{_UPLOT}"}
_CURVES = ("attention", "pooled", "vectorized", "elementwise", "hard_attention", "bayes")
LOOK = {model: (NAMES.get(model, model), COLOURS[model]) for model in _CURVES}
"""Words and colour of each curve; dark pages draw the grey lighter."""


def page(grid: dict[str, Any] | None = None) -> str:
    """Return the page as HTML.

    With results computed beforehand, a grid, it holds all its files and needs no server.
    """
    boot = {
        "parameters": controls(),
        "presets": PRESETS,
        "look": LOOK,
        "version": __version__,
        "grid": grid,
    }
    served = grid is None
    parts = {
        "STYLE": "".join(_style(name, served) for name in _STYLES),
        "IMPORTS": _imports(served),
        "BOOT": json_text(boot).replace("<", "\\u003c"),
    }
    text = (STATIC / "index.html").read_text(encoding="utf-8")
    for name, part in parts.items():
        text = text.replace(f"<!--{name}-->", part)
    return text


def _style(name: str, served: bool) -> str:
    if served:
        return f'<link rel="stylesheet" href="/static/{name}">'
    return f"<style>{(STATIC / name).read_text(encoding='utf-8')}</style>"


def _imports(served: bool) -> str:
    """Return the map from the names that modules import to where they are."""
    files = {f"explorer/{name}.js": f"{name}.js" for name in _MODULES} | {"uplot": _UPLOT}
    inside = {name: _data(file) for name, file in files.items()}
    return json.dumps({"imports": _SERVED if served else inside})


def _data(name: str) -> str:
    text = base64.b64encode((STATIC / name).read_bytes()).decode()
    return f"data:text/javascript;base64,{text}"


@functools.cache
def policy() -> str:
    """Return the content security policy of the served page: its own files and nothing else."""
    digests = " ".join(f"'sha256-{_digest(text)}'" for text in (_imports(served=True), _START))
    return (
        f"default-src 'none'; script-src 'self' {digests}; style-src 'self'; connect-src 'self'; "
        "img-src 'self' data: blob:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )


_START = 'import "explorer/main.js";'


def _digest(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
