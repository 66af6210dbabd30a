"""Figure: forecast learning curves with their intervals, and measured errors, a panel for a set."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from sparsetoken.experiments.forecasts.rows import Forecasted, Simulated
from sparsetoken.experiments.forecasts.work import CLASSIFIERS
from sparsetoken.experiments.rows import select, series
from sparsetoken.figures import style

ABREAST = 3
LONGEST = 30  # of a name


def draw(rows: Sequence[Any]) -> Figure:
    """Draw the curve and the intervals of one pilot, the curves of the others, and points."""
    names = list(dict.fromkeys(row.set for row in select(rows, Forecasted)))
    columns = min(len(names), ABREAST)
    lines = math.ceil(len(names) / columns)
    figure = Figure(figsize=(1.2 + 3.3 * columns, 0.6 + 3.0 * lines), layout="constrained")
    panels = figure.subplots(lines, columns, squeeze=False).ravel()
    for axes, name in zip(panels, names, strict=False):
        _panel(axes, rows, name)
        label = "test error" * (axes in panels[::columns])
        short = name if len(name) <= LONGEST else f"{name[: LONGEST - 1]}…"
        style.axis_text(axes, x="labelled bags", y=label, title=short.replace("$", r"\$"))
    for axes in panels[len(names) :]:
        axes.set_axis_off()
    style.legend(figure, [(name, style.COLOURS[name]) for name in CLASSIFIERS], [])
    return figure


def _panel(axes: Axes, rows: Sequence[Any], name: str) -> None:
    for model in CLASSIFIERS:
        colour, place = style.COLOURS[model], {"set": name, "model": model}
        forecasts = select(rows, Forecasted, **place)
        for pilot in sorted({row.pilot for row in forecasts}):
            curve = sorted((r for r in forecasts if r.pilot == pilot), key=lambda r: r.bags)
            n, errors = [r.bags for r in curve], [r.error for r in curve]
            axes.plot(n, errors, color=colour, lw=0.8 if pilot else 2, alpha=0.5 if pilot else 1)
            if pilot == 0:
                low, high = [r.low for r in curve], [r.high for r in curve]
                axes.fill_between(n, low, high, color=colour, alpha=0.15, linewidth=0)
        points = series(select(rows, Simulated, **place), "bags", "test_error")
        style.measured(axes, points, colour, alpha=0.8)
    axes.set_ylim(0, 0.6)
    axes.set_xscale("log")
    sizes = sorted({row.bags for row in select(rows, Forecasted, set=name)})
    axes.set_xticks(sizes, [str(size) for size in sizes])
    axes.minorticks_off()


PICTURES = {"forecasts": draw}
