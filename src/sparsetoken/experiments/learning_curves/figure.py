"""Figures: learning curves of three models, and what the choice of the query changes."""

from __future__ import annotations

from functools import partial

from matplotlib.figure import Figure

from sparsetoken.experiments.learning_curves.rows import BestLearner, Effect, Simulated, Theory
from sparsetoken.experiments.learning_curves.work import MODELS
from sparsetoken.experiments.rows import Rows, select, series
from sparsetoken.figures import style

CHOICES = (
    ("alpha0", "α₀", "steps as chosen, α₀ varied"),
    ("sharpness", "k", "cosine as chosen, k varied"),
)


def draw(rows: Rows, loss: str) -> Figure:
    """Draw test error (left) and training loss (right) with one loss."""
    figure, panels = style.new_figure(8.6, 3.9, 2)
    shown = []
    for axes, quantity in zip(panels, ("test_error", "training_loss"), strict=True):
        for model in MODELS:
            line = series(select(rows, Theory, loss=loss, model=model), "alpha1", quantity)
            points = series(select(rows, Simulated, loss=loss, model=model), "alpha1", quantity)
            shown += style.compared(axes, line, points, style.COLOURS[model])
        if quantity == "test_error":
            floor = series(select(rows, BestLearner), "alpha1", quantity)
            style.predicted(axes, floor, style.COLOURS["floor"], "-.")
        style.load_axis(axes, [x for x, _ in shown])
        if quantity == "training_loss" and loss == "logistic":
            axes.set_yscale("log")  # it never reaches 0
        else:
            axes.set_ylim(0, None)
        name = quantity.replace("_", " ")
        style.axis_text(axes, x="α₁ = n₁ / d", y=name, title=f"{name}, {loss} loss")
    names = (*MODELS, "floor")
    style.legend(figure, [(name, style.COLOURS[name]) for name in names], shown)
    return figure


def draw_choices(rows: Rows) -> Figure:
    """Draw the predicted test error of attention for several choices of the query."""
    figure, panels = style.new_figure(8.6, 4.1, 2)
    for axes, (varied, letter, title) in zip(panels, CHOICES, strict=True):
        kept = select(rows, Effect, varied=varied)
        values = sorted({row.value for row in kept})
        for value, colour in zip(values, style.SEQUENCE, strict=True):
            line = [row for row in kept if row.value == value]
            style.predicted(axes, series(line, "alpha1", "test_error"), colour)
            chosen = " (chosen)" if value == 1 else ""
            axes.plot([], [], color=colour, label=f"{letter} = {value:g}{chosen}")
        style.load_axis(axes, [row.alpha1 for row in kept])
        style.axis_text(axes, x="α₁ = n₁ / d", y="test error, attention", title=title)
        # Below the axes, where no line can run through it.
        axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.16), ncols=3)
    top = max(axes.get_ylim()[1] for axes in panels)
    for axes in panels:
        axes.set_ylim(0, top)
    return figure


PICTURES = {
    "learning_curves_logistic": partial(draw, loss="logistic"),
    "learning_curves_square": partial(draw, loss="square"),
    "training_choice": draw_choices,
}
