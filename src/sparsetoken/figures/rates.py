"""Figure: how fast the query aligns, and how fast the test error comes down."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from sparsetoken.experiments.points import Point, curve, select
from sparsetoken.figures import style
from sparsetoken.figures.picture import Picture

__all__ = ["PICTURES", "draw"]

SETTINGS = {
    "balanced": style.SEQUENCE[0],
    "rare positives": style.SEQUENCE[2],
    "anti-aligned": style.SEQUENCE[4],
}
MODELS = ("attention", "pooled", "vectorized")


def draw(points: Sequence[Point]) -> Figure:
    """Draw 1 - |s| and the excess error with their predicted asymptotes, on logarithmic axes."""
    figure, (left, right) = style.new_figure(9.6, 4.2, 2)
    for name, colour in SETTINGS.items():
        _panel(left, points, "alignment", "misalignment", name, colour)
    for model in MODELS:
        _panel(right, points, "data", "excess", model, style.COLOURS[model])
    for axes in (left, right):
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.legend(loc="lower left")
    style.axis_text(left, x="α₀ = n₀ / d", y="1 − |s|", title="alignment of the query")
    style.axis_text(right, x="α₁ = n₁ / d", y="E − E∞", title="test error, square loss, λ → 0")
    return figure


def _panel(
    axes: Axes, points: Sequence[Point], group: str, quantity: str, name: str, colour: str
) -> None:
    known, found = curve(points, group=group, quantity=quantity, curve=name)
    (rate,) = select(points, group=group, quantity="rate", curve=name)
    ends = [known[0].x, known[-1].x]
    axes.plot(ends, [rate.value / x for x in ends], ":", color=colour, lw=1.1)
    style.predicted(axes, known, colour)
    axes.lines[-2].set_label(name)  # the line; the last artist holds what did not converge
    style.measured(axes, found, colour)


PICTURES = (
    Picture(
        "rates",
        draw,
        "Left: 1 − |s| of the query against α₀. Right: test error above its limit of infinite "
        "data against α₁. Lines: theory; dotted: the predicted first order, C/α₀ and rate/α₁. "
        "Points: simulation, mean and one standard error.",
    ),
)
