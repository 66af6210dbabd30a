"""Figures: the interpolation peak, and training loss and direction around capacity."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from sparsetoken.experiments.ridgeless.claims import turning
from sparsetoken.experiments.ridgeless.rows import (
    Distance,
    Load,
    Margin,
    SimulatedLoad,
    SimulatedMargin,
    SimulatedSusceptibility,
)
from sparsetoken.experiments.ridgeless.work import RATIO, RIDGES
from sparsetoken.experiments.rows import Rows, select, series
from sparsetoken.figures import style
from sparsetoken.figures.palette import GREY

DASHES = dict(zip(RIDGES, ("-", "--", ":"), strict=True))
SHADES = dict(zip(RIDGES, (style.SEQUENCE[0], style.SEQUENCE[1], style.SEQUENCE[3]), strict=True))
LOSSES = {"hinge": style.SEQUENCE[1], "logistic": style.SEQUENCE[4]}


def draw(rows: Rows) -> Figure:
    """Draw test error of three models, and susceptibility of attention, against the load."""
    figure, (left, right) = style.new_figure(9.6, 4.2, 2)
    for model in ("attention", "pooled", "vectorized"):
        if model != "vectorized":  # its line is that of pooled
            for ridge in RIDGES:
                line = select(rows, Load, model=model, ridge=ridge)
                _line(left, line, "test_error", ridge, style.COLOURS[model])
        points = select(rows, SimulatedLoad, model=model, ridge=0.0)
        style.measured(left, series(points, "load", "test_error"), style.COLOURS[model])
    for ridge, colour in SHADES.items():
        place: dict[str, Any] = {"model": "attention", "ridge": ridge}
        finite = [row for row in select(rows, Load, **place) if row.load > 1 or ridge > 0]
        _line(right, finite, "susceptibility", ridge, colour)
        found = select(rows, SimulatedSusceptibility, **place)
        style.measured(right, series(found, "load", "susceptibility"), colour)
    for axes in (left, right):
        style.load_axis(axes, [row.load for row in select(rows, Load)])
        axes.axvline(1.0, color="black", lw=0.9)
    right.set_yscale("log")
    x = "n₁ / number of weights"
    style.axis_text(left, x=x, y="test error", title="test error, square loss")
    style.axis_text(right, x=x, y="susceptibility χ", title="susceptibility of attention")
    _legend(figure)
    return figure


def _line(axes: Axes, rows: Sequence[Load], name: str, ridge: float, colour: str) -> None:
    """Draw a line; without a ridge it breaks at the threshold, which has no limit."""
    parts = [rows]
    if ridge == 0:
        parts = [[row for row in rows if row.load < 1], [row for row in rows if row.load > 1]]
    for part in parts:
        style.predicted(axes, series(part, "load", name), colour, DASHES[ridge])


def _disc(colour: str, label: str) -> Line2D:
    return Line2D([], [], color=colour, label=label, ls="none", marker="o", mec="white", mew=0.6)


def _legend(figure: Figure) -> None:
    models = [
        Line2D([], [], color=style.COLOURS[name], label=name) for name in ("attention", "pooled")
    ]
    vectorized = _disc(style.COLOURS["vectorized"], "vectorized (line of pooled)")
    ridges = [
        Line2D([], [], color=SHADES[r], ls=dashes, label=f"λ = {r:g}" if r else "λ → 0")
        for r, dashes in DASHES.items()
    ]
    figure.legend(handles=[*models, vectorized, *ridges], loc="outside upper center", ncols=6)


def draw_capacity(rows: Rows) -> Figure:
    """Draw the training loss across the capacity, and the turn to the largest margin."""
    figure, (left, right) = style.new_figure(9.6, 4.0, 2)
    for loss, colour in LOSSES.items():
        known = select(rows, Margin, loss=loss, ridge=0.0)
        style.predicted(left, series(known, "ratio", "training_loss"), colour)
        found = select(rows, SimulatedMargin, loss=loss)
        style.measured(left, series(found, "ratio", "training_loss"), colour)
    left.axvline(1.0, color="black", lw=0.9)
    style.axis_text(left, x="α₁ / α*", y="training loss", title="training loss, λ → 0")
    _turn(right, rows)
    lines = [Line2D([], [], color=colour, label=loss) for loss, colour in LOSSES.items()]
    black = Line2D([], [], color="black", lw=0.9, label="predicted capacity")
    handles = [*lines, _disc(GREY, "simulation"), black]
    figure.legend(handles=handles, loc="outside upper center", ncols=4)
    return figure


def _turn(axes: Axes, rows: Rows) -> None:
    followed, limit = turning(rows)
    colour = LOSSES["logistic"]
    points = series(select(rows, Distance), "ridge", "distance")
    values = [value.value for _, value in points]
    axes.plot([x for x, _ in points], values, ":o", color=colour, label="1 − cosine")
    style.measured(axes, points, colour)
    gaps = [abs(row.test_error.value - limit.test_error.value) for row in followed]
    ridges = [row.ridge for row in followed]
    axes.plot(ridges, gaps, "-D", ms=4, color=GREY, label="gap of test error")
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.invert_xaxis()
    axes.legend(loc="upper right")
    title = f"logistic against largest margin, α₁ = {RATIO:g} α*"
    style.axis_text(axes, x="λ", y="distance", title=title)


PICTURES = {"ridgeless": draw, "ridgeless_capacity": draw_capacity}
