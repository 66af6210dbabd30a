"""Figure: theory and simulation when the length grows with the dimension."""

from __future__ import annotations

from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from sparsetoken.experiments import reference_lines as lines
from sparsetoken.experiments.growing_length.claims import relative
from sparsetoken.experiments.growing_length.work import ARMS, LongCosine, Place
from sparsetoken.experiments.rows import Rows, select, series
from sparsetoken.figures import style
from sparsetoken.figures.palette import BLUE, SKY

ARM_COLOURS = {"fixed": SKY, "growing": BLUE}
MARKERS = "os^D"
"""One for each ratio L/d."""


def draw(rows: Rows) -> Figure:
    """Draw test error (left), cosine (middle), its relative difference to theory (right)."""
    figure, (left, middle, right) = style.new_figure(11.0, 4.2, 3)
    places = select(rows, Place)
    known = series(select(rows, Place, arm="growing"), "length", "references")
    lines.reference_lines(left, known, ("pooled", "floor", "bayes"))
    right.axhline(0, color="black", lw=0.8)
    for arm in ARMS:
        _theory(left, middle, rows, arm)
    ratios = sorted({row.ratio for row in places})
    for ratio, marker in zip(ratios, MARKERS, strict=False):
        for arm in ARMS:
            line = select(rows, Place, arm=arm, ratio=ratio)
            look = {"color": ARM_COLOURS[arm], "mec": "white", "mew": 0.6}
            look["label"] = f"{ARMS[arm]}, L/d = {ratio:g}"
            for axes, name in ((left, "test_error"), (middle, "cosine")):
                lines.labelled_points(axes, series(line, "length", name), fmt=marker, **look)
            off = [(row.dimension, relative(row.cosine, row.predicted_cosine)) for row in line]
            lines.labelled_points(right, off, fmt=marker + "-", lw=0.8, **look)
    middle.set_xscale("log")
    style.log_ticks(left, x=sorted({row.length for row in places}))
    style.log_ticks(right, x=sorted({row.dimension for row in places}))
    style.axis_text(left, x="L", y="", title="test error")
    style.axis_text(middle, x="L", y="", title="cosine of the query")
    style.axis_text(right, x="d", y="", title="cosine, measured / theory − 1")
    lines.labelled_legend(figure, ncols=4)
    return figure


def _theory(left: Axes, middle: Axes, rows: Rows, arm: str) -> None:
    look: dict[str, Any] = {"color": ARM_COLOURS[arm], "label": f"attention, {ARMS[arm]}, theory"}
    errors = series(select(rows, Place, arm=arm), "length", "references")
    left.plot([L for L, _ in errors], [known.attention.value for _, known in errors], **look)
    cosines = series(select(rows, LongCosine, arm=arm), "length", "predicted_cosine")
    middle.plot([L for L, _ in cosines], [cosine.value for _, cosine in cosines], **look)


PICTURES = {"growing_length": draw}
