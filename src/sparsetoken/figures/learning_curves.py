"""Figure: test error and training loss of three models against alpha1, for one loss."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from sparsetoken.experiments.points import Point, curve, select
from sparsetoken.figures import style

__all__ = ["draw", "load_axis"]

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
        load_axis(axes, kept)
        if quantity == "training_loss" and loss == "logistic":
            axes.set_yscale("log")  # it never reaches 0
        else:
            axes.set_ylim(0, None)
        name = quantity.replace("_", " ")
        style.axis_text(axes, x="α₁ = n₁ / d", y=name, title=f"{name}, {loss} loss")
    style.legend(figure, [(model, style.COLOURS[model]) for model in MODELS], kept)
    return figure


def load_axis(axes: Axes, points: Sequence[Point]) -> None:
    """Give alpha1 a logarithmic axis with plain numbers."""
    low, high = min(p.x for p in points), max(p.x for p in points)
    axes.set_xscale("log")
    ticks = [t for t in (0.25, 0.5, 1, 2, 4, 8, 16) if low <= t <= high]
    axes.set_xticks(ticks, [f"{t:g}" for t in ticks])
    axes.minorticks_off()
