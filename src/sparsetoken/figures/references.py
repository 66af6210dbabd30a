"""Reference lines: what pooled, two-step attention and Bayes reach."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from sparsetoken.experiments.points import Point, curve
from sparsetoken.figures import style

__all__ = ["labelled_legend", "reference_lines"]

REFERENCES = {
    "pooled": ("pooled, theory", "--"),
    "attention": ("two-step attention, theory", "-"),
    "bayes": ("Bayes, signal known", ":"),
}


def reference_lines(axes: Axes, points: Sequence[Point]) -> None:
    """Draw the theory of pooled, attention and Bayes; a level line where it has one point.

    Lines carry labels for `labelled_legend`. Points of other curves are passed over, so
    that all points of one panel may be given.
    """
    for name, (label, line) in REFERENCES.items():
        theory, _ = curve(points, curve=name, quantity="test_error")
        look: dict[str, Any] = {
            "color": style.COLOURS.get(name, "#444444"),
            "label": label,
            "zorder": 1.5,
        }
        if len(theory) == 1:
            axes.axhline(theory[0].value, linestyle=line, **look)
        elif theory:
            axes.plot([p.x for p in theory], [p.value for p in theory], line, **look)


def labelled_legend(figure: Figure, ncols: int = 3) -> None:
    """Put one legend above the panels: each label once, in order of drawing."""
    entries: dict[str, Any] = {}
    for axes in figure.axes:
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
            entries.setdefault(label, handle)
    figure.legend(list(entries.values()), list(entries), loc="outside upper center", ncols=ncols)
