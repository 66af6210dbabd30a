"""Figures: test error over the choices of a training, with the best choices."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm
from matplotlib.contour import QuadContourSet
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from sparsetoken.experiments.rows import Rows, select
from sparsetoken.experiments.sensitivity.rows import Best, Choice, Floor, OnMap, Spot
from sparsetoken.figures import style
from sparsetoken.figures.palette import GREY, LIGHT_GREY, RED

LEVELS = np.array([0.03, 0.04, 0.05, 0.065, 0.08, 0.1, 0.13, 0.16, 0.2, 0.25, 0.32])
NORM = LogNorm(LEVELS[0], LEVELS[-1])
MAP = "viridis"
MARKED = RED
AXES = {"sharpness": ("beta", "alpha0"), "bias": ("eta_b", "positive_rate")}


def draw_maps(rows: Rows) -> Figure:
    """Draw the maps over (beta, alpha0) and (eta_b, pi) in one colour scale."""
    figure, (sharp, bias) = style.new_figure(9.6, 4.3, 2)
    _map(sharp, rows, "sharpness")
    filled = _map(bias, rows, "bias")
    ticks = (0.25, 0.5, 1, 2, 4)
    style.log_ticks(sharp, x=ticks, y=ticks)
    _best_line(sharp, _panel(rows, Best, "sharpness"))
    _turning(bias, _panel(rows, OnMap, "bias"))
    style.axis_text(sharp, x="inverse temperature β", y="α₀ = n₀ / d")
    style.axis_text(bias, x=r"bias step $\eta_b$", y="share of positives π")
    bar = figure.colorbar(filled, ax=[sharp, bias], label="test error", shrink=0.9)
    bar.set_ticks(LEVELS[::2].tolist(), labels=[f"{level:g}" for level in LEVELS[::2]])
    _map_legend(figure)
    return figure


def _panel(rows: Rows, kind: type[Any], panel: str) -> list[Any]:
    return [row for row in select(rows, kind) if row.choice.panel == panel]


def _place(choice: Choice) -> tuple[float, float]:
    x, y = AXES[choice.panel]
    return getattr(choice, x), getattr(choice, y)


def _map(axes: Axes, rows: Rows, panel: str) -> QuadContourSet:
    """Draw theory as filled contours, and simulated places as discs of the same colours."""
    surface = _panel(rows, OnMap, panel)
    grid = _grid(surface, _error)
    filled = axes.contourf(*grid, levels=LEVELS, norm=NORM, cmap=MAP, extend="both")
    axes.grid(False)
    for row in surface:
        if not row.test_error.converged:
            axes.plot(*_place(row.choice), "x", color="white", ms=5)
    for spot in _panel(rows, Spot, panel):
        _disc(axes, spot)
    return filled


def _grid(
    surface: Sequence[OnMap], value: Callable[[OnMap], float]
) -> tuple[list[float], list[float], np.ndarray]:
    values = {_place(row.choice): value(row) for row in surface}
    xs, ys = (sorted({place[i] for place in values}) for i in (0, 1))
    return xs, ys, np.array([[values[x, y] for x in xs] for y in ys])


def _error(row: OnMap) -> float:
    return row.test_error.value if row.test_error.converged else np.nan


def _disc(axes: Axes, row: Spot) -> None:
    x, y = _place(row.choice)
    colours: dict[str, Any] = {"c": "none"}
    if row.measured.converged:
        colours = {"c": [row.measured.value], "norm": NORM, "cmap": MAP}
    axes.scatter([x], [y], s=110, edgecolors="white", linewidths=1.3, zorder=3, **colours)


def _best_line(axes: Axes, best: Sequence[Best]) -> None:
    places = [(row.choice.beta, row.choice.alpha0, row.status == "converged") for row in best]
    places.sort(key=lambda place: place[1])
    good = [place for place in places if place[2]]
    axes.plot([x for x, _, _ in good], [y for _, y, _ in good], "-", color=MARKED, lw=1.6)
    for x, y, found in places:
        fill = MARKED if found else "none"
        axes.plot(x, y, "*", color=MARKED, mfc=fill, mec="white", ms=9, mew=0.6, zorder=4)


def _turning(axes: Axes, surface: Sequence[OnMap]) -> None:
    """Draw where the query turns away: the zero of the cosine."""
    xs, ys, cosines = _grid(surface, lambda row: row.cosine)
    if cosines.min() < 0 < cosines.max():
        axes.contour(xs, ys, cosines, levels=[0.0], colors=MARKED, linewidths=1.6, linestyles="--")


def _map_legend(figure: Figure) -> None:
    star = Line2D([], [], color=MARKED, marker="*", ms=10, mec="white", label="best β")
    turn = Line2D([], [], color=MARKED, ls="--", label="query at right angles to the signal")
    disc = Line2D([], [], ls="none", marker="o", ms=8, mfc=LIGHT_GREY, mec="black", mew=0.8)
    disc.set_label("simulation, in the colour of its test error")
    figure.legend(handles=[star, turn, disc], loc="outside upper center", ncols=3)


def draw_split(rows: Rows) -> Figure:
    """Draw the test error against the split, a line for each total, the best marked."""
    figure, (axes,) = style.new_figure(6.6, 4.0)
    lines: list[OnMap] = _panel(rows, OnMap, "split")
    spots: list[Spot] = _panel(rows, Spot, "split")
    best: list[Best] = _panel(rows, Best, "split")
    totals = sorted({row.choice.total for row in lines})
    colours = [style.SEQUENCE[i] for i in (0, 1, 3, 4)]
    handles = []
    for total, colour in zip(totals, colours, strict=False):
        line = [(r.choice.share, r.test_error) for r in lines if r.choice.total == total]
        points = [(r.choice.share, r.measured) for r in spots if r.choice.total == total]
        style.predicted(axes, line, colour)
        style.measured(axes, points, colour)
        for floor in select(rows, Floor, total=total):
            level = [(share, floor.test_error) for share, _ in sorted(line, key=lambda p: p[0])]
            style.predicted(axes, level, colour, "-.")
        for row in best:
            if row.choice.total == total:
                fill = colour if row.status == "converged" else "none"
                below = row.test_error.value * 0.86
                axes.plot(row.choice.share, below, "^", color=colour, mfc=fill, ms=7)
        handles.append(Line2D([], [], color=colour, label=f"α₀ + α₁ = {total:g}"))
    style.log_ticks(axes, y=(0.02, 0.03, 0.05, 0.1, 0.2, 0.4))
    style.axis_text(axes, x="share of the samples for the query, α₀ / (α₀ + α₁)", y="test error")
    triangle = Line2D([], [], ls="none", marker="^", color=GREY, label="best")
    disc = Line2D([], [], ls="none", marker="o", color=GREY, label="simulation")
    dashed = Line2D([], [], ls="-.", color=GREY, label="best learner")
    handles += [triangle, disc, dashed]
    figure.legend(handles=handles, loc="outside upper center", ncols=(len(handles) + 1) // 2)
    return figure


PICTURES = {"sensitivity_maps": draw_maps, "sensitivity_split": draw_split}
