"""Figure: test error on data of another length, share of positives, or strength."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.figure import Figure

from sparsetoken.experiments.points import Point, curve
from sparsetoken.experiments.shifted_test import MODELS, PROBLEM, SHIFTS
from sparsetoken.figures import style
from sparsetoken.figures.picture import MARKS, Picture

__all__ = ["PICTURES", "draw"]

LABELS = ("L′, tokens of a test sample", "π′, share of positives at test", "θ′, strength at test")


def draw(points: Sequence[Point]) -> Figure:
    """Draw one panel for each change; a grey line marks the problem trained on."""
    figure, panels = style.new_figure(9.6, 3.7, 3)
    for axes, name, label in zip(panels, SHIFTS, LABELS, strict=True):
        axes.axvline(getattr(PROBLEM, name), color="#BBBBBB", lw=1.2)
        for model in MODELS:
            theory, measured = curve(points, group=name, curve=model)
            style.predicted(axes, theory, style.COLOURS[model])
            style.measured(axes, measured, style.COLOURS[model])
        if name == "length":
            axes.set_xscale("log")
            axes.set_xticks([5, 10, 20, 40, 80], ["5", "10", "20", "40", "80"])
            axes.minorticks_off()
        axes.set_ylim(0, None)
        style.axis_text(axes, x=label, y="")
    panels[0].set_ylabel("test error")
    style.legend(figure, [(model, style.COLOURS[model]) for model in MODELS], points)
    return figure


PICTURES = (
    Picture(
        "shifted-test",
        draw,
        "Test error on data of another law than the training set: other lengths, other shares of "
        f"positives, other strengths. Grey: the problem trained on. {MARKS}",
    ),
)
