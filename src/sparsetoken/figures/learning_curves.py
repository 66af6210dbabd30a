"""Figure: test error and training loss of three models against alpha1, for one loss."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from matplotlib.figure import Figure

from sparsetoken.experiments.points import Point, curve, select
from sparsetoken.figures import style, training_choice
from sparsetoken.figures.picture import MARKS, Picture

__all__ = ["PICTURES", "draw"]

MODELS = ("attention", "pooled", "vectorized")


def draw(points: Sequence[Point], loss: str) -> Figure:
    """Draw test error (left) and training loss (right)."""
    figure, panels = style.new_figure(8.6, 3.9, 2)
    kept = select(points, group=loss)
    for axes, quantity in zip(panels, ("test_error", "training_loss"), strict=True):
        for model in MODELS:
            theory, simulation = curve(kept, curve=model, quantity=quantity)
            style.predicted(axes, theory, style.COLOURS[model])
            style.measured(axes, simulation, style.COLOURS[model])
        style.load_axis(axes, kept)
        if quantity == "training_loss" and loss == "logistic":
            axes.set_yscale("log")  # it never reaches 0
        else:
            axes.set_ylim(0, None)
        name = quantity.replace("_", " ")
        style.axis_text(axes, x="α₁ = n₁ / d", y=name, title=f"{name}, {loss} loss")
    style.legend(figure, [(model, style.COLOURS[model]) for model in MODELS], kept)
    return figure


PICTURES = (
    *(
        Picture(
            f"learning_curves_{loss}",
            partial(draw, loss=loss),
            f"Test error (left) and training loss (right) with the {loss} loss, against "
            f"the load of the second data set. {MARKS}",
        )
        for loss in ("logistic", "square")
    ),
    Picture(
        "training_choice",
        training_choice.draw,
        "Theory only: what the choice of training changes, logistic loss. Left: more data in "
        "the first two steps, a better aligned query. Right: the same query direction "
        "with another sharpness.",
    ),
)
