"""Figures: networks trained end to end against pooled, two-step attention and Bayes."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from sparsetoken.experiments import reference_lines as lines
from sparsetoken.experiments.architectures.work import Simulated, Trained
from sparsetoken.experiments.references import References
from sparsetoken.experiments.rows import Rows, select, series
from sparsetoken.figures import style
from sparsetoken.figures.palette import GREEN, OLIVE, PURPLE, SKY, VERMILION, WINE

TITLES = {
    "multi-query": "Several queries, one readout",
    "class-token": "Self-attention with a class token",
    "two-layer": "Two layers of self-attention",
}
COLOURS = (PURPLE, GREEN, VERMILION, SKY, WINE, OLIVE)
"""Of the networks: none is the colour of a reference."""
TICKS = (0.01, 0.02, 0.03, 0.05, 0.1, 0.2, 0.3, 0.5)


def draw(rows: Rows, family: str) -> Figure:
    """Draw the test errors of one family of networks against the load."""
    figure, (axes,) = style.new_figure(6.4, 4.3)
    known, simulated = select(rows, References), select(rows, Simulated)
    lines.reference_lines(axes, [(row.load, row) for row in known])
    for model in ("pooled", "attention"):
        points = series(simulated, "load", model)
        style.measured(axes, points, style.COLOURS[model], alpha=0.8)
    trained = [row for row in select(rows, Trained) if row.network.family == family]
    _networks(axes, trained)
    style.load_axis(axes, {row.load for row in known})
    values = [
        getattr(row, name).value for row in known for name in ("pooled", "attention", "bayes")
    ]
    values += [getattr(row, name).value for row in simulated for name in ("pooled", "attention")]
    values += [row.test_error.value for row in trained]
    low, high = 0.8 * min(values), 1.3 * max(values)
    style.log_ticks(axes, y=[t for t in TICKS if low <= t <= high])
    axes.set_ylim(low, min(0.6, high))
    style.axis_text(axes, x="α = labelled samples / d", y="test error", title=TITLES[family])
    lines.labelled_legend(figure)
    return figure


def _networks(axes: Axes, trained: Sequence[Trained]) -> None:
    """Draw networks in the order of their heads, side by side at each load."""
    heads = {row.name: row.network.heads for row in trained}
    names = sorted(heads, key=lambda name: (heads[name], name))
    for i, name in enumerate(names):
        colour, aside = COLOURS[i % len(COLOURS)], 1 + 0.06 * (i - (len(names) - 1) / 2)
        found = [(aside * row.load, row.test_error) for row in trained if row.name == name]
        xs, values = [x for x, _ in found], [error.value for _, error in found]
        axes.plot(xs, values, color=colour, lw=0.9, label=name)
        style.measured(axes, found, colour)


PICTURES = {
    f"architectures_{family.replace('-', '_')}": partial(draw, family=family) for family in TITLES
}
