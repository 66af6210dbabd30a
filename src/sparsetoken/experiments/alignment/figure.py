"""Figure: alignment of query and readout against alpha0."""

from __future__ import annotations

from matplotlib.figure import Figure

from sparsetoken.experiments.alignment.claims import by_place
from sparsetoken.experiments.alignment.rows import Theory
from sparsetoken.experiments.rows import Rows, select, series
from sparsetoken.figures import style

NAMES = {"cosine": "query, cos(q₂, ξ)", "readout_cosine": "readout, cos(w₁, ξ)"}


def draw(rows: Rows) -> Figure:
    """Draw both cosines, theory and simulation."""
    figure, (axes,) = style.new_figure(6.4, 3.9)
    shown = []
    for name in NAMES:
        line = series(select(rows, Theory), "alpha0", name)
        points = series([some[-1] for _, some in by_place(rows)], "alpha0", name)
        shown += style.compared(axes, line, points, style.COLOURS[name])
    style.log_ticks(axes, x=(0.25, 0.5, 1, 2, 5, 10))
    axes.set_ylim(None, 1.0)
    style.axis_text(axes, x="α₀ = n₀ / d", y="cosine with the signal")
    style.legend(figure, [(NAMES[n], style.COLOURS[n]) for n in NAMES], shown, ncols=2)
    return figure


PICTURES = {"alignment": draw}
