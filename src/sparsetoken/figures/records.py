"""Plots of a result: curves of a quantity over the last dimension."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.cbook import normalize_kwargs
from matplotlib.colors import to_hex
from matplotlib.lines import Line2D

from sparsetoken.base.parameters import Parameter, parameters_of
from sparsetoken.base.validation import InvalidInput, choice
from sparsetoken.figures import style
from sparsetoken.figures.palette import VERMILION
from sparsetoken.model.descent import Descent
from sparsetoken.model.models import MODELS
from sparsetoken.model.problem import SparseTokenProblem
from sparsetoken.model.stages import Query, Readout, TwoSteps

_WIDE = 8.0  # from this ratio of the ends on, an axis is logarithmic
_MOST_LINES = 20
_SOURCES = ("theory", "simulation")
_WORDS = {"auc": "AUC", "separable": "fraction of separable sets"}


def draw(record: Any, quantity: str, ax: Any, options: dict[str, Any]) -> Any:
    """Plot one column over the last dimension, with a line for each point of the others.

    The quantity is a column, by default the first. The options are those of the lines; a label
    stands before the values of the other dimensions, in place of the model and the source. A model
    has its colour, and a prediction and a simulation of one setting share theirs, and an entry of
    the legend.
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
    values = columns[name].reshape(lines, -1)
    sound = np.isfinite(values)
    if "step" not in record.dims:  # what came before a divergence is right
        statuses = np.broadcast_to(columns.get("status", "converged"), shape)
        sound &= statuses.reshape(lines, -1) == "converged"
    errors = columns.get(f"{name}_se", np.zeros(shape)).reshape(lines, -1)
    last = record.dims[-1] if record.dims and record.dims[-1] in coords else "point"
    x_name = next((n for n, c in coords.items() if _varies(c)), last)
    x = coords.get(x_name, np.broadcast_to(np.arange(shape[-1]), values.shape))
    simulated, options = hasattr(record, "trials"), normalize_kwargs(options, Line2D)
    with style.drawing(ax) as ax:
        for i in range(lines):
            own, other = _labels(record, options.get("label"), _fixed(coords, i))
            colour = _colour_of(ax, other)
            label = f"_{own}" if own == other and colour is not None else own
            look = {"color": colour or _free_colour(ax, record.model), **options, "label": label}
            look |= {"engine": "reduced" if simulated else "theory", "converged": sound[i]}
            colour = style.draw(ax, x[i], values[i], errors[i], **look)
            if errors[i].any() and not simulated:
                low, high = values[i] - 2 * errors[i], values[i] + 2 * errors[i]
                ax.fill_between(x[i], low, high, color=colour, alpha=0.2, linewidth=0)
        ax.set(xlabel=axis_label(x_name), ylabel=axis_label(name))
        if x_name != "step" and x.min() > 0 and x.max() / x.min() >= _WIDE:
            style.log_axis(ax.xaxis)
        _legend(ax)
    return ax


def draw_maps(records: dict[str, Any], axes: Sequence[Axes]) -> None:
    """Plot the first column of results over two dimensions, in one scale of colours.

    Points that did not converge are hollow circles. The axes are of one figure.
    """
    found = {title: record.to_xarray() for title, record in records.items()}
    columns = next(iter(found.values())).items()
    name = next(str(name) for name, values in columns if values.dtype.kind in "iuf")
    known = {title: one[name].where(_sound(one, name)) for title, one in found.items()}
    ends = {
        "vmin": min(float(values.min()) for values in known.values()),
        "vmax": max(float(values.max()) for values in known.values()),
    }
    for ax, (title, values) in zip(axes, known.items(), strict=True):
        mesh = _map(values, ax, ends)
        ax.set_title(title, loc="left")
    figure: Any = axes[0].figure
    figure.colorbar(mesh, ax=list(axes), label=axis_label(name))


def _sound(found: Any, name: str) -> Any:
    """Return which points converged."""
    return (found["status"] == "converged") if "status" in found else found[name].notnull()


def _map(values: Any, ax: Axes, ends: dict[str, float]) -> Any:
    """Draw one map of values, nan where they did not converge."""
    y, x = values.dims
    look: dict[str, Any] = {"add_colorbar": False, "add_labels": False, "rasterized": True, **ends}
    mesh = values.plot.pcolormesh(x=x, y=y, ax=ax, cmap="viridis", **look)
    ax.grid(False)
    for axis, dim in ((ax.xaxis, x), (ax.yaxis, y)):
        places = values[dim].to_numpy()
        if places.min() > 0 and places.max() / places.min() >= _WIDE:
            style.log_axis(axis)
    rows, columns = np.nonzero(np.isnan(values.to_numpy()))
    style.hollow(ax, values[x].to_numpy()[columns], values[y].to_numpy()[rows], VERMILION)
    ax.set(xlabel=axis_label(x), ylabel=axis_label(y))
    return mesh


def _legend(ax: Axes) -> None:
    """Put theory and simulation of one setting, lines and points, into one entry."""
    entries: dict[str, list[Any]] = {}
    drawn: tuple[Any, ...] = (*ax.lines, *ax.containers)
    for handle in drawn:
        label = str(handle.get_label()).removeprefix("_")
        if handle.get_label() == label or label in entries:
            entries.setdefault(label, []).append(handle)
    settings: dict[str, list[str]] = {}
    for label in entries:
        name = ", ".join(word for word in label.split(", ") if word not in _SOURCES) or label
        settings.setdefault(name, []).append(label)
    names = [labels[0] if len(labels) == 1 else name for name, labels in settings.items()]
    handles = [tuple(h for one in labels for h in entries[one]) for labels in settings.values()]
    if names:
        both = any(len(some) > 1 for some in handles)
        ax.legend(handles, names, title="lines: theory, points: simulation" if both else None)


def parameter_of(name: str) -> Parameter | None:
    """Return the declaration of a parameter of problems, stages or models; None if it is none."""
    for kind in (SparseTokenProblem, TwoSteps, Readout, Descent, Query, *MODELS.values()):
        if name in (declared := parameters_of(kind)):
            return declared[name]
    return None


def axis_label(name: str) -> str:
    """Return the label of a declared parameter, and of other names their words."""
    declared = parameter_of(name)
    return declared.axis_label if declared else _WORDS.get(name, name.replace("_", " "))


def _labels(record: Any, given: str | None, fixed: str) -> tuple[str, str]:
    """Return the label of a line or of points, and that of the other one of the same setting."""
    sources = _SOURCES[::-1] if hasattr(record, "trials") else _SOURCES
    heads = ([given] if given else [record.model, source] for source in sources)
    own, other = (", ".join(filter(None, (*head, fixed))) for head in heads)
    return own, other


def _free_colour(ax: Axes, model: str) -> str | None:
    """Return the colour of a model, or the first of the cycle that no line has."""
    cycle = matplotlib.rcParams["axes.prop_cycle"].by_key().get("color", [])
    used = {to_hex(line.get_color()) for line in ax.lines}
    wanted = [style.COLOURS[model], *cycle] if model in style.COLOURS else cycle
    return next((colour for colour in wanted if to_hex(colour) not in used), None)


def _colour_of(ax: Any, label: str) -> Any:
    """Return the colour of what has this label, None if nothing has."""
    for handle, name in zip(*ax.get_legend_handles_labels(), strict=True):
        if name == label:
            return getattr(handle, "lines", [handle])[0].get_color()
    return None


def _fixed(coords: dict[str, np.ndarray], line: int) -> str:
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
