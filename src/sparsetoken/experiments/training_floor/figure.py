"""Figure: ways of training above the floor."""

from __future__ import annotations

from typing import Any

from matplotlib.figure import Figure

from sparsetoken.experiments import reference_lines as lines
from sparsetoken.experiments.rows import Rows, select, series
from sparsetoken.experiments.training_floor.rows import Levels, MessagesPassed, Searched
from sparsetoken.experiments.training_floor.work import DESCENT, STAGES
from sparsetoken.figures import style
from sparsetoken.figures.palette import BLUE, GREY, VERMILION

LINES = {
    "pooled": ("pooled", style.COLOURS["pooled"], "--"),
    "split": ("four stages, best split", style.COLOURS["attention"], "-"),
    "floor": ("best learner", style.COLOURS["floor"], "-."),
    "bayes": ("Bayes, signal known", style.COLOURS["bayes"], ":"),
}
POINTS = {
    STAGES: ("four stages, all choices", BLUE, "o"),
    DESCENT: ("one descent, constant steps", VERMILION, "s"),
}


def draw(rows: Rows) -> Figure:
    """Draw the test errors against the load: crosses are predicted, points measured."""
    figure, (axes,) = style.new_figure(7.6, 4.6)
    levels = select(rows, Levels)
    for name, (label, colour, line) in LINES.items():
        style.predicted(axes, series(levels, "alpha", name), colour, line)
        axes.plot([], [], line, color=colour, label=f"{label}, theory")
    for training, (label, colour, marker) in POINTS.items():
        every = select(rows, Searched, training=training)
        least = min(row.measured.dimension for row in every)  # with real tokens
        found = [row for row in every if row.measured.dimension == least]
        look: dict[str, Any] = {"color": colour, "fmt": marker, "ms": 5}
        lines.labelled_points(axes, series(found, "alpha", "measured"), label=label, **look)
        predicted = series(found, "alpha", "predicted")
        axes.plot(
            [x for x, _ in predicted], [v.value for _, v in predicted], "x", color=colour, ms=9
        )
    passed = series(select(rows, MessagesPassed), "alpha", "test_error")
    look = {"color": GREY, "fmt": "^", "ms": 5}
    lines.labelled_points(axes, passed, label="message passing", **look)
    style.log_ticks(axes, y=(0.02, 0.03, 0.05, 0.1, 0.2, 0.4))
    style.load_axis(axes, [row.alpha for row in levels])
    style.axis_text(axes, x="n / d, all samples", y="test error")
    lines.labelled_legend(figure)
    return figure


PICTURES = {"training_floor": draw}
