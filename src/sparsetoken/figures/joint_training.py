"""Figure: test error and cosine along the joint descent."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from sparsetoken.experiments.points import Point, select
from sparsetoken.figures import style
from sparsetoken.figures.picture import Picture
from sparsetoken.figures.references import labelled_legend, reference_lines

__all__ = ["PICTURES", "draw"]

LOOKS = {
    "small random weights": ("joint, small random start", "#009E73", "o"),
    "two-step solution": ("joint, from the two-step solution", "#D55E00", "s"),
}
ZERO = 0.4
"""Where step 0 stands on the logarithmic axis."""


def draw(points: Sequence[Point]) -> Figure:
    """Draw the test error for each load, and the cosines of the query for all."""
    groups = list(dict.fromkeys(p.group for p in points))
    figure, panels = style.new_figure(3.7 * (len(groups) + 1), 4.2, len(groups) + 1)
    for axes, group in zip(panels, groups, strict=False):
        kept = select(points, group=group)
        reference_lines(axes, kept)
        _paths(axes, kept, "test_error")
        axes.set_yscale("log")
        axes.set_ylim(0.014, 0.6)
        ticks = (0.02, 0.05, 0.1, 0.2, 0.5)
        axes.set_yticks(ticks, [f"{t:g}" for t in ticks])
        axes.minorticks_off()
        _step_axis(axes, points)
        style.axis_text(axes, x="steps", y="", title=f"test error, {group}")
    for group, line in zip(groups, ("-", "--", ":"), strict=False):
        _paths(panels[-1], select(points, group=group), "cosine", line)
        start = select(points, group=group, curve="two-step solution", quantity="cosine")[0]
        panels[-1].annotate(
            group.removeprefix("n₀/d = n₁/d = "),
            (start.x or ZERO, start.value),
            xytext=(-4, 5),
            textcoords="offset points",
            ha="right",
            fontsize=8,
        )
    _step_axis(panels[-1], points)
    style.axis_text(panels[-1], x="steps", y="", title="cosine of the query, both loads")
    labelled_legend(figure)
    return figure


def _paths(axes: Axes, points: Sequence[Point], quantity: str, line: str = "-") -> None:
    for begin, (label, colour, marker) in LOOKS.items():
        path = select(points, curve=begin, quantity=quantity)
        axes.errorbar(
            [p.x or ZERO for p in path],
            [p.value for p in path],
            [p.error for p in path],
            fmt=marker + line,
            color=colour,
            lw=1.0,
            ms=4.5,
            label=label,
            capsize=2.5,
        )


def _step_axis(axes: Axes, points: Sequence[Point]) -> None:
    axes.set_xscale("log")
    last = max(p.x for p in points)
    ticks = [t for t in (1, 10, 100, 1000, 10000) if t <= last]
    axes.set_xticks([ZERO, *ticks], ["0", *map(str, ticks)])
    axes.minorticks_off()


PICTURES: tuple[Picture, ...] = (
    Picture(
        "joint_training",
        draw,
        "By experiment: gradient descent on query, readout and bias together, on the same "
        "samples as the four stages. Test error for each load, and the cosine of the query with "
        "the signal (the number at a curve is its load). Means over trials with one standard "
        "error.",
    ),
)
