"""Figure: the same data for query and readout, against fresh data."""

from __future__ import annotations

from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from sparsetoken.experiments import reference_lines as lines
from sparsetoken.experiments.data_reuse.claims import TIMES
from sparsetoken.experiments.data_reuse.work import Reused, Trained
from sparsetoken.experiments.references import References
from sparsetoken.experiments.rows import Rows, one, select, series
from sparsetoken.figures import style
from sparsetoken.figures.palette import BLUE, GREEN, VERMILION

LOOKS = {
    "fresh": ("fresh D0 and D1", BLUE, "o", 0.94),
    "reused": ("D0 = D1", VERMILION, "s", 1.0),
    "all twice": ("D0 ∪ D1 used twice", GREEN, "^", 1.06),
}
"""Label, colour, marker, and a shift along x that keeps error bars apart."""


def draw(rows: Rows) -> Figure:
    """Draw the test error (left) and the cosine of the query (right)."""
    figure, (left, right) = style.new_figure(8.8, 4.2, 2)
    places = [(row.load, row) for row in select(rows, References)]
    lines.reference_lines(left, places, ("pooled", "floor", "bayes"))
    fresh = [(load, row.attention) for load, row in places]
    style.predicted(left, fresh, LOOKS["fresh"][1])
    for arm in LOOKS:
        for axes, column in ((left, "test_error"), (right, "cosine")):
            if arm in TIMES:
                style.predicted(axes, _line(rows, arm, column), LOOKS[arm][1])
            _points(axes, rows, arm, column)
    style.log_ticks(left, y=(0.02, 0.03, 0.05, 0.1, 0.2, 0.4))
    left.set_ylim(0.015, None)
    for axes in (left, right):
        style.load_axis(axes, {row.load for row in select(rows, Trained)})
    style.axis_text(left, x="load n₀/d = n₁/d", y="test error", title="test error")
    style.axis_text(right, x="load n₀/d = n₁/d", y="", title="cosine of the query")
    lines.labelled_legend(figure)
    return figure


def _line(rows: Rows, arm: str, column: str) -> list[tuple[float, Any]]:
    loads = sorted(row.load for row in select(rows, Trained, arm=arm))
    return [(x, getattr(one(rows, Reused, alpha=TIMES[arm] * x), column)) for x in loads]


def _points(axes: Axes, rows: Rows, arm: str, column: str) -> None:
    label, colour, marker, shift = LOOKS[arm]
    found = [(x * shift, v) for x, v in series(select(rows, Trained, arm=arm), "load", column)]
    lines.labelled_points(axes, found, fmt=marker, color=colour, label=label, elinewidth=1.3)


PICTURES = {"data_reuse": draw}
