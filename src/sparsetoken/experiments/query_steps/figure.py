"""Figure: test error and cosine after each gradient step on the query."""

from __future__ import annotations

from matplotlib.figure import Figure

from sparsetoken.experiments import reference_lines as lines
from sparsetoken.experiments.query_steps.work import SIZES, AfterStep
from sparsetoken.experiments.references import References
from sparsetoken.experiments.rows import Rows, select, series
from sparsetoken.figures import style
from sparsetoken.figures.palette import GREEN, VERMILION

TITLES = {
    "test_error": "test error",
    "cosine": "cosine of the query",
    "sharpness": "sharpness k = β |q|",
}
STEP_COLOURS = (GREEN, VERMILION)


def draw(rows: Rows) -> Figure:
    """Draw test error (left), cosine (middle) and sharpness (right) against the step."""
    figure, panels = style.new_figure(10.4, 4.0, 3)
    lines.reference_lines(panels[0], [(row.load, row) for row in select(rows, References)])
    for eta_q, colour in zip(SIZES, STEP_COLOURS, strict=True):
        path = select(rows, AfterStep, eta_q=eta_q)
        label, look = f"$η_q$ = {eta_q:g}", {"color": colour, "lw": 1.0}
        for axes, name in zip(panels, TITLES, strict=True):
            lines.labelled_points(axes, series(path, "step", name), fmt="o-", label=label, **look)
        look |= {"mfc": "white", "label": f"{label}, k held"}
        lines.labelled_points(panels[0], series(path, "step", "held_test_error"), fmt="s--", **look)
    last = max(row.step for row in select(rows, AfterStep))
    for axes, title in zip(panels, TITLES.values(), strict=True):
        axes.set_xticks(range(2, last + 1, 2))
        style.axis_text(axes, x="gradient steps in all", y="", title=title)
    style.log_ticks(panels[0], y=(0.02, 0.03, 0.05, 0.1, 0.2, 0.3))
    lines.labelled_legend(figure, ncols=4)
    return figure


PICTURES = {"query_steps": draw}
