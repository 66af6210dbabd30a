"""Figure: maps of the sign of the query, the boundary, and trials on both sides."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import QuadMesh
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from sparsetoken.experiments.anti_alignment.rows import Cell, Edge, Place, SmallStepEdge, Trials
from sparsetoken.experiments.anti_alignment.work import AXES
from sparsetoken.experiments.rows import Rows, select
from sparsetoken.figures import style

SIGNS = "PuOr"
"""From orange's opposite to orange: colour-blind readers tell the ends apart."""


def draw(rows: Rows) -> Figure:
    """Draw both maps with one colour for away and one for towards."""
    figure, panels = style.new_figure(9.2, 4.2, 2)
    for axes, panel in zip(panels, AXES, strict=True):
        mesh = _map(axes, [row for row in select(rows, Cell) if row.place.panel == panel])
        _edges(axes, rows, panel)
        _trials(axes, [row for row in select(rows, Trials) if row.place.panel == panel])
        axes.grid(False)
    first, second = panels
    first.set(xlim=AXES["rate"][0], ylim=AXES["rate"][1])
    style.axis_text(first, x="π, rate of positives", y="θ, strength", title="bias step 0.5")
    second.set(xscale="log", yscale="log", xlim=AXES["step"][0], ylim=AXES["step"][1])
    second.set_xticks([0.1, 1, 10], ["0.1", "1", "10"])
    second.set_yticks([0.1, 1, 10], ["0.1", "1", "10"])
    style.axis_text(second, x="η$_b$, bias step", y="α₀ = n₀ / d", title="π = 0.1, θ = 2")
    bar = figure.colorbar(mesh, ax=panels, pad=0.02)
    bar.set_label("cosine of the query with the signal")
    shape = {"marker": "o", "linestyle": "none", "mec": "black", "mfc": "white"}
    marks = [
        (Line2D([], [], color="black"), "boundary"),
        (Line2D([], [], color="black", linestyle="--"), "boundary for small steps"),
        (Line2D([], [], **shape), "simulation, filled by its cosine"),  # type: ignore[arg-type]
    ]
    figure.legend(*zip(*marks, strict=True), loc="outside upper center", ncols=3)
    return figure


def _xy(place: Place) -> tuple[float, float]:
    if place.panel == "rate":
        return place.positive_rate, place.strength
    return place.eta_b, place.alpha0


def _edges(axes: Axes, rows: Rows, panel: str) -> None:
    edge = [row for row in select(rows, Edge, panel=panel) if row.across.converged]
    along, across = [row.along for row in edge], [row.across.value for row in edge]
    if panel == "step":
        axes.plot(across, along, "-", color="black", lw=1.5)
        return
    axes.plot(along, across, "-", color="black", lw=1.5)
    small = select(rows, SmallStepEdge)
    axes.plot([e.positive_rate for e in small], [e.condition for e in small], "k--", lw=1.5)


def _map(axes: Axes, cells: Sequence[Cell]) -> QuadMesh:
    values = {_xy(row.place): row.cosine.value for row in cells}
    x, y = (np.unique(coordinate) for coordinate in zip(*values, strict=True))
    grid = np.array([[values[a, b] for a in x] for b in y])
    return axes.pcolormesh(
        x, y, grid, cmap=SIGNS, vmin=-1, vmax=1, shading="gouraud", rasterized=True
    )


def _trials(axes: Axes, rows: Sequence[Trials]) -> None:
    x, y = zip(*(_xy(row.place) for row in rows), strict=True)
    axes.scatter(
        x,
        y,
        c=[row.measured.value for row in rows],
        cmap=SIGNS,
        vmin=-1,
        vmax=1,
        s=42,
        edgecolors="black",
        linewidths=1.0,
        zorder=3,
    )


PICTURES = {"anti_alignment": draw}
