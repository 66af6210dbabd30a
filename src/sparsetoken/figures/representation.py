"""Figures: critical strength against length, and best errors against strength."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from sparsetoken.experiments.points import Point, select
from sparsetoken.figures import style
from sparsetoken.figures.picture import Picture

__all__ = ["PICTURES", "draw", "draw_errors"]

LOOKS = {
    "pooled": ("pooled = vectorized", "#E69F00", "-"),
    "elementwise_erf": ("elementwise 1 + erf", "#CC79A7", "-"),
    "elementwise_sigmoid": ("elementwise sigmoid", "#CC79A7", ":"),
    "elementwise_tanh": ("elementwise tanh", "#882255", "-"),
    "elementwise_linear": ("elementwise 1 + x", "#882255", ":"),
    "elementwise_relu": ("elementwise ReLU", "#882255", "--"),
    "elementwise_exp": ("elementwise exp", "#56B4E9", ":"),
    "attention_fixed": ("attention, k = 1", "#0072B2", "--"),
    "attention": ("attention, k free", "#0072B2", "-"),
    "bayes": ("Bayes", "#000000", ":"),
}
"""Name, colour and line; the highest curve first."""


def draw(points: Sequence[Point]) -> Figure:
    """Draw critical strengths for one informative token, all models and the best three."""
    figure, (every, low) = style.new_figure(9.8, 4.6, 2)
    kept = select(points, quantity="critical_strength", group="R = 1")
    _lines(every, kept, LOOKS)
    _lines(low, kept, ("attention_fixed", "elementwise_exp", "attention", "bayes"))
    L = np.array(sorted({p.x for p in kept}))
    fine = np.geomspace(L[0], L[-1], 100)
    for axes, laws in (
        (every, (("√L", 4.65 * np.sqrt(fine)), ("L^¼", 2.0 * fine**0.25))),
        (low, (("√(2 log L)", np.sqrt(2 * np.log(fine))), ("(log L)/2 + 1", np.log(fine) / 2 + 1))),
    ):
        for name, values in laws:
            axes.plot(fine, values, color="#999999", lw=0.8)
            axes.annotate(
                name,
                (fine[-1], values[-1]),
                xytext=(4, 0),
                textcoords="offset points",
                color="#666666",
                va="center",
                fontsize=8.5,
                annotation_clip=False,
            )
        axes.set_xscale("log", base=2)
    every.set_yscale("log")
    style.axis_text(every, x="L", y="critical θ at test error 0.01", title="All models")
    style.axis_text(low, x="L", y="", title="Logarithmic laws, linear axis")
    _legend(figure, every)
    return figure


def draw_errors(points: Sequence[Point]) -> Figure:
    """Draw best errors against strength at one length, over the Bayes error."""
    figure, (axes,) = style.new_figure(6.8, 4.8)
    kept = select(points, quantity="test_error", group="curve")
    _lines(axes, [p for p in kept if p.value > 1e-5], LOOKS)
    axes.set_yscale("log")
    axes.set_ylim(1e-4, 0.7)
    style.axis_text(axes, x="θ", y="best test error", title=f"L = {kept[0].y:g}, R = 1")
    _legend(figure, axes)
    return figure


def _lines(axes: Axes, points: Sequence[Point], names: Iterable[str]) -> None:
    for name in names:
        label, colour, line = LOOKS[name]
        style.predicted(axes, [p for p in points if p.curve == name], colour, line)
        axes.lines[-2].set_label(label)


def _legend(figure: Figure, axes: Axes) -> None:
    handles, labels = axes.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside right upper")


PICTURES: tuple[Picture, ...] = (
    Picture(
        "representation",
        draw,
        "Signal strength at which the best weights reach a test error of 0.01, R = 1. Thin grey "
        "lines: growth laws, for the eye. Elementwise models have their best sharpness.",
    ),
    Picture(
        "representation_error",
        draw_errors,
        "Best test error of each model against the signal strength at one length, R = 1, and the "
        "Bayes error below all of them. Errors below 1e-5 are not resolved.",
    ),
)
