"""Figure: how the difference between simulation and theory shrinks with d."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure

from sparsetoken.experiments.claims import ALLOWANCE
from sparsetoken.experiments.finite_size import QUANTITIES, shrinkage
from sparsetoken.experiments.points import Point, curve
from sparsetoken.figures import style
from sparsetoken.figures.picture import Picture

__all__ = ["PICTURES", "draw"]


def draw(points: Sequence[Point]) -> Figure:
    """Draw measured - theory against d, the fits c/d and c/sqrt(d), and the allowance."""
    figure, panels = style.new_figure(9.6, 3.6, 3)
    blue = style.COLOURS["attention"]
    for axes, quantity in zip(panels, QUANTITIES, strict=True):
        theory, simulation = curve(points, quantity=quantity)
        d = np.geomspace(simulation[0].x, simulation[-1].x, 100)
        band = ALLOWANCE[quantity] / d * abs(theory[0].value)
        axes.fill_between(d, -band, band, color="#EFEFEF", lw=0, label="allowance")
        axes.axhline(0, color="black", lw=0.8)
        for power, line, name in ((1.0, "-", "c / d"), (0.5, "--", "c / √d")):
            fit = shrinkage(points, quantity, power)
            axes.plot(d, fit.coefficient / d**power, line, color="#777777", lw=1.2, label=name)
        axes.errorbar(
            [p.x for p in simulation],
            [p.value - t.value for p, t in zip(simulation, theory, strict=True)],
            [p.error for p in simulation],
            fmt="o",
            color=blue,
            capsize=2.5,
            label="measured − theory",
        )
        axes.set_xscale("log")
        ticks = [p.x for p in simulation]
        axes.set_xticks(ticks, [f"{t:g}" for t in ticks])
        axes.minorticks_off()
        style.axis_text(axes, x="d", y="", title=quantity.replace("_", " "))
    handles, names = panels[0].get_legend_handles_labels()
    figure.legend(handles, names, loc="outside upper center", ncols=len(names))
    return figure


PICTURES = (
    Picture(
        "finite_size",
        draw,
        "Measured less theory against the dimension. Grey: the allowance of the verdict rule.",
    ),
)
