"""Figures: capacity of three models against cosine, strength and length, and its width."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from sparsetoken.experiments.capacity_curves.rows import Crossing, OnLine
from sparsetoken.experiments.capacity_curves.transitions import fitted, thresholds
from sparsetoken.experiments.capacity_curves.work import BASE, MODELS, PLACES
from sparsetoken.experiments.rows import Measured, Rows, select, series
from sparsetoken.experiments.threshold import Threshold
from sparsetoken.figures import style
from sparsetoken.figures.palette import GREY, LIGHT_GREY

AXES = {"cosine": "cosine s", "strength": "strength θ", "length": "length L"}
LETTERS = {"length": "L", "strength": "θ", "cosine": "s"}


def draw(rows: Rows) -> Figure:
    """Draw one panel for each coordinate: theory as lines, measured thresholds as points."""
    figure, panels = style.new_figure(9.6, 3.8, 3)
    measured = thresholds(rows, fitted(rows))
    shown = []
    for axes, panel in zip(panels, AXES, strict=True):
        # The scale that shows attention beside pooled has no room for vectorized.
        for model in MODELS[:2] if panel == "cosine" else MODELS:
            line = series(select(rows, OnLine, panel=panel, model=model), "x", "capacity")
            points = _on_panel(measured, panel, model)
            style.predicted(axes, line, style.COLOURS[model])
            style.measured(axes, points, style.COLOURS[model])
            shown += line + points
        for crossing in select(rows, Crossing, panel=panel):
            _crossing(axes, crossing)
        rest = [f"{letter} = {getattr(BASE, n):g}" for n, letter in LETTERS.items() if n != panel]
        label = "capacity α*" * (panel == "cosine")
        style.axis_text(axes, x=AXES[panel], y=label, title=", ".join(rest))
    _scales(panels, rows)
    style.legend(figure, [(m, style.COLOURS[m]) for m in MODELS], shown)
    return figure


def _on_panel(
    measured: dict[tuple[str, str], Measured], panel: str, model: str
) -> list[tuple[float, Any]]:
    """Return the measured thresholds of the places that differ from the base here only."""
    found = []
    for place, models in PLACES.items():
        moved = dataclasses.replace(BASE, name=place.name, **{panel: getattr(place, panel)})
        if model in models and place == moved:
            found.append((float(getattr(place, panel)), measured[place.name, model]))
    return found


def _crossing(axes: Axes, row: Crossing) -> None:
    x = row.x.value
    axes.axvline(x, color=LIGHT_GREY, lw=1, ls=":")
    axes.annotate(
        f"attention meets\n{row.other}\nat {LETTERS[row.panel]} = {x:.2f}",
        (x, 0.97),
        xycoords=("data", "axes fraction"),
        xytext=(-4, 0),
        textcoords="offset points",
        ha="right",
        va="top",
        fontsize=8.5,
        color=GREY,
    )


def _scales(panels: Sequence[Axes], rows: Rows) -> None:
    cosine, strength, length = panels
    vectorized = select(rows, OnLine, panel="cosine", model="vectorized")[0].capacity
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
        style.log_ticks(axes, y=(2, 4, 8, 16, 32))
    length.set_xscale("log", base=2)
    length.set_xticks([1, 2, 4, 8, 16], ["1", "2", "4", "8", "16"])


def draw_widths(rows: Rows) -> Figure:
    """Draw the relative width of each transition, and their mean, against the size."""
    figure, (axes,) = style.new_figure(7.2, 3.8)
    by_size: dict[int, list[Threshold]] = {}
    for (_, model), fits in fitted(rows).items():
        for m, fit in fits.items():
            if fit.converged:
                by_size.setdefault(m, []).append(fit)
                beside = m * 1.05 ** (MODELS.index(model) - 1)
                colour = style.COLOURS[model]
                axes.plot(beside, fit.width / fit.middle, "o", color=colour, alpha=0.4, mew=0)
    sizes = sorted(by_size)
    for m in sizes:
        mean, error = _mean_width(by_size[m])
        axes.errorbar([m], [mean], yerr=[error], fmt="D", color="black", ms=5, capsize=3)
    line = axes.plot(sizes, [(2 * m) ** -0.5 for m in sizes], color="black", lw=1.2)[0]
    line.set_label("no signal: 1/√(2 features)")
    style.log_ticks(axes, x=sizes, y=(0.05, 0.1, 0.2))
    style.axis_text(axes, x="features (d, or L d for vectorized)", y="width / α*")
    marks = [("o", style.COLOURS[m], m) for m in MODELS] + [("D", "black", "mean")]
    handles = [Line2D([], [], ls="none", marker=m, color=c, label=name) for m, c, name in marks]
    figure.legend(handles=[*handles, line], loc="outside upper center", ncols=5)
    return figure


def _mean_width(found: Sequence[Threshold]) -> tuple[float, float]:
    """Return the weighted geometric mean of the relative widths, and its standard error."""
    logs = np.log([fit.width / fit.middle for fit in found])
    weights = np.array([(fit.width / fit.width_error) ** 2 for fit in found])
    mean = math.exp(weights @ logs / weights.sum())
    return mean, mean / math.sqrt(weights.sum())


PICTURES = {"capacity_curves": draw, "capacity_widths": draw_widths}
