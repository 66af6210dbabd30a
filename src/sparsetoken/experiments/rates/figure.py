"""Figure: how fast the query aligns, and how fast the test error comes down."""

from __future__ import annotations

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from sparsetoken.experiments.rates.rows import (
    Approach,
    Excess,
    Gap,
    MeasuredExcess,
    MeasuredGap,
    Rate,
)
from sparsetoken.experiments.rates.work import MODELS
from sparsetoken.experiments.rows import Rows, one, select, series
from sparsetoken.figures import style

SETTINGS = {
    "balanced": style.SEQUENCE[0],
    "rare positives": style.SEQUENCE[2],
    "anti-aligned": style.SEQUENCE[4],
}


def draw(rows: Rows) -> Figure:
    """Draw 1 - |s| and the excess error with their predicted asymptotes, on logarithmic axes."""
    figure, (left, right) = style.new_figure(9.6, 4.2, 2)
    for name, colour in SETTINGS.items():
        known, found = select(rows, Gap, setting=name), select(rows, MeasuredGap, setting=name)
        rate = one(rows, Rate, setting=name).rate.value
        lines = series(known, "alpha0", "gap"), series(found, "alpha0", "gap")
        _curve(left, *lines, rate, name, colour)
    for model in MODELS:
        data = select(rows, Excess, model=model), select(rows, MeasuredExcess, model=model)
        rate = one(rows, Approach, model=model).rate.value
        lines = series(data[0], "alpha1", "excess"), series(data[1], "alpha1", "excess")
        _curve(right, *lines, rate, model, style.COLOURS[model])
    for axes in (left, right):
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.legend(loc="lower left")
    style.axis_text(left, x="α₀ = n₀ / d", y="1 − |s|", title="alignment of the query")
    style.axis_text(right, x="α₁ = n₁ / d", y="E − E∞", title="test error, square loss, λ → 0")
    return figure


def _curve(
    axes: Axes, known: style.Series, found: style.Series, rate: float, name: str, colour: str
) -> None:
    ends = [known[0][0], known[-1][0]]
    axes.plot(ends, [rate / x for x in ends], ":", color=colour, lw=1.1)
    style.predicted(axes, known, colour)
    axes.plot([], [], color=colour, label=name)
    style.measured(axes, found, colour)


PICTURES = {"rates": draw}
