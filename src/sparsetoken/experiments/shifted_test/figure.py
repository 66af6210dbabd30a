"""Figure: test error on data of another length, share of positives, or strength."""

from __future__ import annotations

from matplotlib.figure import Figure

from sparsetoken.experiments.rows import Rows, select, series
from sparsetoken.experiments.shifted_test.rows import Simulated, Theory
from sparsetoken.experiments.shifted_test.work import MODELS, PROBLEM
from sparsetoken.figures import style
from sparsetoken.figures.palette import LIGHT_GREY

LABELS = {
    "length": "L′, tokens of a test sample",
    "positive_rate": "π′, share of positives at test",
    "strength": "θ′, strength at test",
}


def draw(rows: Rows) -> Figure:
    """Draw one panel for each change; a grey line marks the problem trained on."""
    figure, panels = style.new_figure(9.6, 3.7, 3)
    shown = []
    for axes, shift in zip(panels, LABELS, strict=True):
        axes.axvline(getattr(PROBLEM, shift), color=LIGHT_GREY, lw=1.2)
        for model in MODELS:
            place = {"model": model, "shift": shift}
            line = series(select(rows, Theory, **place), "value", "test_error")
            points = series(select(rows, Simulated, **place), "value", "test_error")
            shown += style.compared(axes, line, points, style.COLOURS[model])
        axes.set_ylim(0, None)
        style.axis_text(axes, x=LABELS[shift], y="test error" * (axes is panels[0]))
    style.log_ticks(panels[0], x=(5, 10, 20, 40, 80))
    style.legend(figure, [(model, style.COLOURS[model]) for model in MODELS], shown)
    return figure


PICTURES = {"shifted_test": draw}
