"""Figure: the same data for query and readout, against fresh data."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from sparsetoken.experiments.points import THEORY, Point, select
from sparsetoken.figures import style
from sparsetoken.figures.picture import Picture
from sparsetoken.figures.references import labelled_legend, reference_lines

__all__ = ["PICTURES", "draw"]

LOOKS = {
    "fresh": ("fresh D0 and D1", "#0072B2", "o", 0.94),
    "reused": ("D0 = D1", "#D55E00", "s", 1.0),
    "all twice": ("D0 ∪ D1 used twice", "#009E73", "^", 1.06),
}
"""Label, colour, marker, and a shift along x that keeps error bars apart."""


def draw(points: Sequence[Point]) -> Figure:
    """Draw the test error (left) and its difference to fresh data (right)."""
    figure, (left, right) = style.new_figure(8.8, 4.2, 2)
    reference_lines(left, points)
    right.axhline(0, color="black", lw=0.8)
    for arm in LOOKS:
        _marks(left, select(points, curve=arm, quantity="test_error"), arm)
        if arm != "fresh":
            _marks(right, select(points, curve=arm, quantity="test_error − fresh"), arm)
    left.set_yscale("log")
    ticks = (0.02, 0.03, 0.05, 0.1, 0.2, 0.4)
    left.set_yticks(ticks, [f"{t:g}" for t in ticks])
    left.set_ylim(0.015, None)
    simulated = [p for p in points if p.source != THEORY]
    for axes in (left, right):
        style.load_axis(axes, simulated)
    style.axis_text(left, x="load n₀/d = n₁/d", y="test error", title="test error")
    style.axis_text(right, x="load n₀/d = n₁/d", y="", title="test error less that with fresh data")
    labelled_legend(figure)
    return figure


def _marks(axes: Axes, points: Sequence[Point], arm: str) -> None:
    label, colour, marker, shift = LOOKS[arm]
    axes.errorbar(
        [p.x * shift for p in points],
        [p.value for p in points],
        [p.error for p in points],
        fmt=marker,
        color=colour,
        label=label,
        capsize=2.5,
        elinewidth=1.3,
    )


PICTURES: tuple[Picture, ...] = (
    Picture(
        "data_reuse",
        draw,
        "By experiment: query and readout trained on the same data. Left: test error against the "
        "load, with the theory for fresh data. Right: paired differences to fresh data. "
        "Points are moved a little along the axis to keep them apart. "
        "Means over trials with one standard error.",
    ),
)
