"""Declared figures: curves of theory with points of simulations, from tidy rows."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from sparsetoken.figures import style


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


@dataclasses.dataclass(frozen=True)
class Curve:
    """One curve of a panel.

    Attributes
    ----------
    name : str
        In the legend; the same in several panels stands there once.
    colour : str
    of : mapping
        Fields and coordinates of its rows, by name.
    line : str
        Its dashes, as of matplotlib.
    """

    name: str
    colour: str
    of: Mapping[str, Any]
    line: str = "-"


@dataclasses.dataclass(frozen=True)
class Panel:
    """Curves against one coordinate.

    Attributes
    ----------
    along : str
        The coordinate.
    x, y : Axis
    curves : sequence of Curve
    lines, points : str or callable
        Rows that are drawn as lines, and as points with one standard error: a series, empty for
        none, or a function of all rows that returns them.
    title : str
    """

    along: str
    x: Axis
    y: Axis
    curves: Sequence[Curve]
    lines: str | Callable[[Any], Any] = "theory"
    points: str | Callable[[Any], Any] = "simulated"
    title: str = ""


@dataclasses.dataclass(frozen=True)
class Curves:
    """A figure of panels side by side with one legend; call it with rows to draw it.

    Attributes
    ----------
    panels : sequence of Panel
    width, height : float
        In inches.
    columns : int
        Of the legend; one for each entry by default.
    beside : bool
        Whether the legend is at the right, in one column.
    """

    panels: Sequence[Panel]
    width: float = 6.4
    height: float = 3.9
    columns: int = 0
    beside: bool = False

    def __call__(self, rows: Any) -> Figure:
        """Draw the rows, `sparsetoken.experiments.Rows`; call it inside `style.styled`."""
        figure, places = style.new_figure(self.width, self.height, len(self.panels))
        shown: list[Any] = []
        for axes, panel in zip(places, self.panels, strict=True):
            for curve in panel.curves:
                line = _taken(rows, panel.lines, curve).along(panel.along)
                style.predicted(axes, line, curve.colour, curve.line)
                points = _taken(rows, panel.points, curve).along(panel.along)
                style.measured(axes, points, curve.colour)
                shown += [*line, *points]
            _finish(axes, panel)
        curves = [curve for panel in self.panels for curve in panel.curves]
        names = {curve.name: (curve.name, curve.colour, curve.line) for curve in curves}
        style.legend(figure, list(names.values()), shown, self.columns, self.beside)
        return figure


def _taken(rows: Any, what: str | Callable[[Any], Any], curve: Curve) -> Any:
    """Return the rows of a curve; a series without a name has none."""
    return (what(rows) if callable(what) else rows.where(what)).where(**curve.of)


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
