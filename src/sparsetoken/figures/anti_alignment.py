"""Figure: maps of the sign of the query, the boundary, and trials on both sides."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import QuadMesh
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from sparsetoken.experiments.anti_alignment import BIAS_STEPS, LOADS, MAPS, RATES, STRENGTHS
from sparsetoken.experiments.points import Point, select
from sparsetoken.figures import style
from sparsetoken.figures.picture import Picture

__all__ = ["PICTURES", "draw"]

SIGNS = "PuOr"
"""From orange's opposite to orange: colour-blind readers tell the ends apart."""


def draw(points: Sequence[Point]) -> Figure:
    """Draw both maps with one colour for away and one for towards."""
    figure, panels = style.new_figure(9.2, 4.2, 2)
    for axes, group in zip(panels, MAPS, strict=True):
        kept = select(points, group=group)
        mesh = _map(axes, kept)
        for name, line in (("small steps", "--"), ("boundary", "-")):
            edge = [p for p in select(kept, curve=name) if p.converged]
            x, y = [p.x for p in edge], [p.value for p in edge]
            if group == MAPS[1]:
                x, y = y, x
            axes.plot(x, y, line, color="black", lw=1.5)
        _trials(axes, kept)
        axes.grid(False)
    first, second = panels
    first.set(xlim=RATES, ylim=STRENGTHS)
    style.axis_text(first, x="π, rate of positives", y="θ, strength", title="bias step 0.5")
    second.set(xscale="log", yscale="log", xlim=BIAS_STEPS, ylim=LOADS)
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


def _map(axes: Axes, points: Sequence[Point]) -> QuadMesh:
    cells = select(points, curve="map")
    x, y = (np.unique([getattr(p, name) for p in cells]) for name in ("x", "y"))
    values = {(p.x, p.y): p.value for p in cells}
    grid = np.array([[values[a, b] for a in x] for b in y])
    return axes.pcolormesh(
        x, y, grid, cmap=SIGNS, vmin=-1, vmax=1, shading="gouraud", rasterized=True
    )


def _trials(axes: Axes, points: Sequence[Point]) -> None:
    found = [p for p in select(points, curve="query") if p.source != "theory"]
    axes.scatter(
        [p.x for p in found],
        [p.y for p in found],
        c=[p.value for p in found],
        cmap=SIGNS,
        vmin=-1,
        vmax=1,
        s=42,
        edgecolors="black",
        linewidths=1.0,
        zorder=3,
    )


PICTURES = (
    Picture(
        "anti-alignment",
        draw,
        "Predicted cosine of the query with the signal: negative, it turns away. Left: over the "
        "rate of positives and the strength. Right: over the bias step and the load of the first "
        "data set, for rare positives. Lines: where the cosine is 0. Discs: simulation, filled "
        "by the measured mean; one that matches its surroundings agrees.",
    ),
)
