"""What the figures of variants share: lines of the references, labelled points, a legend."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from sparsetoken.experiments.references import References
from sparsetoken.experiments.rows import Measured
from sparsetoken.figures import style

LOOKS = {
    "pooled": ("pooled, theory", "--"),
    "attention": ("two-step attention, theory", "-"),
    "floor": ("best learner, theory", "-."),
    "bayes": ("Bayes, signal known", ":"),
}


def reference_lines(
    axes: Axes, places: Sequence[tuple[float, References]], names: Iterable[str] = tuple(LOOKS)
) -> None:
    """Draw pairs (x, references) as lines; a level line if there is one pair."""
    for name in names:
        label, line = LOOKS[name]
        values = [getattr(references, name).value for _, references in places]
        look: dict[str, Any] = {"color": style.COLOURS[name], "label": label, "zorder": 1.5}
        if len(values) == 1:
            axes.axhline(values[0], linestyle=line, **look)
        elif values:
            axes.plot([x for x, _ in places], values, line, **look)


def labelled_points(axes: Axes, series: Sequence[tuple[float, Measured]], **look: Any) -> None:
    """Draw pairs (x, value) with one standard error up and down; `look` is that of Matplotlib."""
    xs, values = [x for x, _ in series], [v.value for _, v in series]
    axes.errorbar(xs, values, [v.error for _, v in series], capsize=2.5, **look)


def labelled_legend(figure: Figure, ncols: int = 3) -> None:
    """Put one legend above the panels: each label once, in order of drawing."""
    entries: dict[str, Any] = {}
    for axes in figure.axes:
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
            entries.setdefault(label, handle)
    figure.legend(list(entries.values()), list(entries), loc="outside upper center", ncols=ncols)
