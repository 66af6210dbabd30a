"""Figure: share of separable training sets around the predicted capacity."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from sparsetoken.experiments.capacity.claims import by_engine
from sparsetoken.experiments.capacity.rows import Separable
from sparsetoken.experiments.capacity.work import MODELS
from sparsetoken.experiments.rows import Rows, select
from sparsetoken.figures import style
from sparsetoken.figures.palette import GREY

LINES, ALPHAS = (":", "-"), (0.5, 1.0)
"""Of the smaller and the larger feature dimension."""


def draw(rows: Rows) -> Figure:
    """Draw one panel for each model: two dimensions, and the capacity as a line."""
    figure, panels = style.new_figure(9.6, 3.6, 3)
    features = sorted({row.features for row in select(rows, Separable)})
    for axes, model in zip(panels, MODELS, strict=True):
        capacity = select(rows, Separable, model=model)[0].capacity
        axes.axvline(capacity.value, color="black", ls="-" if capacity.converged else ":", lw=1.2)
        for m, line, alpha in zip(features, LINES, ALPHAS, strict=True):
            _shares(axes, by_engine(rows, "reduced", model=model, features=m), line, alpha)
        again = by_engine(rows, "tensors", model=model)
        style.measured(axes, [(row.alpha1, row.share) for row in again], GREY)
        axes.set_ylim(-0.04, 1.04)
        title = f"{model}, α* = {capacity.value:.3f}"
        label = "share separable" * (model == MODELS[0])
        style.axis_text(axes, x="α₁ = n₁ / d", y=label, title=title)
    _legend(figure, features, tensors=bool(by_engine(rows, "tensors")))
    return figure


def _shares(axes: Axes, counted: Sequence[Separable], line: str, alpha: float) -> None:
    colour = style.COLOURS[counted[0].model]
    loads, shares = [row.alpha1 for row in counted], [row.share for row in counted]
    axes.plot(loads, [share.value for share in shares], line, color=colour, lw=1.2, alpha=alpha)
    style.measured(axes, list(zip(loads, shares, strict=True)), colour, alpha)


def _legend(figure: Figure, features: Sequence[int], tensors: bool) -> None:
    entries = [Line2D([], [], color="black", lw=1.2, label="predicted capacity")]
    for m, line, alpha in zip(features, LINES, ALPHAS, strict=True):
        look = {"color": GREY, "lw": 1, "ls": line, "marker": "o", "alpha": alpha}
        entries.append(Line2D([], [], label=f"{m} features", **look))  # type: ignore[arg-type]
    if tensors:
        square = Line2D([], [], ls="none", color=GREY, marker="s", ms=8)
        square.set_label("real tensors")
        entries.append(square)
    figure.legend(handles=entries, loc="outside upper center", ncols=len(entries))


PICTURES = {"capacity": draw}
