"""The figure of a study, drawn from its frame: lines of theory, points of simulations, maps."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from sparsetoken.figures import style
from sparsetoken.figures.palette import COLOURS, CYCLE
from sparsetoken.studies.claims import THEORY

DISC = {"marker": "o", "ls": "none", "mec": "black", "mfc": "white", "ms": 7}
WIDTHS, HEIGHTS = (6.4, 9.6, 12.0), (4.2, 7.4)
"""In inches, by the number of panels side by side, and of rows."""


@dataclasses.dataclass(frozen=True)
class Panel:
    """A panel of a figure; the rows of the frame that name it are drawn in it.

    Attributes
    ----------
    name : str
        The value in the column panel, and the title.
    x, y : str
        The labels of the axes.
    log : mapping
        Ticks of the axes that are logarithmic, by x and y; () leaves them to matplotlib. By bar
        those of a colour bar whose norm is.
    limits : mapping
        Such as ``{"ylim": (None, 1.0)}``.
    colours : mapping
        Of a map: norm and cmap, or others of matplotlib.
    bar : str
        The label of the colour bar of a map; none without one.
    """

    name: str
    x: str
    y: str = ""
    log: Mapping[str, Sequence[float]] = dataclasses.field(default_factory=dict)
    limits: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    colours: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    bar: str = ""


class Look(NamedTuple):
    """The look of a curve in all panels.

    Attributes
    ----------
    colour : str
    line : str
        Dashes of the theory, as of matplotlib; none for marks alone.
    marker : str
        Of the points, by default that of their engine; of the line, where there are no points.
        Dashes after it join points, such as D-.
    label : str, optional
        In the legend, by default the name of the curve; none if it is empty.
    """

    colour: str
    line: str = "-"
    marker: str = ""
    label: str | None = None


def draw(
    frame: pd.DataFrame,
    panels: Sequence[Panel],
    looks: Mapping[str, Look] | None = None,
    columns: int = 3,
) -> Figure:
    """Draw a frame of `claims.judged`.

    In each panel a curve is a line through its rows without a measurement, in their order, and
    points with a standard error at those with one. Rows with a y are cells of a map, and discs in
    its colours where it was simulated. Theory that did not converge is off the line, or a white
    cross of a map; points that did not converge are hollow.

    Parameters
    ----------
    frame : DataFrame
    panels : sequence of Panel
    looks : mapping, optional
        By curve. Others have the colour of their name in the package, or the next of its cycle.
    columns : int
        Most panels side by side.
    """
    across = min(len(panels), columns)
    down = math.ceil(len(panels) / across)
    size = WIDTHS[min(across, len(WIDTHS)) - 1], HEIGHTS[min(down, len(HEIGHTS)) - 1]
    figure = Figure(figsize=size, layout="constrained")
    places: Any = figure.subplots(down, across, squeeze=False).ravel()
    for spare in places[len(panels) :]:
        spare.remove()
    shown = frame[frame.panel.isin([panel.name for panel in panels])]
    looks = _looks(shown, looks or {})
    marks: dict[str, Any] = {}
    for panel, axes in zip(panels, places, strict=False):
        rows = shown[shown.panel == panel.name]
        _draw_map(axes, rows[rows.y.notna()], panel)
        for name, some in rows[rows.y.isna()].groupby("curve", sort=False):
            _draw_curve(axes, some, looks[str(name)], marks)
        axes.set(title=panel.name, xlabel=panel.x, ylabel=panel.y)
        for axis in panel.log.keys() & {"x", "y"}:
            style.log_axis(getattr(axes, f"{axis}axis"), panel.log[axis])
        axes.set(**panel.limits)
    flat, mapped = shown[shown.y.isna()], shown[shown.y.notna()]
    points = flat[flat.measured.notna()]
    marks |= style.meanings(set(zip(points.engine, points.converged, strict=True)))
    if mapped.measured.notna().any():
        marks["simulation, in the colours of the map"] = DISC
    style.legend(figure, marks)
    return figure


def _looks(rows: pd.DataFrame, given: Mapping[str, Look]) -> dict[str, Look]:
    """Return the look of each curve, with its label."""
    looks: dict[str, Look] = {}
    for i, name in enumerate(rows.curve.unique()):
        look = given.get(name) or Look(COLOURS.get(name, CYCLE[i % len(CYCLE)]))
        looks[name] = look if look.label is not None else look._replace(label=name)
    return looks


def _draw_curve(axes: Axes, rows: pd.DataFrame, look: Look, marks: dict[str, Any]) -> None:
    """Draw a line with its points, and put it among the marks of the legend."""
    known = rows.measured.isna()
    pointed = not known.all()
    marker = {"fmt": look.marker} if pointed else {"marker": look.marker}
    style.draw(
        axes,
        rows.x.to_numpy(float),
        np.where(known, rows.theory, rows.measured),
        np.where(known, 0.0, rows.standard_error),
        engine=np.where(known, THEORY, rows.engine),
        converged=rows.converged.to_numpy(bool),
        colour=look.colour,
        line=look.line,
        **marker,
    )
    if look.label:
        lined = {"ls": look.line} if known.any() else {"ls": "none", "marker": "o"}
        own = {"marker": look.marker.rstrip("-:.")} if look.marker else {}
        marks.setdefault(look.label, {"color": look.colour} | lined | own)


def _draw_map(axes: Axes, rows: pd.DataFrame, panel: Panel) -> None:
    """Draw a map of the theory with discs of the same colours where it was simulated."""
    cells, discs = rows[rows.measured.isna()], rows[rows.measured.notna()]
    if cells.empty:
        return
    sound = cells.theory.where(cells.converged.astype(bool))
    table = cells.assign(theory=sound).pivot(index="y", columns="x", values="theory")
    mesh = axes.pcolormesh(
        table.columns, table.index, table, shading="gouraud", rasterized=True, **panel.colours
    )
    lost = cells[sound.isna()]
    axes.plot(lost.x, lost.y, "x", color="white", ms=5)
    colours = discs.measured.where(discs.converged.astype(bool))
    axes.scatter(discs.x, discs.y, c=colours, s=60, ec="black", zorder=3, **panel.colours)
    axes.grid(False)
    if panel.bar:
        bar = axes.figure.colorbar(mesh, ax=axes, label=panel.bar)
        if "bar" in panel.log:
            style.log_axis(bar.ax.yaxis, panel.log["bar"])
