"""Figure: test error, training loss and cosine along joint descents."""

from __future__ import annotations

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from sparsetoken.experiments import reference_lines as lines
from sparsetoken.experiments.joint_training.rows import QUANTITIES, AtStep, Followed
from sparsetoken.experiments.joint_training.work import ALPHA, RATIOS, STARTS
from sparsetoken.experiments.references import References
from sparsetoken.experiments.rows import Rows, select
from sparsetoken.figures import style
from sparsetoken.figures.palette import GREEN, PURPLE, VERMILION

COLOURS = dict(zip(RATIOS, (GREEN, PURPLE, VERMILION), strict=True))
LINES = dict(zip(STARTS, (("-", "o", "zero"), ("--", "s", "random")), strict=True))
TITLES = {
    "test_error": f"test error, n/d = {ALPHA:g}",
    "training_loss": "training loss",
    "cosine": "cosine of the query",
}


def draw(rows: Rows) -> Figure:
    """Draw the three quantities over the steps."""
    figure, panels = style.new_figure(11.0, 4.4, 3)
    for axes, name in zip(panels, QUANTITIES, strict=True):
        for ratio in RATIOS:
            for start in STARTS:
                _descent(axes, rows, name, ratio, start)
        style.axis_text(axes, x="steps", y="", title=TITLES[name])
    known = [(row.load, row) for row in select(rows, References)]
    lines.reference_lines(panels[0], known)
    style.log_ticks(panels[0], y=(0.02, 0.03, 0.05, 0.1, 0.2, 0.5))
    lines.labelled_legend(figure, ncols=5)
    return figure


def _descent(axes: Axes, rows: Rows, name: str, ratio: float, start: float) -> None:
    line, marker, label = LINES[start]
    place = {"ratio": ratio, "start": start}
    course = [(float(row.step), getattr(row, name)) for row in select(rows, AtStep, **place)]
    found = [(float(row.step), getattr(row, name)) for row in select(rows, Followed, **place)]
    far = max(value.dimension for _, value in found)
    points = [(step, value) for step, value in found if value.dimension == far]
    style.predicted(axes, course, COLOURS[ratio], line)
    look = {"fmt": marker, "color": COLOURS[ratio], "ms": 4.5}
    lines.labelled_points(axes, points, label=f"$\\eta_q/\\eta_w$ = {ratio:g}, {label}", **look)


PICTURES = {"joint_training": draw}
