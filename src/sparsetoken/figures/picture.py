"""A figure with its name and what the reader sees in it."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence

from matplotlib.figure import Figure

from sparsetoken.experiments.points import Point

__all__ = ["MARKS", "Picture"]

MARKS = (
    "Lines: theory. Points: simulation, mean and one standard error; an error bar smaller than the "
    "point is not seen. Squares: the same experiment with real tensors."
)


@dataclasses.dataclass(frozen=True)
class Picture:
    """A figure of an experiment.

    Attributes
    ----------
    name : str
        Of the file, without its ending.
    draw : callable
        Points to a figure.
    caption : str
    """

    name: str
    draw: Callable[[Sequence[Point]], Figure]
    caption: str
