"""Figures: networks trained end to end against pooled, two-step attention and Bayes."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from functools import partial

from matplotlib.figure import Figure

from sparsetoken.experiments.points import Point, select
from sparsetoken.figures import style
from sparsetoken.figures.picture import MARKS, Picture
from sparsetoken.figures.references import labelled_legend, reference_lines

__all__ = ["PICTURES", "draw"]

TITLES = {
    "multi-query": "Several queries, one readout",
    "class-token": "Self-attention with a class token",
    "two-layer": "Two layers of self-attention",
}
COLOURS = ("#CC79A7", "#009E73", "#D55E00", "#56B4E9", "#882255", "#999933")
"""Of the networks: none is the colour of a reference."""
TICKS = (0.01, 0.02, 0.03, 0.05, 0.1, 0.2, 0.3, 0.5)


def draw(points: Sequence[Point], family: str) -> Figure:
    """Draw the test errors of one family of networks against the load."""
    figure, (axes,) = style.new_figure(6.4, 4.3)
    kept = select(points, group=family, quantity="test_error")
    reference_lines(axes, kept)
    for model in ("pooled", "attention"):
        style.measured(
            axes, select(kept, curve=model, source="reduced"), style.COLOURS[model], alpha=0.8
        )
    trained = select(kept, source="tensors")
    names = list(dict.fromkeys(p.curve for p in sorted(trained, key=lambda p: _order(p.curve))))
    for i, name in enumerate(names):
        colour = COLOURS[i % len(COLOURS)]
        aside = 1 + 0.06 * (i - (len(names) - 1) / 2)
        found = [dataclasses.replace(p, x=aside * p.x) for p in trained if p.curve == name]
        axes.plot([p.x for p in found], [p.value for p in found], color=colour, lw=0.9, label=name)
        style.measured(axes, found, colour)
    style.load_axis(axes, kept)
    axes.set_yscale("log")
    low, high = min(p.value for p in kept), max(p.value for p in kept)
    axes.set_ylim(0.8 * low, min(0.6, 1.3 * high))
    ticks = [t for t in TICKS if 0.8 * low <= t <= 1.3 * high]
    axes.set_yticks(ticks, [f"{t:g}" for t in ticks])
    axes.minorticks_off()
    style.axis_text(axes, x="α = labelled samples / d", y="test error", title=TITLES[family])
    labelled_legend(figure)
    return figure


def _order(name: str) -> tuple[int, str]:
    return int(name.split()[0]), name


PICTURES: tuple[Picture, ...] = tuple(
    Picture(
        f"architectures_{family.replace('-', '_')}",
        partial(draw, family=family),
        f"{title}, trained end to end, by experiment: test error against all labelled samples. "
        f"Discs: pooled and two-step attention simulated at the same d. {MARKS} "
        "Points at one load stand side by side.",
    )
    for family, title in TITLES.items()
)
