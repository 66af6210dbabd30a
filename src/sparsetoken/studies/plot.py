"""Figures of studies: lines of theory and points of simulations, and the numbers that they show."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import PathCollection, QuadMesh
from matplotlib.container import ErrorbarContainer
from matplotlib.figure import Figure

from sparsetoken.figures import style
from sparsetoken.studies.compare import THEORY, Number

DISC = {"marker": "o", "ls": "none", "mec": "black", "mfc": "white", "ms": 7}
"""The look of a simulated place of a map in a legend."""


def panels(count: int, width: float, height: float, rows: int = 1) -> tuple[Figure, Sequence[Axes]]:
    """Return a figure of so many inches, and its panels row by row."""
    figure = Figure(figsize=(width, height), layout="constrained")
    places: Any = figure.subplots(rows, -(-count // rows), squeeze=False).ravel()
    for spare in places[count:]:
        spare.remove()
    return figure, places[:count]


def curve(
    axes: Axes,
    x: Any,
    numbers: Sequence[Number],
    colour: str,
    label: str = "",
    line: str = "-",
    marker: str = "",
    **look: Any,
) -> None:
    """Draw numbers of the theory as a line, and measured ones as points with one standard error.

    The label of the points is that of the line, once in a legend; looks are those of matplotlib.
    """
    x, shown = np.asarray(x, float), label
    for known in (True, False):
        some = [place for place, n in enumerate(numbers) if (n.engine == THEORY) == known]
        if not some:
            continue
        names = ("value", "error", "engine", "converged")
        value, error, engine, sound = (
            np.array([getattr(numbers[i], n) for i in some]) for n in names
        )
        given: dict[str, Any] = {
            "engine": engine,
            "converged": sound,
            "colour": colour,
            "line": line,
        }
        style.draw(axes, x[some], value, error, **given, fmt=marker, label=shown or "_", **look)
        shown = f"_{label}"


def colour_map(
    axes: Axes, xs: Sequence[float], ys: Sequence[float], values: Any, places: Any, **look: Any
) -> Any:
    """Draw a map of theory with discs of the same colours where it was simulated.

    Parameters
    ----------
    axes : Axes
    xs, ys : sequence of float
    values : array of shape (ys, xs)
        Where they are nan, nothing converged and the map has a white cross.
    places : sequence of (x, y, Number)
    **look
        Of colours, as of matplotlib.
    """
    values = np.asarray(values, float)
    mesh = axes.pcolormesh(xs, ys, values, shading="gouraud", rasterized=True, **look)
    rows, columns = np.nonzero(np.isnan(values))
    axes.plot(np.array(xs)[columns], np.array(ys)[rows], "x", color="white", ms=5, label="_not")
    x, y, colours = zip(*((x, y, n.value if n.converged else math.nan) for x, y, n in places),
                        strict=True)  # fmt: skip
    axes.scatter(x, y, c=colours, plotnonfinite=False, s=60, ec="black", zorder=3, **look)
    axes.grid(False)
    return mesh


def finish(figure: Figure, marks: Mapping[str, Any] | None = None, columns: int = 0) -> Figure:
    """Put one legend above the panels, with what else is to be explained; return the figure."""
    named: dict[str, Mapping[str, Any]] = {}
    for axes in figure.axes:
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
            one: Any = handle.lines[0] if isinstance(handle, ErrorbarContainer) else handle
            look = {"color": one.get_color(), "ls": one.get_linestyle()}
            named.setdefault(label, look | {"marker": one.get_marker()})
    meanings = style.meanings(_engines(figure))
    style.legend(figure, named | dict(marks or {}) | meanings, columns)
    return figure


def _engines(figure: Figure) -> set[tuple[str, bool]]:
    """Return what measured the points that a figure shows, and whether they converged."""
    engines: dict[Any, str] = {marker: engine for engine, marker in style.MARKERS.items()}
    found = set()
    for axes in figure.axes:
        for container in axes.containers:
            if isinstance(container, ErrorbarContainer):
                points = container.lines[0]
                sound = points.get_markerfacecolor() not in ("none", "white")
                found.add((engines.get(points.get_marker(), ""), sound))
        if any(
            one.get_marker() == "D" and one.get_markerfacecolor() == "none" for one in axes.lines
        ):
            found.add(("", False))
    return found


def numbers_of(figure: Figure) -> Iterator[dict[str, Any]]:
    """Yield what a figure shows, number by number, with its panel, its curve and its place."""
    for axes in figure.axes:
        if axes.get_label() == "<colorbar>":
            continue
        place = {"panel": axes.get_title("left"), "x_name": axes.get_xlabel()}
        place["y_name"] = axes.get_ylabel()
        measured = [c for c in axes.containers if isinstance(c, ErrorbarContainer)]
        own = {id(line) for c in measured for line in (c.lines[0], *c.lines[1])}
        for line in axes.lines:
            if id(line) not in own and line.get_transform() == axes.transData:
                at = place | {"curve": _name(line), "kind": "line"}
                for x, y in np.column_stack(line.get_data()).tolist():
                    yield at | {"x": x, "y": y}
        for container in measured:
            at = place | {"curve": _name(container), "kind": "points"}
            points, _, bars = container.lines
            places: Any = points.get_xydata()
            for (x, y), end in zip(places, bars[0].get_segments(), strict=True):
                error = (end[1][1] - end[0][1]) / 2 if len(end) == 2 else math.nan
                yield at | {"x": float(x), "y": float(y), "error": float(error)}
        for cells in axes.collections:
            yield from _values(cells, place)


def _values(cells: Any, place: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the values of a map, or of the discs on it."""
    if isinstance(cells, QuadMesh):
        kind, places = "map", np.asarray(cells.get_coordinates()).reshape(-1, 2)
    elif isinstance(cells, PathCollection) and cells.get_array() is not None:
        kind, places = "discs", np.asarray(cells.get_offsets())
    else:
        return
    values: Any = np.ma.filled(np.ma.asarray(cells.get_array(), float).ravel(), math.nan)
    for (x, y), value in zip(places.tolist(), values.tolist(), strict=True):
        yield {**place, "curve": "map", "kind": kind, "x": x, "y": y, "value": value}


def _name(drawn: Any) -> str:
    """Return the label of a curve, which may be hidden from legends; none has matplotlib's own."""
    label = str(drawn.get_label())
    return "" if label.startswith("_child") else label.removeprefix("_")
