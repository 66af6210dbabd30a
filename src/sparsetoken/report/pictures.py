"""Figures as text and files: inline SVG for the page, PNG beside it."""

from __future__ import annotations

import importlib
import io
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from matplotlib.figure import Figure

from sparsetoken.experiments.experiment import Experiment
from sparsetoken.figures import style

__all__ = ["Draw", "pictures_of", "png", "svg"]

Draw = Callable[[Sequence[Any]], Figure]
"""A pure function of rows."""


def pictures_of(experiment: Experiment) -> Mapping[str, Draw]:
    """Return the figures of an experiment by name, in the order of the page."""
    return importlib.import_module(f"sparsetoken.experiments.{experiment.folder}.figure").PICTURES


def png(name: str, draw: Draw, rows: Sequence[Any]) -> bytes:
    """Return a figure as a PNG of 150 dots per inch."""
    return _saved(name, draw, rows, "png")


def svg(name: str, draw: Draw, rows: Sequence[Any]) -> str:
    """Return a figure as an SVG element, at most as wide as it was drawn.

    No figure of another name shares its ids.
    """
    text = _saved(name, draw, rows, "svg").decode()
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    text = re.sub(r'(\bid="|href="#|url\(#)', rf"\g<1>{name}-", text)
    width = re.search(r'^<svg[^>]*? width="([\d.]+)pt"', text)
    size = re.compile(r'^(<svg[^>]*?) width="[^"]*"|^(<svg[^>]*?) height="[^"]*"')
    while size.search(text):
        text = size.sub(lambda match: match.group(1) or match.group(2), text)
    widest = f' style="max-width: {float(width.group(1)) / 72 * 6.5:.1f}rem"' if width else ""
    return text.replace("<svg", f'<svg role="img" aria-label="{name}"{widest}', 1)


def _saved(name: str, draw: Draw, rows: Sequence[Any], form: str) -> bytes:
    buffer = io.BytesIO()
    with style.styled(name):
        metadata = {"Date": None} if form == "svg" else None
        draw(rows).savefig(buffer, format=form, dpi=150, metadata=metadata)
    return buffer.getvalue()
