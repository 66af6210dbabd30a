"""Figure: capacity of three models against cosine, strength and length, and its width."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from sparsetoken.experiments.capacity_places import BASE, PLACES, Place, fits, measured
from sparsetoken.experiments.points import Point, select
from sparsetoken.experiments.threshold import Threshold
from sparsetoken.figures import style
from sparsetoken.figures.picture import Picture

__all__ = ["PICTURES", "draw", "draw_widths"]

MODELS = ("attention", "pooled", "vectorized")
COORDINATES = ("length", "strength", "cosine")
AXES = {"cosine": "cosine s", "strength": "strength θ", "length": "length L"}


def draw(points: Sequence[Point]) -> Figure:
    """Draw one panel for each coordinate: theory as lines, measured thresholds as points."""
    figure, panels = style.new_figure(9.6, 3.8, 3)
    for axes, panel in zip(panels, AXES, strict=True):
        # The scale that shows attention beside pooled has no room for vectorized.
        shown = MODELS[:2] if panel == "cosine" else MODELS
        for model in shown:
            line = select(points, quantity="capacity", group=panel, curve=model)
            style.predicted(axes, line, style.COLOURS[model])
            style.measured(axes, _on_panel(points, panel, model), style.COLOURS[model])
        fixed = [f"{letter} = {value}" for name, letter, value in _base() if name != panel]
        title = ", ".join(fixed)
        style.axis_text(axes, x=AXES[panel], y="capacity α*" * (panel == "cosine"), title=title)
    _crossings(panels, points)
    _scales(panels, points)
    style.legend(figure, [(m, style.COLOURS[m]) for m in MODELS], _marks(points))
    return figure


def _base() -> list[tuple[str, str, str]]:
    letters = ("L", "θ", "s")
    return [
        (name, letter, f"{getattr(BASE, name):g}")
        for name, letter in zip(COORDINATES, letters, strict=True)
    ]


def _on_panel(points: Sequence[Point], panel: str, model: str) -> list[Point]:
    """Return the measured thresholds of the places that differ from the base here only."""
    found = []
    for place in PLACES.values():
        if model in place.models and _differs(place) <= {panel}:
            point = measured(points, place.name, model)
            x = float(getattr(place, panel))
            found.append(Point(**{**vars(point), "x": x}))
    return found


def _differs(place: Place) -> set[str]:
    return {name for name in COORDINATES if getattr(place, name) != getattr(BASE, name)}


def _marks(points: Sequence[Point]) -> list[Point]:
    """Return one point for each kind of mark that is drawn."""
    thresholds = [measured(points, p.name, m) for p in PLACES.values() for m in p.models]
    return [*select(points, quantity="capacity"), *thresholds]


def _crossings(panels: Sequence[Axes], points: Sequence[Point]) -> None:
    for axes, panel in zip(panels, AXES, strict=True):
        for point in select(points, quantity="crossing", group=panel):
            letter = {"cosine": "s", "strength": "θ"}[panel]
            axes.axvline(point.x, color="#888888", lw=1, ls=":")
            axes.annotate(
                f"attention meets\n{point.curve}\nat {letter} = {point.x:.2f}",
                (point.x, 0.97),
                xycoords=("data", "axes fraction"),
                xytext=(-4, 0),
                textcoords="offset points",
                ha="right",
                va="top",
                fontsize=8.5,
                color="#444444",
            )


def _scales(panels: Sequence[Axes], points: Sequence[Point]) -> None:
    cosine, strength, length = panels
    vectorized = select(points, quantity="capacity", group="cosine", curve="vectorized")[0]
    cosine.text(
        0.98,
        0.03,
        f"vectorized, off the scale: {vectorized.value:.2f}",
        transform=cosine.transAxes,
        ha="right",
        fontsize=8.5,
        color=style.COLOURS["vectorized"],
        bbox={"facecolor": "white", "edgecolor": "none", "pad": 1.5},
    )
    for axes in (strength, length):
        axes.set_yscale("log")
        axes.set_yticks([2, 4, 8, 16, 32], ["2", "4", "8", "16", "32"])
        axes.minorticks_off()
    length.set_xscale("log", base=2)
    length.set_xticks([1, 2, 4, 8, 16], ["1", "2", "4", "8", "16"])


def draw_widths(points: Sequence[Point]) -> Figure:
    """Draw the relative width of each transition, and their mean, against the size."""
    figure, (axes,) = style.new_figure(7.2, 3.8)
    found: dict[int, list[Threshold]] = {}
    for place in PLACES.values():
        for model in place.models:
            fitted = fits(points, place.name, model)
            for m, fit in ((m, fit) for m, fit in fitted.items() if fit.converged):
                found.setdefault(m, []).append(fit)
                beside = m * 1.05 ** (MODELS.index(model) - 1)
                colour = style.COLOURS[model]
                axes.plot(beside, fit.width / fit.middle, "o", color=colour, alpha=0.4, mew=0)
    sizes = sorted(found)
    for m in sizes:
        mean, error = _mean_width(found[m])
        axes.errorbar([m], [mean], yerr=[error], fmt="D", color="black", ms=5, capsize=3)
    line = axes.plot(sizes, [(2 * m) ** -0.5 for m in sizes], color="black", lw=1.2)[0]
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xticks(sizes, [str(m) for m in sizes])
    axes.set_yticks([0.05, 0.1, 0.2], ["0.05", "0.1", "0.2"])
    axes.minorticks_off()
    style.axis_text(axes, x="features (d, or L d for vectorized)", y="width / α*")
    handles = [
        Line2D([], [], ls="none", marker="o", color=style.COLOURS[m], label=m) for m in MODELS
    ]
    mean_mark = Line2D([], [], ls="none", marker="D", color="black", label="mean")
    line.set_label("no signal: 1/√(2 features)")
    figure.legend(handles=[*handles, mean_mark, line], loc="outside upper center", ncols=5)
    return figure


def _mean_width(found: Sequence[Threshold]) -> tuple[float, float]:
    """Return the weighted geometric mean of the relative widths, and its standard error."""
    logs = np.log([fit.width / fit.middle for fit in found])
    weights = np.array([(fit.width / fit.width_error) ** 2 for fit in found])
    mean = math.exp(weights @ logs / weights.sum())
    return mean, mean / math.sqrt(weights.sum())


PICTURES = (
    Picture(
        "capacity_curves",
        draw,
        "Capacity α* against cosine, strength and length; the rest as in each title, with R = 1, "
        "π = 0.5, k = 1. Lines: theory. Points: thresholds measured at several dimensions and "
        "carried to infinite dimension, with standard errors. Dotted: where attention falls "
        "under pooled (left) and where it passes vectorized (middle).",
    ),
    Picture(
        "capacity_widths",
        draw_widths,
        "Relative width of the transition against the number of features: at each measured place, "
        "and the mean over places with its standard error. Line: the width of Cover’s count, "
        "which has no signal, for many features.",
    ),
)
"""In the order of the page."""
