"""Figure: share of separable training sets around the predicted capacity."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from sparsetoken.experiments.points import Point, select
from sparsetoken.figures import style
from sparsetoken.figures.picture import Picture

__all__ = ["PICTURES", "draw"]

MODELS = ("attention", "pooled", "vectorized")


def draw(points: Sequence[Point]) -> Figure:
    """Draw one panel for each model: two dimensions, and the capacity as a line."""
    figure, panels = style.new_figure(9.6, 3.6, 3)
    simulated = select(points, quantity="separable")
    groups = sorted({p.group for p in simulated}, key=int)
    for axes, model in zip(panels, MODELS, strict=True):
        (threshold,) = select(points, curve=model, quantity="threshold")
        axes.axvline(threshold.value, color="black", ls="-" if threshold.converged else ":", lw=1.2)
        for group, line in zip(groups, (":", "-"), strict=True):
            counted = select(simulated, curve=model, group=group, source="reduced")
            colour = style.COLOURS[model]
            alpha = 0.5 if group == groups[0] else 1.0
            loads, shares = [p.x for p in counted], [p.value for p in counted]
            axes.plot(loads, shares, line, color=colour, lw=1.2, alpha=alpha)
            style.measured(axes, counted, colour, alpha)
        again = select(simulated, curve=model, source="tensors")
        style.measured(axes, again, "#555555")
        axes.set_ylim(-0.04, 1.04)
        title = f"{model}, α* = {threshold.value:.3f}"
        style.axis_text(
            axes, x="α₁ = n₁ / d", y="share separable" * (model == MODELS[0]), title=title
        )
    _legend(figure, groups, simulated)
    return figure


def _legend(figure: Figure, groups: Sequence[str], points: Sequence[Point]) -> None:
    grey = "#555555"
    entries = [
        Line2D([], [], color="black", lw=1.2, label="predicted capacity"),
        *(
            Line2D(
                [], [], color=grey, lw=1, ls=line, marker="o", alpha=a, label=f"{group} features"
            )
            for group, line, a in zip(groups, (":", "-"), (0.5, 1.0), strict=True)
        ),
    ]
    if any(p.source == "tensors" for p in points):
        square = Line2D([], [], ls="none", color=grey, marker="s", ms=8)
        square.set_label("real tensors")
        entries.append(square)
    figure.legend(handles=entries, loc="outside upper center", ncols=len(entries))


PICTURES = (
    Picture(
        "capacity",
        draw,
        "Share of training sets that a hyperplane separates, at two feature "
        "dimensions. Each answer is proved by a hyperplane or by multipliers that exclude one, "
        "or found by linear programming where neither proof is at hand. "
        "The fall sharpens at the predicted capacity as the dimension grows.",
    ),
)
