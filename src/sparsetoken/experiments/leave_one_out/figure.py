"""Figure: leave-one-out scores against refits, and the test error they estimate."""

from __future__ import annotations

from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from sparsetoken.experiments.leave_one_out.claims import CURVED
from sparsetoken.experiments.leave_one_out.rows import Estimated, Refitted, Theory
from sparsetoken.experiments.leave_one_out.work import ALPHA1
from sparsetoken.experiments.rows import Rows, select, series
from sparsetoken.figures import style
from sparsetoken.figures.palette import BLUE, GREEN, GREY, VERMILION

COLOURS = {"square": VERMILION, "logistic": BLUE, "squared_hinge": GREEN}


def draw(rows: Rows) -> Figure:
    """Draw errors against d (left), and estimated and exact test error (right)."""
    figure, (left, right) = style.new_figure(9.6, 4.3, 2)
    shown = _errors(left, rows) + _estimates(right, rows)
    entries = _entries(all(value.converged for _, value in shown))
    figure.legend(handles=entries, loc="outside upper center", ncols=4)
    return figure


def _errors(axes: Axes, rows: Rows) -> list[tuple[float, Any]]:
    shown = []
    for loss in CURVED:
        for name, line in (("surrogate_error", "-"), ("change", ":")):
            points = series(select(rows, Refitted, loss=loss), "dimension", name)
            axes.plot([d for d, _ in points], [v.value for _, v in points], line, c=COLOURS[loss])
            style.measured(axes, points, COLOURS[loss])
            shown += points
    axes.set_yscale("log")
    style.log_ticks(axes, x=sorted({row.dimension for row in select(rows, Refitted)}))
    title = f"difference of scores from refits, α₁ = {ALPHA1:g}"
    style.axis_text(axes, x="d", y="root mean square", title=title)
    return shown


def _estimates(axes: Axes, rows: Rows) -> list[tuple[float, Any]]:
    shown = []
    for loss, colour in COLOURS.items():
        theory = select(rows, Theory, loss=loss)
        points = series(select(rows, Estimated, loss=loss), "alpha1", "test_error")
        style.measured(axes, points, colour)
        for name, dashes in (("test_error", "-"), ("training_error", "--")):
            line = series(theory, "alpha1", name)
            style.predicted(axes, line, colour, dashes)
            shown += line
        shown += points
    style.load_axis(axes, [row.alpha1 for row in select(rows, Estimated)])
    axes.set_ylim(0, None)
    style.axis_text(axes, x="α₁ = n₁ / d", y="error", title="share of wrong signs")
    return shown


def _entries(converged: bool) -> list[Line2D]:
    def grey(label: str, **look: str) -> Line2D:
        entry = Line2D([], [], color=GREY, mec="white", label=label)
        entry.set(**look)
        return entry

    entries = [
        *(
            Line2D([], [], color=colour, label=f"{loss.replace('_', ' ')} loss")
            for loss, colour in COLOURS.items()
        ),
        grey("leave-one-out", ls="none", marker="o"),
        grey("change by leaving out", ls=":"),
        grey("test error, exact"),
        grey("training error, exact", ls="--"),
    ]
    if not converged:
        entries.append(grey("not converged", ls="none", marker="o", mfc="none", mec=GREY))
    return entries


PICTURES = {"leave_one_out": draw}
