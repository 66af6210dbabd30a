"""Figure: attention against pooling by the cosine of the query; residual error by length."""

from __future__ import annotations

import math
from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from sparsetoken.experiments.misalignment import RESIDUAL, load_group
from sparsetoken.experiments.points import Point, curve, select
from sparsetoken.figures import style
from sparsetoken.figures.picture import MARKS, Picture

__all__ = ["PICTURES", "draw"]

MODELS = ("attention", "pooled")


def draw(points: Sequence[Point]) -> Figure:
    """Draw infinite data, the smallest and the largest finite load, and the lengths."""
    figure, panels = style.new_figure(11.4, 3.9, 4)
    loads = _finite_loads(points)
    chosen = (math.inf, loads[-1], loads[0])
    for axes, alpha1 in zip(panels, chosen, strict=False):
        _models(axes, select(points, group=load_group(alpha1)))
        name = "infinite data" if math.isinf(alpha1) else f"α₁ = {alpha1:g}"
        style.axis_text(axes, x="cosine s of the query", y="", title=name)
        axes.set_ylim(0, 0.5)
    panels[0].set_ylabel("test error")
    _lengths(panels[-1], select(points, group=RESIDUAL))
    marks = [(Line2D([], [], color=style.COLOURS[name]), name) for name in MODELS]
    disc = Line2D([], [], marker="o", color="#555555", mec="white", linestyle="none")
    cross = Line2D([], [], marker="X", color="black", linestyle="none", ms=7)
    marks += [(disc, "simulation"), (cross, "crossing")]
    figure.legend(*zip(*marks, strict=True), loc="outside upper center", ncols=len(marks))
    return figure


def _finite_loads(points: Sequence[Point]) -> list[float]:
    groups = {p.group for p in points if p.curve == "pooled"} - {load_group(math.inf)}
    return sorted(float(group.rpartition(" ")[2]) for group in groups)


def _models(axes: Axes, points: Sequence[Point]) -> None:
    for name in MODELS:
        theory, measured = curve(points, curve=name)
        style.predicted(axes, theory, style.COLOURS[name])
        style.measured(axes, measured, style.COLOURS[name])
    _mark(axes, select(points, curve="crossing", quantity="test_error"))


def _mark(axes: Axes, points: Sequence[Point]) -> None:
    axes.plot(
        [p.x for p in points if p.converged],
        [p.value for p in points if p.converged],
        "X",
        color="black",
        mec="white",
        ms=8.5,
        zorder=4,
    )


def _lengths(axes: Axes, points: Sequence[Point]) -> None:
    names = sorted(
        {p.curve for p in points if p.curve.startswith("L = ")}, key=lambda n: int(n[4:])
    )
    for name, colour in zip(names, style.SEQUENCE, strict=False):
        row = select(points, curve=name)
        style.predicted(axes, row, colour)
        axes.annotate(
            name,
            (row[-1].x, row[-1].value),
            xytext=(3, 0),
            textcoords="offset points",
            ha="left",
            va="center",
            fontsize=8,
            color=colour,
        )
        _mark(axes, select(points, curve=f"crossing, {name}"))
    axes.set_yscale("log")
    axes.set_xlim(-0.05, 1.35)
    axes.set_xticks([0, 0.5, 1])
    ticks = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5]
    axes.set_yticks(ticks, [f"{tick:g}" for tick in ticks])
    axes.minorticks_off()
    style.axis_text(axes, x="cosine s of the query", y="", title="infinite data, by length")


PICTURES = (
    Picture(
        "misalignment",
        draw,
        "Test error of attention with a given query, and of pooling, against the cosine of the "
        "query with the signal: with infinite data, at two finite loads, and with infinite data "
        f"for several lengths. Crosses: where pooling has the same test error. {MARKS}",
    ),
)
