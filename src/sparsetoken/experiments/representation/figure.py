"""Figures: critical strength against length, and best errors against strength."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from sparsetoken.experiments.representation.rows import BestError, Critical
from sparsetoken.experiments.rows import Rows, select, series
from sparsetoken.figures import style
from sparsetoken.figures.palette import BLACK, BLUE, GREY, LIGHT_GREY, ORANGE, PURPLE, SKY, WINE


class Look(NamedTuple):
    """How a curve is drawn."""

    label: str
    colour: str
    line: str


LOOKS = {
    "pooled": Look("pooled = vectorized", ORANGE, "-"),
    "elementwise_erf": Look("elementwise 1 + erf", PURPLE, "-"),
    "elementwise_sigmoid": Look("elementwise sigmoid", PURPLE, ":"),
    "elementwise_tanh": Look("elementwise tanh", WINE, "-"),
    "elementwise_linear": Look("elementwise 1 + x", WINE, ":"),
    "elementwise_relu": Look("elementwise ReLU", WINE, "--"),
    "elementwise_exp": Look("elementwise exp", SKY, ":"),
    "attention_fixed": Look("attention, k = 1", BLUE, "--"),
    "attention": Look("attention, k free", BLUE, "-"),
    "bayes": Look("Bayes", BLACK, ":"),
}
"""The highest curve first."""
BEST = ("attention_fixed", "elementwise_exp", "attention", "bayes")


def draw(rows: Rows) -> Figure:
    """Draw critical strengths for one informative token, all models and the best three."""
    figure, (every, low) = style.new_figure(9.8, 4.6, 2)
    kept = select(rows, Critical, informative=1)
    for axes, names in ((every, tuple(LOOKS)), (low, BEST)):
        _curves(axes, kept, names, "length", "strength")
        axes.set_xscale("log", base=2)
    L = sorted({row.length for row in kept})
    fine = np.geomspace(L[0], L[-1], 100)
    _guide(every, "√L", fine, 4.65 * np.sqrt(fine))
    _guide(every, r"$L^{1/4}$", fine, 2.0 * fine**0.25)
    _guide(low, "√(2 log L)", fine, np.sqrt(2 * np.log(fine)))
    _guide(low, "(log L)/2 + 1", fine, np.log(fine) / 2 + 1)
    every.set_yscale("log")
    style.axis_text(every, x="L", y="critical θ at test error 0.01", title="All models")
    style.axis_text(low, x="L", y="", title="Logarithmic laws, linear axis")
    _legend(figure, every)
    return figure


def draw_errors(rows: Rows) -> Figure:
    """Draw best errors against strength at one length, over the Bayes error."""
    figure, (axes,) = style.new_figure(6.8, 4.8)
    kept = [row for row in select(rows, BestError) if row.test_error.value > 1e-5]
    _curves(axes, kept, LOOKS, "strength", "test_error")
    axes.set_yscale("log")
    axes.set_ylim(1e-4, 0.7)
    style.axis_text(axes, x="θ", y="best test error", title=f"L = {kept[0].length}, R = 1")
    _legend(figure, axes)
    return figure


def _curves(axes: Axes, rows: Rows, names: Iterable[str], x: str, y: str) -> None:
    for name in names:
        label, colour, line = LOOKS[name]
        style.predicted(axes, series([r for r in rows if r.curve == name], x, y), colour, line)
        axes.plot([], [], line, color=colour, label=label)


def _guide(axes: Axes, name: str, x: np.ndarray, y: np.ndarray) -> None:
    """Draw a growth law as a thin line, for the eye."""
    axes.plot(x, y, color=LIGHT_GREY, lw=0.8)
    axes.annotate(
        name,
        (x[-1], y[-1]),
        xytext=(4, 0),
        textcoords="offset points",
        color=GREY,
        va="center",
        fontsize=8.5,
        annotation_clip=False,
    )


def _legend(figure: Figure, axes: Axes) -> None:
    handles, labels = axes.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside right upper")


PICTURES = {"representation": draw, "representation_error": draw_errors}
