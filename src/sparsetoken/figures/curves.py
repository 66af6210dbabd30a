"""Declared figures from tidy rows: curves and maps of theory with points of simulations."""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from scipy.interpolate import PchipInterpolator

from sparsetoken.figures import style


class Plotted(NamedTuple):
    """A row that a figure shows: the title of its panel, its curve, and its place with labels.

    Only a map has a place along y.
    """

    panel: str
    curve: str
    x_name: str
    x: float
    row: Any
    y_name: str = ""
    y: float = math.nan


class Plot(NamedTuple):
    """A figure with the rows that it shows, from which the tables of its numbers come."""

    figure: Figure
    shown: Sequence[Plotted] = ()


@dataclasses.dataclass(frozen=True)
class Axis:
    """An axis of a panel.

    Attributes
    ----------
    label : str
    ticks : sequence of float
        Where they are given the axis is logarithmic, with plain numbers at these alone; of those
        along x, at the ones among the data.
    low, high : float, optional
        Its ends, where they are not those of the data.
    log : bool
        Whether it is logarithmic with the usual ticks.
    """

    label: str
    ticks: Sequence[float] = ()
    low: float | None = None
    high: float | None = None
    log: bool = False


LOADS = (0.25, 0.5, 1, 2, 4, 8, 16)
"""The ticks of a load, a number of samples over the dimension."""


@dataclasses.dataclass(frozen=True)
class Curve:
    """One curve of a panel.

    Attributes
    ----------
    name : str
        In the legend; the same in several panels stands there once, one without a name never.
    colour : str
    rows : sequence of Row
        Those of theory are a line, those of a simulation are points with one standard error.
    line : str
        Dashes and a marker, as of matplotlib.
    marker : str
        Of the points; by default that of their engine. With dashes they are joined.
    look : mapping
        More looks of the line and the points, as of matplotlib.
    """

    name: str
    colour: str
    rows: Sequence[Any]
    line: str = "-"
    marker: str = ""
    look: Mapping[str, Any] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True)
class Panel:
    """Curves against one coordinate, or a map over two.

    Attributes
    ----------
    along : str
        The coordinate.
    x, y : Axis
    curves : sequence of Curve
    title : str
    also : callable, optional
        Draws what is no row into the axes, such as a level or a note.
    cells : Rows
        Of a map, theory and simulation; curves over it have values along y.
    across : str
        The coordinate along y of a map.
    """

    along: str
    x: Axis
    y: Axis
    curves: Sequence[Curve]
    title: str = ""
    also: Callable[[Axes], Any] | None = None
    cells: Any = ()
    across: str = ""


def curves(
    panels: Sequence[Panel],
    width: float = 6.4,
    height: float = 3.9,
    *,
    columns: int = 0,
    marks: Mapping[str, Mapping[str, Any]] | None = None,
    colours: Mapping[str, Any] | None = None,
    bar: str = "",
    levels: Sequence[float] = (),
) -> Plot:
    """Draw panels side by side; call it inside `style.styled`.

    There is one legend, but panels that have no name of a curve in common have one each.

    Parameters
    ----------
    panels : sequence of Panel
    width, height : float
        In inches.
    columns : int
        Of the legend; one for each entry by default. With one it is at the right.
    marks : mapping
        More entries of the legend: labels with the look of their lines or marks.
    colours : mapping
        Of maps, as of matplotlib, such as cmap.
    bar, levels
        Label and ticks of the colour bar of maps.
    """
    figure = Figure(figsize=(width, height), layout="constrained")
    places = figure.subplots(1, len(panels), squeeze=False)[0]
    shown: list[Plotted] = []
    names: list[dict[str, Mapping[str, Any]]] = []
    for axes, panel in zip(places, panels, strict=True):
        names.append({})
        if panel.cells:
            mesh = _draw_map(axes, panel, colours or {})
            place = (panel.title, "map", panel.x.label)
            at = (panel.along, panel.across)
            shown += [
                Plotted(*place, row[at[0]], row, panel.y.label, row[at[1]]) for row in panel.cells
            ]
        for curve in panel.curves:
            place = (panel.title, curve.name, panel.x.label)
            shown += [Plotted(*place, row[panel.along], row) for row in curve.rows]
            look = {"colour": curve.colour, "line": curve.line, "fmt": curve.marker, **curve.look}
            logs = [bool(axis.ticks or axis.log) for axis in (panel.x, panel.y)]
            draw_rows(axes, panel.along, curve.rows, logs, **look)
            look = {"color": curve.colour, **_dashes(curve), **curve.look}
            names[-1] |= {curve.name: look} if curve.name else {}
        _finish(axes, panel)
    every = dict(itertools.chain.from_iterable(own.items() for own in names))
    if len(panels) > 1 and all(names) and len(every) == sum(map(len, names)):
        for axes, own in zip(places, names, strict=True):
            axes.legend(handles=style.handles(own))
        every = {}
    if bar:
        drawn = figure.colorbar(mesh, ax=places, label=bar, pad=0.02)
        if levels:
            drawn.set_ticks(levels, labels=[f"{level:g}" for level in levels])
            drawn.minorticks_off()
    plain = [row for panel in panels for c in panel.curves if not c.marker for row in c.rows]
    meanings = style.meanings([(row.engine, row.converged) for row in plain])
    style.legend(figure, every | dict(marks or {}) | meanings, columns)
    return Plot(figure, shown)


def draw_rows(
    axes: Axes, along: str, rows: Sequence[Any], logs: Sequence[bool] = (True, False), **look: Any
) -> None:
    """Draw rows against a coordinate; the look is that of `sparsetoken.figures.style.draw`.

    A line of theory through a few points, all of them known, is a monotone cubic, of the logarithms
    where asked for along x and y.
    """
    rows = sorted(rows, key=lambda row: row[along])
    known = [row for row in rows if row["engine"] == "theory"]
    u, v = (np.array([row[name] for row in known], float) for name in (along, "value"))
    few = 2 < len(known) == len(set(u)) < FEW and bool(np.isfinite([u, v]).all())
    few &= all(row["converged"] for row in known)
    if few and look.get("line") != "none" and not {"marker", "drawstyle"} & look.keys():
        style.draw(axes, *_smooth(u, v, logs), **look)
        rows = [row for row in rows if row["engine"] != "theory"]
    if rows:
        columns = (along, "value", "error", "engine", "converged")
        x, value, error, engine, converged = ([row[name] for row in rows] for name in columns)
        style.draw(axes, x, value, error, engine=engine, converged=converged, **look)


FEW = 30
"""Points of a line from which on it is drawn straight from each to the next."""


def _smooth(x: np.ndarray, y: np.ndarray, logs: Sequence[bool]) -> tuple[np.ndarray, np.ndarray]:
    """Return a monotone cubic through points, which are among those returned."""
    logs = [log and bool((values > 0).all()) for log, values in zip(logs, (x, y), strict=True)]
    u, v = (np.log(values) if log else values for log, values in zip(logs, (x, y), strict=True))
    steps = np.linspace(u[:-1], u[1:], 12, endpoint=False).T.ravel()
    u, v = np.append(steps, u[-1]), PchipInterpolator(u, v)(np.append(steps, u[-1]))
    line, values = (np.exp(w) if log else w for log, w in zip(logs, (u, v), strict=True))
    return line, values


def _dashes(curve: Curve) -> dict[str, Any]:
    """Return line style and marker of the legend, as its own points or line have them."""
    engines = [row.engine for row in curve.rows]
    measured = [engine for engine in engines if engine != "theory"]
    if measured and engines.count("theory") < 2:
        marker = curve.marker or style.MARKERS[measured[0]]
        return {"ls": marker[1:] or "none", "marker": marker[0]}
    return {"ls": curve.line} | ({"marker": curve.marker[0]} if curve.marker else {})


def _finish(axes: Axes, panel: Panel) -> None:
    x, y = panel.x, panel.y
    first, last = axes.dataLim.intervalx * (0.99, 1.01)
    if ticks := [t for t in x.ticks if first <= t <= last]:
        style.log_axis(axes.xaxis, ticks)
    if y.ticks:
        style.log_axis(axes.yaxis, y.ticks)
    if x.log:
        axes.set_xscale("log")
    if y.log:
        axes.set_yscale("log")
    # Limits end the scaling to data, also to those that are drawn into the panel later.
    if x.low is not None or x.high is not None:
        axes.set_xlim(x.low, x.high)
    if y.low is not None or y.high is not None:
        axes.set_ylim(y.low, y.high)
    axes.set(xlabel=x.label, ylabel=y.label, title=panel.title)
    if panel.also:
        panel.also(axes)


DISC = {"marker": "o", "ls": "none", "mec": "black", "mfc": "white"}
"""The look of a simulated place of a map in a legend."""


def _draw_map(axes: Axes, panel: Panel, colours: Mapping[str, Any]) -> Any:
    """Draw theory as a smooth map, and simulated places as discs of the same colours.

    What did not converge has no colour: a white cross in the map, or an empty disc.
    """
    along, across = panel.along, panel.across
    known = [row for row in panel.cells if row.engine == "theory"]
    points = [row for row in panel.cells if row.engine != "theory"]
    look = {"shading": "gouraud", "rasterized": True, **colours}
    mesh = axes.pcolormesh(*type(panel.cells)(known).grid(along, across), **look)
    fallen = [row for row in known if not row.converged]
    axes.plot([r[along] for r in fallen], [r[across] for r in fallen], "x", color="white", ms=5)
    axes.scatter(
        [row[along] for row in points],
        [row[across] for row in points],
        c=[row.value if row.converged else math.nan for row in points],
        plotnonfinite=False,
        s=60,
        edgecolors="black",
        zorder=3,
        **colours,
    )
    axes.grid(False)
    return mesh
