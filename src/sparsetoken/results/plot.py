"""A table of results as a picture."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from sparsetoken.extras import needed
from sparsetoken.figures.palette import COLOURS
from sparsetoken.validation import InvalidInput

if TYPE_CHECKING:
    from sparsetoken.results.table import Table

_LOADS = ("alpha", "alpha0", "alpha1")
_WIDE = 8.0  # from this ratio of the ends on, an axis is logarithmic
_FLOOR, _BEST = COLOURS["floor"], "best learner"
_SIZE = (5.6, 3.9)  # of a new figure, in inches


@contextlib.contextmanager
def drawing(ax: Any) -> Iterator[Any]:
    """Give the axes to draw on: those of the caller, or a new figure in the package's style."""
    needed("matplotlib.pyplot", "to plot", "app")
    from sparsetoken.figures.panels import panels, style_of

    with style_of(ax):
        yield panels(ax, 1, 1, _SIZE)[0, 0]


def draw(table: Table[Any], quantity: str, ax: Any, options: dict[str, Any]) -> Any:
    """Draw one column of a table: lines for one or two directions that vary.

    Parameters
    ----------
    table : Table
    quantity : str
        A column; "" for the first of the results.
    ax : matplotlib Axes or None
    options : dict
        Of the lines; a label stands before the values of the axes.

    Returns
    -------
    matplotlib Axes
    """
    columns = table.rows[0].to_dict()
    name = quantity or next(iter(columns))
    if name not in columns or not isinstance(columns[name], (int, float)):
        numbers = [key for key, value in columns.items() if isinstance(value, (int, float))]
        raise InvalidInput("quantity", "one of " + ", ".join(numbers), name)
    shape = tuple(n for n in table.shape if n > 1) or (1,)
    if len(shape) > 2:
        remedy = "Take a part of it, or to_frame()."
        raise InvalidInput("shape of the table", "at most two directions that vary", shape, remedy)
    x_name, x = _along(table, shape)
    values = np.where(table.converged, getattr(table, name), np.nan).reshape(shape)
    errors = _errors(table, name, shape)
    x, values = x.reshape(shape), np.atleast_2d(values)
    with drawing(ax) as ax:
        for i, (line, at) in enumerate(zip(values, np.atleast_2d(x), strict=True)):
            labels = filter(None, (options.get("label"), _label(table, shape, i)))
            of_line = {**options, "label": ", ".join(labels) or None}
            if errors is None:
                ax.plot(at, line, **of_line)
            else:
                points = {"fmt": "o", "capsize": 2, **of_line}
                ax.errorbar(at, line, np.atleast_2d(errors)[i], **points)
        ax.set(xlabel=x_name, ylabel=name.replace("_", " "))
        if name == "test_error" and x_name in _LOADS and table.floor is not None:
            _draw_floor(ax, x, table.floor().reshape(shape))
        _scale(ax, x)
        legend(ax)
    return ax


def _scale(ax: Any, x: np.ndarray) -> None:
    """Make the axis logarithmic where its values span a wide range."""
    from sparsetoken.figures.style import log_axis

    if x.min() > 0 and x.max() / x.min() >= _WIDE:
        log_axis(ax)


def legend(ax: Any) -> None:
    """Show the labels, if there are any."""
    if ax.get_legend_handles_labels()[1]:
        ax.legend()


def _draw_floor(ax: Any, x: np.ndarray, floor: np.ndarray) -> None:
    """Draw the test error of the best learner, once where several lines share it."""
    drawn: list[np.ndarray] = []
    for at, line in zip(np.atleast_2d(x), np.atleast_2d(floor), strict=True):
        if not any(np.array_equal(line, other) for other in drawn):
            ax.plot(at, line, "-.", color=_FLOOR, label=_floor_label(ax))
            drawn.append(line)


def _floor_label(ax: Any) -> str | None:
    """Return the label of a floor, which only the first of an axes has."""
    return None if _BEST in ax.get_legend_handles_labels()[1] else _BEST


def _along(table: Table[Any], shape: tuple[int, ...]) -> tuple[str, np.ndarray]:
    """Return the axis that varies along the last direction."""
    for name, axis in _numbers(table).items():
        last = axis.reshape(shape)
        if shape == (1,) or np.ptp(last, axis=-1).any():
            return name, axis
    return "point", np.broadcast_to(np.arange(shape[-1]), shape)


def _label(table: Table[Any], shape: tuple[int, ...], line: int) -> str | None:
    """Return the values of the axes that are the same along a line."""
    if len(shape) == 1:
        return None
    fixed = []
    for name, axis in _numbers(table).items():
        values = axis.reshape(shape)
        if not np.ptp(values, axis=-1).any():
            fixed.append(f"{name} = {values[line, 0]:g}")
    return ", ".join(fixed)


def _numbers(table: Table[Any]) -> dict[str, np.ndarray]:
    """Return the axes of numbers; others are schedules of steps."""
    return {name: axis for name, axis in table.axes.items() if axis.dtype != object}


def label_of(table: Table[Any], point: int) -> str:
    """Return the values of the axes that vary, at a point."""
    varied = {name: axis.ravel() for name, axis in _numbers(table).items() if np.ptp(axis) > 0}
    text = ", ".join(f"{name} = {values[point]:g}" for name, values in varied.items())
    return text or f"point {point}"


def draw_floors(ax: Any, x: np.ndarray, floors: np.ndarray) -> None:
    """Draw floors that are the same along x, each once."""
    for floor in dict.fromkeys(floors.tolist()):
        ax.plot(x, np.full(len(x), floor), "-.", color=_FLOOR, label=_floor_label(ax))


def _errors(table: Table[Any], name: str, shape: tuple[int, ...]) -> np.ndarray | None:
    """Return the standard errors of a simulated column."""
    column = f"{name}_error"
    if column not in table.rows[0].to_dict():
        return None
    return getattr(table, column).reshape(shape)
