"""Figure: what the choice of alpha0 and of the sharpness changes."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.figure import Figure

from sparsetoken.experiments.points import Point, select
from sparsetoken.figures import style

__all__ = ["draw"]

PANELS = (
    ("effect of alpha0", "α₀", "steps as chosen, α₀ varied"),
    ("effect of sharpness", "k", "cosine as chosen, k varied"),
)


def draw(points: Sequence[Point]) -> Figure:
    """Draw the predicted test error of attention for several choices."""
    figure, panels = style.new_figure(8.6, 4.1, 2)
    for axes, (group, letter, title) in zip(panels, PANELS, strict=True):
        kept = select(points, group=group, quantity="test_error")
        values = sorted({p.curve for p in kept}, key=float)
        for name, colour in zip(values, style.SEQUENCE, strict=True):
            style.predicted(axes, select(kept, curve=name), colour)
            chosen = " (chosen)" if name == "1" else ""
            axes.plot([], [], color=colour, label=f"{letter} = {name}{chosen}")
        style.load_axis(axes, kept)
        style.axis_text(axes, x="α₁ = n₁ / d", y="test error, attention", title=title)
        # Below the axes, where no line can run through it.
        axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.16), ncols=3)
    top = max(axes.get_ylim()[1] for axes in panels)
    for axes in panels:
        axes.set_ylim(0, top)
    return figure
