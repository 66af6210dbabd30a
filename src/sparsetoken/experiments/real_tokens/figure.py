"""Figure: test errors against the number of bags, a panel for each kind of bag."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from matplotlib.figure import Figure

from sparsetoken.experiments.real_tokens.rows import Simulated, Theory
from sparsetoken.experiments.real_tokens.work import CLASSIFIERS, PLACES
from sparsetoken.experiments.rows import select, series
from sparsetoken.figures import style


def draw(rows: Sequence[Any]) -> Figure:
    """Draw curves and points."""
    figure, panels = style.new_figure(11, 3.7, len(PLACES))
    shown = []
    for axes, (tokens, length) in zip(panels, PLACES, strict=True):
        for name in CLASSIFIERS:
            place = {"tokens": tokens, "length": length, "classifier": name}
            line = series(select(rows, Theory, **place), "bags", "test_error")
            points = series(select(rows, Simulated, **place), "bags", "test_error")
            style.predicted(axes, line, style.COLOURS[name])
            style.measured(axes, points, style.COLOURS[name])
            shown += line + points
        axes.set_ylim(0, 0.5)
        axes.set_xscale("log")
        sizes = sorted({row.bags for row in select(rows, Simulated)})
        axes.set_xticks(sizes, [str(size) for size in sizes])
        axes.minorticks_off()
        label = "test error" * (axes is panels[0])
        style.axis_text(axes, x="labelled bags", y=label, title=f"{length} {tokens} in a bag")
    style.legend(figure, [(name, style.COLOURS[name]) for name in CLASSIFIERS], shown)
    return figure


PICTURES = {"real_tokens": draw}
