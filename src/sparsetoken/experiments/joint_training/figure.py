"""Figure: test error and cosine along the joint descent."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from sparsetoken.experiments import reference_lines as lines
from sparsetoken.experiments.joint_training.work import AfterSteps
from sparsetoken.experiments.references import References
from sparsetoken.experiments.rows import select
from sparsetoken.figures import style

__all__ = ["PICTURES", "draw"]

LOOKS = {
    "small random weights": ("joint, small random start", "#009E73", "o"),
    "two-step solution": ("joint, from the two-step solution", "#D55E00", "s"),
}
ZERO = 0.4
"""Where step 0 stands on the logarithmic axis."""


def draw(rows: Sequence[Any]) -> Figure:
    """Draw the test error for each load, and the cosines of the query for all."""
    known = select(rows, References)
    figure, panels = style.new_figure(3.7 * (len(known) + 1), 4.2, len(known) + 1)
    for axes, at, line in zip(panels, known, ("-", "--", ":"), strict=False):
        path = select(rows, AfterSteps, load=at.load)
        lines.reference_lines(axes, [(ZERO, at)])
        _paths(axes, path, "test_error")
        lines.error_axis(axes, (0.02, 0.05, 0.1, 0.2, 0.5))
        axes.set_ylim(0.014, 0.6)
        style.axis_text(axes, x="steps", y="", title=f"test error, n₀/d = n₁/d = {at.load:g}")
        _paths(panels[-1], path, "cosine", line)
        _name_load(panels[-1], path)
    style.axis_text(panels[-1], x="steps", y="", title="cosine of the query, all loads")
    for axes in panels:
        _step_axis(axes, max(row.steps for row in select(rows, AfterSteps)))
    lines.labelled_legend(figure)
    return figure


def _paths(axes: Axes, rows: Sequence[AfterSteps], column: str, line: str = "-") -> None:
    for start, (label, colour, marker) in LOOKS.items():
        path = [
            (r.steps or ZERO, getattr(r, column)) for r in select(rows, AfterSteps, start=start)
        ]
        look = {"fmt": marker + line, "color": colour, "lw": 1.0, "ms": 4.5}
        lines.labelled_points(axes, path, label=label, **look)


def _name_load(axes: Axes, rows: Sequence[AfterSteps]) -> None:
    first = select(rows, AfterSteps, start="two-step solution")[0]
    place = (first.steps or ZERO, first.cosine.value)
    look: dict[str, Any] = {"xytext": (-4, 5), "textcoords": "offset points", "ha": "right"}
    axes.annotate(f"{first.load:g}", place, fontsize=8, **look)


def _step_axis(axes: Axes, last: int) -> None:
    axes.set_xscale("log")
    ticks = [t for t in (1, 10, 100, 1000, 10000) if t <= last]
    axes.set_xticks([ZERO, *ticks], ["0", *map(str, ticks)])
    axes.minorticks_off()


PICTURES = {"joint_training": draw}
