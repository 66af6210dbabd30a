"""Figures as text and files: inline SVG for the page, PNG beside it."""

from __future__ import annotations

import importlib
import io
import re
from collections.abc import Sequence

from sparsetoken.experiments.points import Point
from sparsetoken.figures import style
from sparsetoken.figures.picture import Picture

__all__ = ["pictures_of", "png", "svg"]


def pictures_of(experiment: str) -> tuple[Picture, ...]:
    """Return the figures of an experiment: those of the module of the same name."""
    module = importlib.import_module(f"sparsetoken.figures.{experiment.replace('-', '_')}")
    return tuple(module.PICTURES)


def png(picture: Picture, points: Sequence[Point]) -> bytes:
    """Return the figure as a PNG of 150 dots per inch."""
    return _saved(picture, points, "png")


def svg(picture: Picture, points: Sequence[Point]) -> str:
    """Return the figure as an SVG element, at most as wide as it was drawn.

    No other figure shares its ids.
    """
    text = _saved(picture, points, "svg").decode()
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    text = re.sub(r'(\bid="|href="#|url\(#)', rf"\g<1>{picture.name}-", text)
    width = re.search(r'^<svg[^>]*? width="([\d.]+)pt"', text)
    size = re.compile(r'^(<svg[^>]*?) width="[^"]*"|^(<svg[^>]*?) height="[^"]*"')
    while size.search(text):
        text = size.sub(lambda match: match.group(1) or match.group(2), text)
    widest = f' style="max-width: {float(width.group(1)) / 72 * 6.5:.1f}rem"' if width else ""
    return text.replace("<svg", f'<svg role="img" aria-label="{picture.name}"{widest}', 1)


def _saved(picture: Picture, points: Sequence[Point], form: str) -> bytes:
    buffer = io.BytesIO()
    with style.styled(picture.name):
        metadata = {"Date": None} if form == "svg" else None
        picture.draw(points).savefig(buffer, format=form, dpi=150, metadata=metadata)
    return buffer.getvalue()
