"""Figure: attention against pooling by the cosine of the query; residual error by length."""

from __future__ import annotations

import math

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from sparsetoken.experiments.misalignment.rows import AtCosine, Crossing, Pooled, Trials
from sparsetoken.experiments.misalignment.work import LENGTH
from sparsetoken.experiments.rows import Rows, one, select, series
from sparsetoken.figures import style
from sparsetoken.figures.palette import GREY

MODELS = ("attention", "pooled")


def draw(rows: Rows) -> Figure:
    """Draw infinite data, the largest and the smallest finite alpha1, and the lengths."""
    figure, panels = style.new_figure(11.4, 3.9, 4)
    alphas = sorted({row.alpha1 for row in select(rows, Trials)})
    for axes, alpha1 in zip(panels, (math.inf, alphas[-1], alphas[0]), strict=False):
        _models(axes, rows, alpha1)
        name = "infinite data" if math.isinf(alpha1) else f"α₁ = {alpha1:g}"
        style.axis_text(axes, x="cosine s of the query", y="", title=name)
        axes.set_ylim(0, 0.5)
    panels[0].set_ylabel("test error")
    _lengths(panels[-1], rows)
    marks = [(Line2D([], [], color=style.COLOURS[name]), name) for name in MODELS]
    disc = Line2D([], [], marker="o", color=GREY, mec="white", linestyle="none")
    cross = Line2D([], [], marker="X", color="black", linestyle="none", ms=7)
    marks += [(disc, "simulation"), (cross, "crossing")]
    figure.legend(*zip(*marks, strict=True), loc="outside upper center", ncols=len(marks))
    return figure


def _models(axes: Axes, rows: Rows, alpha1: float) -> None:
    place = {"length": LENGTH, "alpha1": alpha1}
    line = series(select(rows, AtCosine, **place), "cosine", "test_error")
    pooled = one(rows, Pooled, **place).test_error
    style.predicted(axes, line, style.COLOURS["attention"])
    style.predicted(axes, [(x, pooled) for x, _ in line], style.COLOURS["pooled"])
    for name in MODELS:
        found = select(rows, Trials, model=name, alpha1=alpha1)
        style.measured(axes, series(found, "cosine", "test_error"), style.COLOURS[name])
    _mark(axes, one(rows, Crossing, **place))


def _mark(axes: Axes, row: Crossing) -> None:
    if row.cosine.converged:
        x, y = row.cosine.value, row.pooled.value
        axes.plot([x], [y], "X", color="black", mec="white", ms=8.5, zorder=4)


def _lengths(axes: Axes, rows: Rows) -> None:
    lengths = sorted({row.length for row in select(rows, AtCosine)})
    for length, colour in zip(lengths, style.SEQUENCE, strict=False):
        found = select(rows, AtCosine, length=length, alpha1=math.inf)
        line = series(found, "cosine", "test_error")
        style.predicted(axes, line, colour)
        x, last = line[-1]
        axes.annotate(
            f"L = {length}",
            (x, last.value),
            xytext=(3, 0),
            textcoords="offset points",
            ha="left",
            va="center",
            fontsize=8,
            color=colour,
        )
        _mark(axes, one(rows, Crossing, length=length, alpha1=math.inf))
    axes.set_xlim(-0.05, 1.35)
    axes.set_xticks([0, 0.5, 1])
    style.log_ticks(axes, y=(0.01, 0.02, 0.05, 0.1, 0.2, 0.5))
    style.axis_text(axes, x="cosine s of the query", y="", title="infinite data, by length")


PICTURES = {"misalignment": draw}
