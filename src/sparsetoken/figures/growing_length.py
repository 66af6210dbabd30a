"""Figure: theory and simulation when the length grows with the dimension."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from sparsetoken.experiments.growing_length import ARMS
from sparsetoken.experiments.points import THEORY, Point, select
from sparsetoken.figures import style
from sparsetoken.figures.picture import Picture
from sparsetoken.figures.references import labelled_legend

__all__ = ["PICTURES", "draw"]

ARM_COLOURS = {"fixed": "#56B4E9", "growing": "#0072B2"}
MARKERS = "os^D"
"""One for each ratio L/d."""


def draw(points: Sequence[Point]) -> Figure:
    """Draw test error (left), cosine (middle), its relative difference to theory (right)."""
    figure, (left, middle, right) = style.new_figure(11.0, 4.2, 3)
    for name, label, line in (("pooled", "pooled, theory", "--"), ("bayes", "Bayes, theory", ":")):
        level = select(points, curve=name, group="growing")
        colour = style.COLOURS[name]
        left.plot([p.x for p in level], [p.value for p in level], line, color=colour, label=label)
    for arm, label in ARMS.items():
        _line(left, select(points, curve=arm, quantity="test_error", source=THEORY), arm, label)
        _line(middle, select(points, curve=arm, quantity="cosine trend"), arm, label)
    ratios = sorted({p.y for p in points if p.source != THEORY})
    for ratio, marker in zip(ratios, MARKERS, strict=False):
        _marks(left, points, "test_error", ratio, marker)
        _marks(middle, points, "cosine", ratio, marker)
    _differences(right, points, dict(zip(ratios, MARKERS, strict=False)))
    for axes in (left, middle, right):
        axes.set_xscale("log")
    style.axis_text(left, x="L", y="", title="test error")
    style.axis_text(middle, x="L", y="", title="cosine of the query")
    style.axis_text(right, x="d", y="", title="cosine, measured / theory − 1")
    _plain_ticks(left, sorted({p.x for p in points if p.source != THEORY}))
    _plain_ticks(right, sorted({p.dimension for p in points if p.source != THEORY}))
    labelled_legend(figure, ncols=4)
    return figure


def _line(axes: Axes, points: Sequence[Point], arm: str, label: str) -> None:
    axes.plot(
        [p.x for p in points],
        [p.value for p in points],
        color=ARM_COLOURS[arm],
        label=f"attention, {label}, theory",
    )


def _marks(axes: Axes, points: Sequence[Point], quantity: str, ratio: float, marker: str) -> None:
    for arm in ARMS:
        kept = [p for p in select(points, curve=arm, quantity=quantity, y=ratio) if p.dimension]
        axes.errorbar(
            [p.x for p in kept],
            [p.value for p in kept],
            [p.error for p in kept],
            fmt=marker,
            color=ARM_COLOURS[arm],
            label=f"{ARMS[arm]}, L/d = {ratio:g}",
            mec="white",
            mew=0.6,
            capsize=2.5,
        )


def _differences(axes: Axes, points: Sequence[Point], markers: dict[float, str]) -> None:
    axes.axhline(0, color="black", lw=0.8)
    for ratio, marker in markers.items():
        for arm in ARMS:
            line = select(points, curve=arm, quantity="cosine", y=ratio)
            kept = [p for p in line if p.source != THEORY]
            base = {p.x: p.value for p in select(points, curve=arm, quantity="cosine", group="")}
            axes.errorbar(
                [p.dimension for p in kept],
                [p.value / base[p.x] - 1 for p in kept],
                [p.error / base[p.x] for p in kept],
                fmt=marker + "-",
                lw=0.8,
                color=ARM_COLOURS[arm],
                mec="white",
                mew=0.6,
                capsize=2.5,
            )


def _plain_ticks(axes: Axes, values: Sequence[float]) -> None:
    axes.set_xticks(values, [f"{v:g}" for v in values])
    axes.minorticks_off()


PICTURES: tuple[Picture, ...] = (
    Picture(
        "growing_length",
        draw,
        "By experiment: L grows with d at fixed L/d. Left: test error; the theory at each L is the "
        "line. Middle: cosine of the two-step query, by theory far beyond the lengths simulated. "
        "Right: relative difference of the cosine from the theory against d, at fixed L/d. "
        "Means over trials with one standard error.",
    ),
)
