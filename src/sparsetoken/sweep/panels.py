"""The panels of a sweep in a figure: one for each step of the axes that have no other place."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from sparsetoken.sweep import Axis, Drawing, Grid, Summary
from sparsetoken.sweep.drawing import VALUES
from sparsetoken.sweep.parameters import parameters
from sparsetoken.validation import InvalidInput

MOST_PANELS = 40


class Panel(NamedTuple):
    """The values of the parameters that have no place in the axes, and their rows.

    Curves show both quantities in one panel, maps one.
    """

    quantities: tuple[str, ...]
    fixed: dict[str, Any]
    rows: list[Summary]


def completed(grid: Grid, drawing: Drawing) -> Drawing:
    """Return the drawing with all places chosen.

    Raises
    ------
    InvalidInput
        If no axis is numeric.
    """
    numeric = [
        (len(axis), name)
        for axis in grid.axes
        for name in axis.names
        if parameters()[name].number is not None and name not in (drawing.y, drawing.curves)
    ]
    if not drawing.x and not numeric:
        raise InvalidInput("x", "an axis of numbers, and the sweep has none", "")
    x = drawing.x or max(numeric, key=lambda pair: pair[0])[1]
    curves = drawing.curves
    if not drawing.y and not curves and "model" in grid.names:
        curves = "model"
    return Drawing(x, drawing.y, curves, drawing.value or VALUES[grid.experiment][0])


def axis_of(grid: Grid, name: str) -> Axis:
    """Return the axis that a parameter is on."""
    return next(axis for axis in grid.axes if name in axis.names)


def panels_of(grid: Grid, rows: Sequence[Summary], chosen: Drawing) -> list[Panel]:
    """Return a panel for each combination of the axes without a place.

    Raises
    ------
    InvalidInput
        If there would be more than 40.
    """
    free = free_axes(grid, chosen)
    groups = [(name,) for name in grid.quantities] if chosen.y else [grid.quantities]
    count = math.prod(len(axis) for axis in free) * len(groups)
    if count > MOST_PANELS:
        sizes = ", ".join(f"{axis.label}: {len(axis)}" for axis in free)
        remedy = "Put another axis on x, y or curves, or sweep fewer values."
        raise InvalidInput("panels", f"at most {MOST_PANELS}", f"{count} ({sizes})", remedy)
    names = [name for axis in free for name in axis.names]
    found: dict[tuple, list[Summary]] = {}
    for row in rows:
        key = (row.quantity, *(row.point[name] for name in names))
        found.setdefault(key, []).append(row)
    panels = []
    for group in groups:
        for step in itertools.product(*(axis.steps for axis in free)):
            values = tuple(itertools.chain.from_iterable(step))
            own = [row for quantity in group for row in found.get((quantity, *values), [])]
            panels.append(Panel(group, dict(zip(names, values, strict=True)), own))
    return panels


def free_axes(grid: Grid, chosen: Drawing) -> list[Axis]:
    """Return the axes without a place, which make the panels."""
    placed = [axis_of(grid, name) for name in (chosen.x, chosen.y, chosen.curves) if name]
    if len({axis.label for axis in placed}) < len(placed):
        raise InvalidInput("x, y and curves", "on different axes", [axis.label for axis in placed])
    return [axis for axis in grid.axes if axis not in placed]
