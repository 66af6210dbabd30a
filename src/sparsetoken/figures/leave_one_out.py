"""Figure: leave-one-out scores against refits, and the test error they estimate."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from sparsetoken.experiments.points import Point, curve, select
from sparsetoken.figures import style
from sparsetoken.figures.picture import Picture

__all__ = ["PICTURES", "draw"]

COLOURS = {"square": "#D55E00", "logistic": "#0072B2", "squared_hinge": "#009E73"}
GREY = "#555555"


def draw(points: Sequence[Point]) -> Figure:
    """Draw errors against d (left), and estimated and exact test error (right)."""
    figure, (left, right) = style.new_figure(9.6, 4.3, 2)
    _errors(left, points)
    _estimates(right, points)
    figure.legend(handles=_entries(points), loc="outside upper center", ncols=4)
    return figure


def _errors(axes: Axes, points: Sequence[Point]) -> None:
    for loss in ("logistic", "squared_hinge"):
        for quantity, line in (("surrogate_error", "-"), ("change", ":")):
            rows = select(points, curve=loss, quantity=quantity)
            axes.plot([p.x for p in rows], [p.value for p in rows], line, color=COLOURS[loss])
            style.measured(axes, rows, COLOURS[loss])
    ticks = [p.x for p in select(points, curve="logistic", quantity="change")]
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xticks(ticks, [f"{t:g}" for t in ticks])
    axes.minorticks_off()
    title = "difference of scores from refits, α₁ = 2"
    style.axis_text(axes, x="d", y="root mean square", title=title)


def _estimates(axes: Axes, points: Sequence[Point]) -> None:
    for loss, colour in COLOURS.items():
        predicted, estimated = curve(points, curve=loss, quantity="test_error")
        style.predicted(axes, predicted, colour)
        style.predicted(axes, select(points, curve=loss, quantity="training_error"), colour, "--")
        style.measured(axes, estimated, colour)
    style.load_axis(axes, select(points, quantity="spread"))
    axes.set_ylim(0, None)
    style.axis_text(axes, x="α₁ = n₁ / d", y="error", title="share of wrong signs")


def _entries(points: Sequence[Point]) -> list[Line2D]:
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
    if not all(p.converged for p in points):
        entries.append(grey("not converged", ls="none", marker="o", mfc="none", mec=GREY))
    return entries


PICTURES = (
    Picture(
        "leave_one_out",
        draw,
        "Left: how far leave-one-out scores from one fit are from those of refits (solid), and "
        "how far the scores of the fit itself are (dotted), at α₁ = 2; the square loss is exact "
        "and not drawn. Right: the test error estimated from the training set alone (points, mean "
        "and one standard error over training sets), the exact one (lines), and the training "
        "error (dashed), which says little of it.",
    ),
)
