"""Pages that open without a network: a template, its style, and figures within it."""

from __future__ import annotations

import base64
import io
import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import jinja2
import matplotlib
from matplotlib.figure import Figure

from sparsetoken.figures.style import styled

DPI = 130
"""Of maps, which are pixels in a figure of lines."""
_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


class Drawing(NamedTuple):
    """A figure as SVG, with its size in points."""

    svg: bytes
    width: float
    height: float

    @property
    def address(self) -> str:
        """The figure as the address of an image of the page."""
        return "data:image/svg+xml;base64," + base64.b64encode(self.svg).decode()


def drawing_of(figure: Figure) -> Drawing:
    """Return a figure for a page, with texts as outlines: they look the same without the font."""
    buffer = io.BytesIO()
    with styled(), matplotlib.rc_context({"svg.fonttype": "path"}):
        figure.savefig(buffer, format="svg", dpi=DPI, metadata={"Date": None})
    width, height = (float(inches) * 72 for inches in figure.get_size_inches())
    return Drawing(buffer.getvalue(), width, height)


def rendered(template: str, filters: Mapping[str, Callable[..., Any]], **seen: Any) -> str:
    """Return a page that a template of the package makes of what it is given; HTML is escaped.

    Its name is its path in the package. `figures/page.html` is what pages have in common.
    """
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("sparsetoken", ""),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    environment.filters |= {"number": number, **filters}
    return environment.get_template(template).render(**seen)


def number(value: float, digits: int = 4) -> str:
    """Return a number with `digits` decimals, or as a power of ten if it is small or large."""
    if math.isnan(value):
        return "–"
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    if digits > 1 and value != 0 and not 1e-3 <= abs(value) < 1e5:
        mantissa, power = f"{value:.1e}".split("e")
        return f"{mantissa}·10{str(int(power)).translate(_RAISED)}".replace("-", "−")
    text = f"{value:.{digits}f}"
    return text.lstrip("-") if float(text) == 0 else text.replace("-", "−")
