"""One look for all figures: colours, lines, markers.

Theory is a line, simulation a point with its standard error. Real tensors have a
square, the reduced engine a disc. What did not converge is hollow.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

if TYPE_CHECKING:  # displays import this file, and no experiment
    from sparsetoken.experiments.points import Point

__all__ = [
    "COLOURS",
    "SEQUENCE",
    "axis_text",
    "legend",
    "load_axis",
    "measured",
    "new_figure",
    "predicted",
    "styled",
]

COLOURS = {
    "attention": "#0072B2",
    "pooled": "#E69F00",
    "vectorized": "#009E73",
    "elementwise": "#CC79A7",
    "bayes": "#000000",
    "cosine": "#0072B2",
    "readout_cosine": "#D55E00",
}
"""Okabe and Ito's colours, which colour-blind readers can tell apart."""

SEQUENCE = ("#08306B", "#2171B5", "#6BAED6", "#FD8D3C", "#A63603")
"""From dark blue to dark orange, for a parameter that grows."""

MARKERS = {"reduced": "o", "tensors": "s"}

_RC: dict[Any, Any] = {
    "font.family": "DejaVu Sans",
    "font.size": 9.5,
    "axes.titlesize": 10.5,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#E4E4E4",
    "grid.linewidth": 0.7,
    "axes.axisbelow": True,
    "legend.frameon": False,
    "legend.fontsize": 9,
    "lines.linewidth": 1.6,
    "lines.markersize": 5.5,
    "svg.fonttype": "path",
}


@contextmanager
def styled(salt: str = "sparsetoken") -> Iterator[None]:
    """Use the style in this block only; `salt` makes the ids of an SVG its own."""
    with matplotlib.rc_context({**_RC, "svg.hashsalt": salt}):
        yield


def new_figure(width: float, height: float, columns: int = 1) -> tuple[Figure, list[Axes]]:
    """Return an empty figure and its row of axes; call it inside `styled`."""
    figure = Figure(figsize=(width, height), layout="constrained")
    axes = figure.subplots(1, columns, squeeze=False)
    return figure, list(axes[0])


def axis_text(axes: Axes, *, x: str, y: str, title: str = "") -> None:
    """Set labels and title."""
    axes.set_xlabel(x)
    axes.set_ylabel(y)
    if title:
        axes.set_title(title, loc="left")


def load_axis(axes: Axes, points: Sequence[Point]) -> None:
    """Give alpha1 a logarithmic axis with plain numbers."""
    low, high = min(p.x for p in points), max(p.x for p in points)
    axes.set_xscale("log")
    ticks = [t for t in (0.25, 0.5, 1, 2, 4, 8, 16) if low <= t <= high]
    axes.set_xticks(ticks, [f"{t:g}" for t in ticks])
    axes.minorticks_off()


def predicted(axes: Axes, points: Sequence[Point], colour: str, line: str = "-") -> None:
    """Draw theory as a line; points that did not converge are hollow and off the line."""
    nan = float("nan")
    axes.plot(
        [p.x for p in points],
        [p.value if p.converged else nan for p in points],
        line,
        color=colour,
    )
    fallen = [p for p in points if not p.converged]
    axes.plot([p.x for p in fallen], [p.value for p in fallen], "D", mfc="none", mec=colour, ms=4.5)


def measured(axes: Axes, points: Sequence[Point], colour: str, alpha: float = 1.0) -> None:
    """Draw simulations with one standard error up and down."""
    for point in points:
        axes.errorbar(
            [point.x],
            [point.value],
            yerr=[point.error],
            fmt=MARKERS[point.source],
            color=colour,
            mfc=colour if point.converged else "white",
            mec=colour if not point.converged else "white",
            mew=0.6 if point.converged else 1.3,
            ms=9 if point.source == "tensors" else 5,
            alpha=alpha,
            elinewidth=1.3,
            capsize=2.5,
            zorder=3 if point.source == "reduced" else 2.5,
        )


def legend(
    figure: Figure, curves: Sequence[tuple[str, str]], points: Sequence[Point], ncols: int = 0
) -> None:
    """Put one legend above the axes: the curves by colour, then what the marks mean."""
    grey = "#555555"
    entries = [(Line2D([], [], color=colour), name) for name, colour in curves]
    shape = {"linestyle": "none", "mec": "white", "mew": 0.6}
    if any(p.source == "reduced" for p in points):
        disc = Line2D([], [], marker="o", color=grey, **shape)  # type: ignore[arg-type]
        entries.append((disc, "simulation"))
    if any(p.source == "tensors" for p in points):
        square = Line2D([], [], marker="s", ms=8, color=grey, **shape)  # type: ignore[arg-type]
        entries.append((square, "simulation, real tensors"))
    if not all(p.converged for p in points):
        hollow = Line2D([], [], marker="D", mfc="none", mec=grey, linestyle="none")
        entries.append((hollow, "not converged"))
    lines, names = zip(*entries, strict=True)
    figure.legend(lines, names, loc="outside upper center", ncols=ncols or len(names))
