"""Figures: test error over the choices of a training, with the best choices."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm
from matplotlib.contour import QuadContourSet
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from sparsetoken.experiments.points import THEORY, Point, select
from sparsetoken.experiments.sensitivity_claims import SPOTS
from sparsetoken.figures import style
from sparsetoken.figures.picture import Picture

__all__ = ["PICTURES", "draw_maps", "draw_split"]

LEVELS = np.array([0.03, 0.04, 0.05, 0.065, 0.08, 0.1, 0.13, 0.16, 0.2, 0.25, 0.32])
NORM = LogNorm(LEVELS[0], LEVELS[-1])
MAP = "viridis"
MARKED = "#E8262A"


def draw_maps(points: Sequence[Point]) -> Figure:
    """Draw the maps over (beta, alpha0) and (eta_b, pi) in one colour scale."""
    figure, (sharp, bias) = style.new_figure(9.6, 4.3, 2)
    _map(sharp, points, "sharpness")
    filled = _map(bias, points, "bias step")
    sharp.set_xscale("log")
    sharp.set_yscale("log")
    sharp.set_yticks([0.25, 0.5, 1, 2, 4], ["0.25", "0.5", "1", "2", "4"])
    sharp.set_xticks([0.25, 0.5, 1, 2, 4], ["0.25", "0.5", "1", "2", "4"])
    sharp.minorticks_off()
    _best_line(sharp, points)
    _turning(bias, points)
    style.axis_text(sharp, x="inverse temperature β", y="α₀ = n₀ / d")
    style.axis_text(bias, x=r"bias step $\eta_b$", y="share of positives π")
    bar = figure.colorbar(filled, ax=[sharp, bias], label="test error", shrink=0.9)
    bar.set_ticks(LEVELS[::2].tolist(), labels=[f"{level:g}" for level in LEVELS[::2]])
    _map_legend(figure, points)
    return figure


def _map(axes: Axes, points: Sequence[Point], group: str) -> QuadContourSet:
    """Draw theory as filled contours, and simulated places as discs of the same colours."""
    surface = select(points, group=group, curve="surface", quantity="test_error")
    xs, ys = (sorted({getattr(p, name) for p in surface}) for name in ("x", "y"))
    value = {(p.x, p.y): p.value if p.converged else np.nan for p in surface}
    grid = np.array([[value[x, y] for x in xs] for y in ys])
    filled = axes.contourf(xs, ys, grid, levels=LEVELS, norm=NORM, cmap=MAP, extend="both")
    axes.grid(False)
    fallen = [p for p in surface if not p.converged]
    axes.plot([p.x for p in fallen], [p.y for p in fallen], "x", color="white", ms=5)
    for p in _simulated(points, group):
        axes.scatter(
            [p.x],
            [p.y],
            s=110,
            c=[p.value] if p.converged else "none",
            norm=NORM if p.converged else None,
            cmap=MAP if p.converged else None,
            edgecolors="white",
            linewidths=1.3,
            zorder=3,
        )
    return filled


def _simulated(points: Sequence[Point], group: str) -> list[Point]:
    kept = select(points, group=group, quantity="test_error")
    return [p for p in kept if p.source != THEORY and p.curve in SPOTS]


def _best_line(axes: Axes, points: Sequence[Point]) -> None:
    best = sorted(select(points, curve="best", quantity="beta"), key=lambda p: p.y)
    good = [p for p in best if p.converged]
    axes.plot([p.x for p in good], [p.y for p in good], "-", color=MARKED, lw=1.6)
    for p in best:
        fill = MARKED if p.converged else "none"
        axes.plot(p.x, p.y, "*", color=MARKED, mfc=fill, mec="white", ms=9, mew=0.6, zorder=4)


def _turning(axes: Axes, points: Sequence[Point]) -> None:
    """Draw where the query turns away: the zero of the cosine."""
    cosines = select(points, group="bias step", curve="surface", quantity="cosine")
    xs, ys = (sorted({getattr(p, name) for p in cosines}) for name in ("x", "y"))
    value = {(p.x, p.y): p.value for p in cosines}
    grid = np.array([[value[x, y] for x in xs] for y in ys])
    if grid.min() < 0 < grid.max():
        axes.contour(xs, ys, grid, levels=[0.0], colors=MARKED, linewidths=1.6, linestyles="--")


def _map_legend(figure: Figure, points: Sequence[Point]) -> None:
    star = Line2D([], [], color=MARKED, marker="*", ms=10, mec="white", label="best β")
    turn = Line2D([], [], color=MARKED, ls="--", label="query at right angles to the signal")
    disc = Line2D([], [], ls="none", marker="o", ms=8, mfc="#777777", mec="black", mew=0.8)
    disc.set_label("simulation, in the colour of its test error")
    figure.legend(handles=[star, turn, disc], loc="outside upper center", ncols=3)


def draw_split(points: Sequence[Point]) -> Figure:
    """Draw the test error against the split, a line for each total, the best marked."""
    figure, (axes,) = style.new_figure(6.6, 4.0)
    totals = sorted({p.y for p in select(points, group="split")})
    colours = [style.SEQUENCE[i] for i in (0, 1, 3, 4)]
    handles = []
    for total, colour in zip(totals, colours, strict=False):
        line = select(points, group="split", curve="surface", quantity="test_error", y=total)
        style.predicted(axes, line, colour)
        style.measured(axes, [p for p in _simulated(points, "split") if p.y == total], colour)
        for p in select(points, group="split", curve="best", y=total):
            (at,) = (
                e
                for e in select(points, group="split", curve="at best", y=total)
                if e.source == THEORY and e.quantity == "test_error"
            )
            fill = colour if p.converged else "none"
            axes.plot(p.x, at.value * 0.86, "^", color=colour, mfc=fill, ms=7)
        handles.append(Line2D([], [], color=colour, label=f"α₀ + α₁ = {total:g}"))
    axes.set_yscale("log")
    axes.set_yticks([0.03, 0.05, 0.1, 0.2, 0.4], ["0.03", "0.05", "0.1", "0.2", "0.4"])
    axes.minorticks_off()
    style.axis_text(axes, x="share of the samples for the query, α₀ / (α₀ + α₁)", y="test error")
    best = Line2D([], [], ls="none", marker="^", color="#555555", label="best")
    disc = Line2D([], [], ls="none", marker="o", color="#555555", label="simulation")
    figure.legend(
        handles=[*handles, best, disc], loc="outside upper center", ncols=len(handles) + 2
    )
    return figure


PICTURES = (
    Picture(
        "sensitivity_maps",
        draw_maps,
        "Test error of attention, theory in filled contours. Left: over β and α₀; stars: the best "
        "β, found by a search. Right: over the bias step and the share of positives; below the "
        "dashed line the query turns away from the signal. Discs: simulations in the same colour "
        "scale, so that a disc that can be told from its surroundings would be a mismatch. "
        "White crosses: not converged.",
    ),
    Picture(
        "sensitivity_split",
        draw_split,
        "Test error of attention against the split of a fixed number of samples between query "
        "and readout. Lines: theory. Points: simulation, mean and one standard error. Triangles: "
        "the best split, found by a search.",
    ),
)
"""In the order of the page."""
