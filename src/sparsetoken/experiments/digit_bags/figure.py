"""Figure: test errors of real bags against their number, a panel for each length."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from matplotlib.figure import Figure

from sparsetoken.experiments.digit_bags.rows import Simulated, Theory
from sparsetoken.experiments.digit_bags.work import CLASSIFIERS, LENGTHS
from sparsetoken.experiments.rows import select, series
from sparsetoken.figures import style

__all__ = ["PICTURES", "draw"]


def draw(rows: Sequence[Any]) -> Figure:
    """Draw curves and points."""
    figure, panels = style.new_figure(9.6, 3.7, len(LENGTHS))
    shown = []
    for axes, length in zip(panels, LENGTHS, strict=True):
        for name in CLASSIFIERS:
            place = {"length": length, "classifier": name}
            line = series(select(rows, Theory, **place), "bags", "test_error")
            points = series(select(rows, Simulated, **place), "bags", "test_error")
            style.predicted(axes, line, style.COLOURS[name])
            style.measured(axes, points, style.COLOURS[name])
            shown += line + points
        axes.set_ylim(0, 0.5)
        axes.set_xscale("log")
        sizes = sorted({row.bags for row in select(rows, Simulated)})
        axes.set_xticks(sizes, [str(size) for size in sizes])
        axes.minorticks_off()
        label = "test error" * (axes is panels[0])
        style.axis_text(axes, x="labelled bags", y=label, title=f"{length} digits in a bag")
    style.legend(figure, [(name, style.COLOURS[name]) for name in CLASSIFIERS], shown)
    return figure


PICTURES = {"digit_bags": draw}
