"""Figure: test error and cosine after each gradient step on the query."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from sparsetoken.experiments.points import Point, select
from sparsetoken.experiments.query_steps import LAST_STEP, SIZES, curve_name
from sparsetoken.figures import style
from sparsetoken.figures.picture import Picture
from sparsetoken.figures.references import labelled_legend, reference_lines

__all__ = ["PICTURES", "draw"]

STEP_COLOURS = ("#009E73", "#D55E00")


def draw(points: Sequence[Point]) -> Figure:
    """Draw test error (left), cosine (middle) and sharpness (right) against the step."""
    figure, panels = style.new_figure(10.4, 4.0, 3)
    reference_lines(panels[0], points)
    for axes, quantity in zip(panels, ("test_error", "cosine", "sharpness"), strict=True):
        for eta_q, colour in zip(SIZES, STEP_COLOURS, strict=True):
            for held in (False, True):
                name = curve_name(eta_q, held)
                _path(axes, select(points, curve=name, quantity=quantity), name, colour, held)
        axes.set_xticks(range(2, LAST_STEP + 1, 2))
        title = {"cosine": "cosine of the query", "sharpness": "sharpness k = β |q|"}
        style.axis_text(
            axes, x="gradient steps in all", y="", title=title.get(quantity, "test error")
        )
    panels[0].set_yscale("log")
    ticks = (0.02, 0.03, 0.05, 0.1, 0.2, 0.3)
    panels[0].set_yticks(ticks, [f"{t:g}" for t in ticks])
    panels[0].minorticks_off()
    labelled_legend(figure, ncols=4)
    return figure


def _path(axes: Axes, points: Sequence[Point], label: str, colour: str, held: bool) -> None:
    if points:
        axes.errorbar(
            [p.x for p in points],
            [p.value for p in points],
            [p.error for p in points],
            fmt="s--" if held else "o-",
            color=colour,
            mfc="white" if held else colour,
            lw=1.0,
            label=label.replace("η_q", "$η_q$"),
            capsize=2.5,
        )


PICTURES: tuple[Picture, ...] = (
    Picture(
        "query_steps",
        draw,
        "By experiment: gradient descent on the query beyond its first step. Left: test error, "
        "with the query as trained (filled) and rescaled to a fixed sharpness (open). Middle and "
        "right: cosine with the signal and sharpness of the query as trained. Means "
        "over trials with one standard error.",
    ),
)
