"""Figure: alignment of query and readout against alpha0."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.figure import Figure

from sparsetoken.experiments.points import Point, curve
from sparsetoken.figures import style
from sparsetoken.figures.picture import MARKS, Picture

__all__ = ["PICTURES", "draw"]

NAMES = {"cosine": "query, cos(q₂, ξ)", "readout_cosine": "readout, cos(w₁, ξ)"}


def draw(points: Sequence[Point]) -> Figure:
    """Draw both cosines, theory and simulation."""
    figure, (axes,) = style.new_figure(6.4, 3.9)
    for name in NAMES:
        theory, simulation = curve(points, quantity=name)
        style.predicted(axes, theory, style.COLOURS[name])
        style.measured(axes, simulation, style.COLOURS[name])
    axes.set_xscale("log")
    axes.set_xticks([0.25, 0.5, 1, 2, 5, 10], ["0.25", "0.5", "1", "2", "5", "10"])
    axes.minorticks_off()
    axes.set_ylim(None, 1.0)
    style.axis_text(axes, x="α₀ = n₀ / d", y="cosine with the signal")
    style.legend(figure, [(NAMES[n], style.COLOURS[n]) for n in NAMES], points, ncols=2)
    return figure


PICTURES = (
    Picture(
        "alignment",
        draw,
        "Cosine with the signal of the query and of the readout after the two gradient "
        f"steps, against the load of the first data set. {MARKS}",
    ),
)
