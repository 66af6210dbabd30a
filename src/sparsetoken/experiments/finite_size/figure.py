"""Figure: how the difference between simulation and theory shrinks with d."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from sparsetoken.experiments.finite_dimension import SHIFTS
from sparsetoken.experiments.finite_size.claims import shrinkage
from sparsetoken.experiments.finite_size.rows import Limit, Simulated
from sparsetoken.experiments.finite_size.work import QUANTITIES
from sparsetoken.experiments.rows import Rows, one, select
from sparsetoken.figures import style
from sparsetoken.figures.palette import LIGHT_GREY, PALE


def draw(rows: Rows) -> Figure:
    """Draw measured - theory against d, the fits c/d and c/sqrt(d), and the c of other settings."""
    figure, panels = style.new_figure(9.6, 3.6, 3)
    for axes, quantity in zip(panels, QUANTITIES, strict=True):
        _differences(axes, rows, quantity)
        style.log_ticks(axes, x=sorted({row.found.dimension for row in select(rows, Simulated)}))
        style.axis_text(axes, x="d", y="", title=quantity.replace("_", " "))
    handles, names = panels[0].get_legend_handles_labels()
    figure.legend(handles, names, loc="outside upper center", ncols=len(names))
    return figure


def _differences(axes: Axes, rows: Rows, quantity: str) -> None:
    limit = one(rows, Limit, quantity=quantity).found
    found = [row.found for row in select(rows, Simulated, quantity=quantity)]
    dimensions = [m.dimension for m in found]
    d = np.geomspace(min(dimensions), max(dimensions), 100)
    used = SHIFTS[quantity]
    low, high = ((used.mean + sign * 2 * used.deviation) * limit.value / d for sign in (-1, 1))
    axes.fill_between(d, low, high, color=PALE, lw=0, label="c of other settings")
    axes.axhline(0, color="black", lw=0.8)
    for power, line, name in ((1.0, "-", "c / d"), (0.5, "--", "c / √d")):
        fitted = shrinkage(rows, quantity, power).coefficient / d**power
        axes.plot(d, fitted, line, color=LIGHT_GREY, lw=1.2, label=name)
    axes.errorbar(
        dimensions,
        [m.value - limit.value for m in found],
        [m.error for m in found],
        fmt="o",
        color=style.COLOURS["attention"],
        capsize=2.5,
        label="measured − theory",
    )


PICTURES = {"finite_size": draw}
