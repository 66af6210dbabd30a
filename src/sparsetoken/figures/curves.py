"""Declared figures: curves of theory with points of simulations, from tidy rows."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from matplotlib.axes import Axes
from matplotlib.figure import Figure

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
    """Curves against one coordinate.

    Attributes
    ----------
    along : str
        The coordinate.
    x, y : Axis
    curves : sequence of Curve
    title : str
    also : callable, optional
        Draws what is no row into the axes, such as a level or a note.
    """

    along: str
    x: Axis
    y: Axis
    curves: Sequence[Curve]
    title: str = ""
    also: Callable[[Axes], Any] | None = None


def curves(
    panels: Sequence[Panel],
    width: float = 6.4,
    height: float = 3.9,
    *,
    columns: int = 0,
    beside: bool = False,
    marks: Mapping[str, Mapping[str, Any]] | None = None,
) -> Plot:
    """Draw panels side by side with one legend; call it inside `style.styled`.

    Parameters
    ----------
    panels : sequence of Panel
    width, height : float
        In inches.
    columns : int
        Of the legend; one for each entry by default.
    beside : bool
        Whether the legend is at the right, in one column.
    marks : mapping
        More entries of the legend: labels with the look of their lines or marks.
    """
    figure, places = style.new_figure(width, height, len(panels))
    shown: list[Plotted] = []
    unmarked: list[Any] = []
    names: dict[str, Mapping[str, Any]] = {}
    for axes, panel in zip(places, panels, strict=True):
        for curve in panel.curves:
            rows = list(curve.rows)
            place = (panel.title, curve.name, panel.x.label)
            shown += [Plotted(*place, row[panel.along], row) for row in rows]
            unmarked += [] if curve.marker else rows
            _draw(axes, [(row[panel.along], row) for row in rows], curve)
            look = {"color": curve.colour, **_dashes(curve), **curve.look}
            names |= {curve.name: look} if curve.name else {}
        _finish(axes, panel)
    entries = names | dict(marks or {}) | style.meanings(unmarked)
    style.legend(figure, entries, columns, beside)
    return Plot(figure, shown)


def _dashes(curve: Curve) -> dict[str, Any]:
    """Return line style and marker of the legend, as its own points or line have them."""
    if curve.marker and not any(row.engine == "theory" for row in curve.rows):
        return {"ls": curve.marker[1:] or "none", "marker": curve.marker[0]}
    return {"ls": curve.line} | ({"marker": curve.marker[0]} if curve.marker else {})


def _draw(axes: Axes, pairs: Sequence[tuple[float, Any]], curve: Curve) -> None:
    pairs = sorted(pairs, key=lambda pair: pair[0])
    line = [pair for pair in pairs if pair[1].engine == "theory"]
    points = [pair for pair in pairs if pair[1].engine != "theory"]
    if line:
        style.predicted(axes, line, curve.colour, curve.line, **curve.look)
    marker = {"fmt": curve.marker, "ms": 5} if curve.marker else {}
    if points:
        style.measured(axes, points, curve.colour, **{**marker, **curve.look})


def _finish(axes: Axes, panel: Panel) -> None:
    x, y = panel.x, panel.y
    first, last = axes.dataLim.intervalx * (0.99, 1.01)
    style.log_ticks(axes, x=[t for t in x.ticks if first <= t <= last], y=y.ticks)
    if x.log:
        axes.set_xscale("log")
    if y.log:
        axes.set_yscale("log")
    # Limits end the scaling to data, also to those that are drawn into the panel later.
    if x.low is not None or x.high is not None:
        axes.set_xlim(x.low, x.high)
    if y.low is not None or y.high is not None:
        axes.set_ylim(y.low, y.high)
    style.axis_text(axes, x=x.label, y=y.label, title=panel.title)
    if panel.also:
        panel.also(axes)
