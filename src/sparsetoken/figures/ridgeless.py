"""Figures: the interpolation peak, and training loss and direction around capacity."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from sparsetoken.experiments.points import Point, curve, select
from sparsetoken.figures import style
from sparsetoken.figures.picture import Picture

__all__ = ["PICTURES", "draw", "draw_capacity"]

RIDGES = {0.0: "-", 1e-2: "--", 1e-1: ":"}
SHADES = dict(zip(RIDGES, (style.SEQUENCE[0], style.SEQUENCE[1], style.SEQUENCE[3]), strict=True))
LOSSES = {"hinge": style.SEQUENCE[1], "logistic": style.SEQUENCE[4]}
GREY = "#555555"


def draw(points: Sequence[Point]) -> Figure:
    """Draw test error of three models, and susceptibility of attention, against the load."""
    figure, (left, right) = style.new_figure(9.6, 4.2, 2)
    loads = select(points, group="load")
    for model in ("attention", "pooled", "vectorized"):
        for ridge, line in RIDGES.items():
            known, found = curve(loads, quantity="test_error", curve=model, y=ridge)
            if model != "vectorized":  # its line is that of pooled
                _line(left, known, style.COLOURS[model], line)
            if ridge == 0:
                style.measured(left, found, style.COLOURS[model])
    for ridge, line in RIDGES.items():
        known, found = curve(loads, quantity="susceptibility", curve="attention", y=ridge)
        finite = [p for p in known if p.x > 1 or ridge > 0]
        _line(right, finite, SHADES[ridge], line)
        style.measured(right, found, SHADES[ridge])
    for axes in (left, right):
        style.load_axis(axes, loads)
        axes.axvline(1.0, color="black", lw=0.9)
    right.set_yscale("log")
    x = "n₁ / number of weights"
    style.axis_text(left, x=x, y="test error", title="test error, square loss")
    style.axis_text(right, x=x, y="susceptibility χ", title="susceptibility of attention")
    _legend(figure)
    return figure


def _line(axes: Axes, points: Sequence[Point], colour: str, line: str) -> None:
    """Draw a line; without a ridge it breaks at the threshold, which has no limit."""
    parts = [points]
    if line == "-":
        parts = [[p for p in points if p.x < 1], [p for p in points if p.x > 1]]
    for part in parts:
        style.predicted(axes, part, colour, line)


def _legend(figure: Figure) -> None:
    models = [
        Line2D([], [], color=style.COLOURS[name], label=name) for name in ("attention", "pooled")
    ]
    disc = {"ls": "none", "marker": "o", "mec": "white", "mew": 0.6}
    vectorized = Line2D([], [], color=style.COLOURS["vectorized"], **disc)  # type: ignore[arg-type]
    vectorized.set_label("vectorized (line of pooled)")
    ridges = [
        Line2D([], [], color=SHADES[r], ls=line, label="λ → 0" if r == 0 else f"λ = {r:g}")
        for r, line in RIDGES.items()
    ]
    figure.legend(handles=[*models, vectorized, *ridges], loc="outside upper center", ncols=6)


def draw_capacity(points: Sequence[Point]) -> Figure:
    """Draw the training loss across the capacity, and the turn to the largest margin."""
    figure, (left, right) = style.new_figure(9.6, 4.0, 2)
    for loss, colour in LOSSES.items():
        known, found = curve(points, group="capacity", quantity="training_loss", curve=loss)
        style.predicted(left, known, colour)
        style.measured(left, found, colour)
    left.axvline(1.0, color="black", lw=0.9)
    style.axis_text(left, x="α₁ / α*", y="training loss", title="training loss, λ → 0")
    _turn(right, points)
    lines = [Line2D([], [], color=colour, label=loss) for loss, colour in LOSSES.items()]
    disc = Line2D([], [], ls="none", marker="o", color=GREY, mec="white", label="simulation")
    black = Line2D([], [], color="black", lw=0.9, label="predicted capacity")
    figure.legend(handles=[*lines, disc, black], loc="outside upper center", ncols=4)
    return figure


def _turn(axes: Axes, points: Sequence[Point]) -> None:
    measured = select(points, group="direction", quantity="distance")
    axes.plot(
        [p.x for p in measured],
        [p.value for p in measured],
        ":o",
        color=LOSSES["logistic"],
        label="1 − cosine",
    )
    style.measured(axes, measured, LOSSES["logistic"])
    known = select(points, group="direction", quantity="test_error")
    ratio = known[0].y
    (limit,) = select(
        points, group="capacity", quantity="test_error", curve="hinge", x=ratio, source="theory"
    )
    gaps = [(p.x, abs(p.value - limit.value)) for p in known]
    axes.plot(*zip(*gaps, strict=True), "-D", ms=4, color=GREY, label="gap of test error")
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.invert_xaxis()
    axes.legend(loc="upper right")
    title = f"logistic against largest margin, α₁ = {ratio:g} α*"
    style.axis_text(axes, x="λ", y="distance", title=title)


PICTURES = (
    Picture(
        "ridgeless",
        draw,
        "Square loss through the interpolation threshold, n₁ = number of weights (d, or L d for "
        "vectorized). Left: without a ridge the test error peaks there; a ridge takes the peak "
        "away. Points are simulations without a ridge. Right: the susceptibility, infinite "
        "below the threshold without a ridge; points are measured as the trace of a resolvent.",
    ),
    Picture(
        "ridgeless_capacity",
        draw_capacity,
        "Left: training loss of attention as λ → 0; it leaves zero at the predicted capacity. "
        "Points: λ = 10⁻⁶. Right: how the logistic readout turns to the readout of largest "
        "margin as λ falls: measured 1 − cosine of the two on the same data (points), and the "
        "distance of the predicted test error from that of the largest margin (diamonds).",
    ),
)
