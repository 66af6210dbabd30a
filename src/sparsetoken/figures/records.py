"""Plots of a result: curves of a quantity over the last dimension."""

from __future__ import annotations

from typing import Any

import numpy as np

from sparsetoken.base.parameters import Parameter, parameters_of
from sparsetoken.base.validation import InvalidInput, choice
from sparsetoken.figures.style import drawing, log_axis
from sparsetoken.model.descent import Descent
from sparsetoken.model.models import MODELS
from sparsetoken.model.problem import SparseTokenProblem
from sparsetoken.model.stages import Query, Readout, TwoSteps

_WIDE = 8.0  # from this ratio of the ends on, an axis is logarithmic
_MOST_LINES = 20
_WORDS = {"auc": "AUC"}


def draw(record: Any, quantity: str, ax: Any, options: dict[str, Any]) -> Any:
    """Plot one column over the last dimension, with a line for each point of the others.

    The quantity is a column, by default the first. The options are those of the lines; a label
    stands before the values of the other dimensions.
    """
    columns = record.columns()
    numbers = [name for name, values in columns.items() if values.dtype.kind in "iuf"]
    name = choice("quantity", quantity or numbers[0], numbers)
    shape = record.shape if record.dims else (1,)
    lines = int(np.prod(shape[:-1]))
    if lines > _MOST_LINES:
        remedy = "Select a part of it with isel(), or use to_frame()."
        raise InvalidInput("lines of a plot", f"at most {_MOST_LINES}", lines, remedy)
    coords = {
        n: np.broadcast_to(value, shape).reshape(lines, -1)
        for n, value in record.coords.items()
        if value.dtype != object  # schedules of steps
    }
    converged = columns.get("status", np.array("converged")) == "converged"
    keep = converged | ("step" in record.dims)  # what came before a divergence is right
    values = np.where(keep, columns[name], np.nan).reshape(lines, -1)
    error = columns.get(f"{name}_se")
    errors = None if error is None else error.reshape(lines, -1)
    last = record.dims[-1] if record.dims and record.dims[-1] in coords else "point"
    x_name = next((n for n, c in coords.items() if _varies(c)), last)
    x = coords.get(x_name, np.broadcast_to(np.arange(shape[-1]), values.shape))
    with drawing(ax) as ax:
        for i in range(lines):
            label = ", ".join(filter(None, (options.get("label"), _label(coords, i))))
            one = {**options, "label": label or None}
            if hasattr(record, "trials"):
                one = _of_its_line(ax, one)
            _draw_line(ax, x[i], values[i], None if errors is None else errors[i], one, record)
        ax.set(xlabel=axis_label(x_name), ylabel=axis_label(name))
        if x_name != "step" and x.min() > 0 and x.max() / x.min() >= _WIDE:
            log_axis(ax)
        if ax.get_legend_handles_labels()[1]:
            ax.legend()
    return ax


def parameter_of(name: str) -> Parameter | None:
    """Return the declaration of a parameter of problems, stages or models; None if it is none."""
    models = (entry.kind for entry in MODELS.values())
    for kind in (SparseTokenProblem, TwoSteps, Readout, Descent, Query, *models):
        if name in (declared := parameters_of(kind)):
            return declared[name]
    return None


def axis_label(name: str) -> str:
    """Return the label of a declared parameter, and of other names their words."""
    declared = parameter_of(name)
    return declared.axis_label if declared else _WORDS.get(name, name.replace("_", " "))


def _of_its_line(ax: Any, options: dict[str, Any]) -> dict[str, Any]:
    """Return the options of points, with the colour of a line of the same label if there is one."""
    for line in ax.lines:
        if line.get_label() == options["label"]:
            return {"color": line.get_color(), **options, "label": None}
    return options


def _draw_line(ax: Any, x: Any, values: Any, errors: Any, options: Any, record: Any) -> None:
    """Draw means of trials as points with bars, predictions as lines with bands."""
    if errors is None:
        ax.plot(x, values, **options)
    elif hasattr(record, "trials"):
        ax.errorbar(x, values, errors, **{"fmt": "o", "capsize": 2, **options})
    else:
        (line,) = ax.plot(x, values, **options)
        low, high = values - 2 * errors, values + 2 * errors
        ax.fill_between(x, low, high, color=line.get_color(), alpha=0.2, linewidth=0)


def _label(coords: dict[str, np.ndarray], line: int) -> str:
    """Return the values of the parameters that are the same along a line, but not for all lines."""
    fixed = (
        f"{name} = {value[line, 0]:g}"
        for name, value in coords.items()
        if not _varies(value) and _varies(value.T)
    )
    return ", ".join(fixed)


def _varies(values: np.ndarray) -> bool:
    """Return whether values vary along the last axis; infinite ones may be among them."""
    return bool((values != values[..., :1]).any())
