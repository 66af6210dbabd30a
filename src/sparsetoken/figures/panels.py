"""The axes of results and displays: a new figure in the style of the package, or given axes."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from sparsetoken.figures.style import styled
from sparsetoken.validation import InvalidInput

_SIZE = (5.6, 3.9)  # of a new figure with one panel, in inches


@contextlib.contextmanager
def drawing(ax: Axes | None) -> Iterator[Axes]:
    """Give the axes to draw on: those of the caller, or a new figure in the package's style."""
    with style_of(ax):
        yield panels(ax, 1, 1, _SIZE)[0, 0]


def style_of(ax: Axes | None) -> contextlib.AbstractContextManager[None]:
    """Return the style of the package for a new figure, and nothing for axes that have a style."""
    return styled() if ax is None else contextlib.nullcontext()


def panels(
    ax: Axes | None, rows: int, columns: int, size: tuple[float, float], **share: Any
) -> np.ndarray:
    """Return axes in rows and columns, in a new figure or in the place of one axes.

    Parameters
    ----------
    ax : Axes, optional
        For more than one panel its place is divided, and it is switched off.
    rows, columns : int
    size : pair of floats
        Width and height of a new figure in inches.
    share : bool or str
        ``sharex`` and ``sharey``.

    Returns
    -------
    array of shape (rows, columns) of Axes

    Raises
    ------
    InvalidInput
        If `ax` is no Axes, or cannot be divided.
    """
    if ax is None:
        from matplotlib import pyplot

        figure = pyplot.figure(figsize=size, layout="constrained")
        return figure.subplots(rows, columns, squeeze=False, **share)
    if not isinstance(ax, Axes):
        raise InvalidInput("ax", "a matplotlib Axes or None", type(ax).__name__)
    if rows * columns == 1:
        return np.array([[ax]])
    place = ax.get_subplotspec()
    if place is None:
        legal = f"None or an Axes of a grid, for {rows * columns} panels"
        raise InvalidInput("ax", legal, "an Axes without a grid", "pyplot.subplots makes one.")
    ax.set_axis_off()
    return place.subgridspec(rows, columns).subplots(squeeze=False, **share)
