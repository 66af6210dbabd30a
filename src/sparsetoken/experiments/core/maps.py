"""Maps of theory with simulated places as discs of the same colours."""

from __future__ import annotations

from typing import Any, NamedTuple

from matplotlib.axes import Axes

from sparsetoken.experiments.core.rows import Rows
from sparsetoken.figures import style
from sparsetoken.figures.curves import Plotted

DISC = {"marker": "o", "ls": "none", "mec": "black", "mfc": "white"}
"""The look of a simulated place in a legend."""


class Along(NamedTuple):
    """A coordinate along an axis of a map, and its label."""

    coordinate: str
    label: str


def draw_map(
    axes: Axes, cells: Rows, points: Rows, x: Along, y: Along, title: str = "", **colours: Any
) -> tuple[Any, list[Plotted]]:
    """Draw cells as a smooth map and points as discs; return the mesh, and all that is shown.

    What did not converge has no colour: a white cross in the map, or an empty disc.
    """
    grid = cells.grid(x.coordinate, y.coordinate)
    mesh = axes.pcolormesh(*grid, shading="gouraud", rasterized=True, **colours)
    fallen = [row for row in cells if not row.converged]
    places = [row[x.coordinate] for row in fallen], [row[y.coordinate] for row in fallen]
    axes.plot(*places, "x", color="white", ms=5)
    axes.scatter(
        [row[x.coordinate] for row in points],
        [row[y.coordinate] for row in points],
        c=[row.value if row.converged else float("nan") for row in points],
        plotnonfinite=False,
        s=60,
        edgecolors="black",
        zorder=3,
        **colours,
    )
    axes.grid(False)
    style.axis_text(axes, x=x.label, y=y.label, title=title)
    shown = [
        Plotted(title, "map", x.label, row[x.coordinate], row, y.label, row[y.coordinate])
        for row in (*cells, *points)
    ]
    return mesh, shown
