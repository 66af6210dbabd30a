"""Figures drawn once: inline SVG for the page, PNG and numbers beside it."""

from __future__ import annotations

import dataclasses
import importlib
import io
import re
from collections.abc import Callable, Mapping
from typing import Any

from markupsafe import escape
from matplotlib.figure import Figure

from sparsetoken.experiments.experiment import Experiment
from sparsetoken.figures import style
from sparsetoken.report.figure_data import Mark, marks_of

Draw = Callable[[Any], Figure]
"""A pure function of rows."""


def pictures_of(experiment: Experiment) -> Mapping[str, Draw]:
    """Return the figures of an experiment by name, in the order of the page."""
    return importlib.import_module(f"sparsetoken.experiments.{experiment.folder}.figure").PICTURES


@dataclasses.dataclass(frozen=True)
class Picture:
    """A figure, drawn.

    Attributes
    ----------
    svg : str
        An element at most as wide as it was drawn; no figure of another name shares its ids.
    png : bytes
        150 dots per inch.
    marks : list of (Mark, place)
        As `marks_of` returns them.
    """

    svg: str
    png: bytes
    marks: list[tuple[Mark, tuple[float, float]]]


def picture(name: str, draw: Draw, rows: Any, title: str = "") -> Picture:
    """Draw a figure, whose title says for those who do not see it what it shows."""
    with style.styled(name):
        figure = draw(rows)
        text = _saved(figure, "svg").decode()
        return Picture(_element(name, text, title or name), _saved(figure, "png"), marks_of(figure))


def _element(name: str, text: str, title: str) -> str:
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    text = re.sub(r'(\bid="|href="#|url\(#)', rf"\g<1>{name}-", text)
    width = re.search(r'^<svg[^>]*? width="([\d.]+)pt"', text)
    size = re.compile(r'^(<svg[^>]*?) width="[^"]*"|^(<svg[^>]*?) height="[^"]*"')
    while size.search(text):
        text = size.sub(lambda match: match.group(1) or match.group(2), text)
    widest = f' style="max-width: {float(width.group(1)) / 72 * 6.5:.1f}rem"' if width else ""
    label = f'<svg role="img" aria-label="{escape(title)}"{widest} data-figure="{name}"'
    return text.replace("<svg", label, 1)


def _saved(figure: Figure, form: str) -> bytes:
    buffer = io.BytesIO()
    metadata: dict[str, Any] | None = {"Date": None} if form == "svg" else None
    figure.savefig(buffer, format=form, dpi=150, metadata=metadata)
    return buffer.getvalue()
