"""Figures drawn once: an SVG for the page, PNG and numbers beside it."""

from __future__ import annotations

import dataclasses
import io
import re
from collections.abc import Callable
from typing import Any
from urllib.parse import quote
from xml.etree import ElementTree

from matplotlib.figure import Figure

from sparsetoken.experiments.report.data import Mark, marks_of
from sparsetoken.figures import style

Draw = Callable[[Any], Figure]
"""A pure function of rows."""

_SVG, _LINK = "{http://www.w3.org/2000/svg}", "{http://www.w3.org/1999/xlink}href"
_REFERENCE = re.compile(r'url\(#([^)]+)\)|href="#([^"]+)"')
_LONG = re.compile(r"-?\d+\.\d{2,}")
_PLAIN = " {}<>='/:;,()[]-.!?*+@|"
"""What may stand in the address of an image as it is."""


@dataclasses.dataclass(frozen=True)
class Picture:
    """A figure as an SVG of so many points, and as a PNG of 150 dots per inch, with its points.

    The title says what it shows to those who do not see it.
    """

    svg: str
    width: float
    height: float
    title: str
    png: bytes
    marks: list[tuple[Mark, tuple[float, float]]]

    @property
    def address(self) -> str:
        """The SVG as the address of an image of the page."""
        return "data:image/svg+xml," + quote(self.svg.replace('"', "'"), safe=_PLAIN)


def picture(name: str, draw: Draw, rows: Any, title: str = "") -> Picture:
    """Draw a figure, with a title as its text alternative."""
    with style.styled(name):
        figure = draw(rows)
        text = compact(_saved(figure, "svg").decode())
        width, height = (float(inches) * 72 for inches in figure.get_size_inches())
        png = _saved(figure, "png")
        return Picture(text, width, height, title or name, png, marks_of(figure))


def compact(text: str) -> str:
    """Return an SVG of matplotlib without elements that draw nothing, at most a fourth as long.

    Numbers have one decimal, a tenth of a point; names are short, and those that nothing refers
    to go, with the groups that had nothing else; styles are classes.
    """
    root = ElementTree.fromstring(text.replace(' transform="rotate(-0 ', ' title="'))
    for metadata in root.findall(f"{_SVG}metadata"):
        root.remove(metadata)
    names: dict[str, str] = {}
    for pair in _REFERENCE.findall(text):
        names.setdefault(pair[0] or pair[1], f"i{len(names)}")
    for element in root.iter():
        element.text = (element.text or "").strip() or None
        element.tail = None
        element.attrib.pop("title", None)
        name = element.attrib.pop("id", None)
        if name in names:
            element.set("id", names[name])
        link = element.attrib.pop(_LINK, "")
        if link:  # to a mark, or the pixels of a map
            element.set("href", f"#{names[link[1:]]}" if link[0] == "#" else link)
        if "clip-path" in element.attrib:
            element.set("clip-path", f"url(#{names[element.attrib['clip-path'][5:-1]]})")
        for attribute in ("d", "x", "y", "transform", "style"):
            if attribute in element.attrib:
                value = _LONG.sub(_rounded, element.attrib[attribute])
                element.set(attribute, " ".join(value.split()))
    _open_groups(root)
    _share_styles(root)
    ElementTree.register_namespace("", _SVG[1:-1])
    return ElementTree.tostring(root, encoding="unicode").replace(" />", "/>")


def _rounded(match: re.Match[str]) -> str:
    return f"{float(match[0]):.1f}".removesuffix(".0")


def _open_groups(parent: ElementTree.Element) -> None:
    """Put the children of groups without an attribute in the place of the group."""
    children = []
    for child in list(parent):
        _open_groups(child)
        plain = child.tag == f"{_SVG}g" and not child.attrib
        children += list(child) if plain else [child]
    parent[:] = children


def _share_styles(root: ElementTree.Element) -> None:
    """Make a class of each style."""
    classes: dict[str, str] = {}
    for element in root.iter():
        if "style" in element.attrib:
            given = element.attrib.pop("style")
            element.set("class", classes.setdefault(given, f"c{len(classes)}"))
    # Where DejaVu Sans is not installed, any font without serifs will do.
    rules = [f".{name}{{{given}}}" for given, name in classes.items()]
    text = "".join(rules).replace("'DejaVu Sans'", "'DejaVu Sans', sans-serif")
    sheet = ElementTree.Element(f"{_SVG}style")
    sheet.text = f"*{{stroke-linejoin:round;stroke-linecap:butt}}{text}"
    for old in root.findall(f"{_SVG}defs"):
        for style_of_all in old.findall(f"{_SVG}style"):
            old.remove(style_of_all)
    root.insert(0, sheet)


def _saved(figure: Figure, form: str) -> bytes:
    buffer = io.BytesIO()
    # In an SVG only smooth maps have pixels.
    options: dict[str, Any] = {"dpi": 150}
    if form == "svg":
        options = {"dpi": 72, "metadata": {"Date": None}}
    figure.savefig(buffer, format=form, **options)
    return buffer.getvalue()
