"""Plots of a result: curves of a quantity over the last dimension."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.cbook import normalize_kwargs
from matplotlib.colors import LinearSegmentedColormap, to_hex
from matplotlib.lines import Line2D

from sparsetoken.base.parameters import Parameter, parameters_of
from sparsetoken.base.validation import InvalidInput, choice
from sparsetoken.figures import style
from sparsetoken.figures.palette import COLOURS, CYCLE, NAMES, VERMILION
from sparsetoken.model.descent import Descent
from sparsetoken.model.models import MODELS
from sparsetoken.model.problem import SparseTokenProblem
from sparsetoken.model.stages import Query, Readout, TwoSteps

_WIDE = 8.0  # ratio of the ends of a grid for which an axis is logarithmic
_EVEN = 1.5  # ratio of its steps in log, at most: those of 1, 2, 5, 10 differ by 1.3
MOST_LINES = 20
_WORDS = {
    "auc": "AUC",
    "separable": "fraction of separable sets",
    "time": "time $t$: bags seen per dimension",
}


@dataclasses.dataclass(eq=False)
class _Setting:
    """What an axes shows of one setting: its colour, and its line and points by their source."""

    name: str
    colour: Any
    drawn: dict[str, Any] = dataclasses.field(default_factory=dict)


def draw(record: Any, quantity: str, ax: Any, options: dict[str, Any]) -> Any:
    """Plot one column over the last dimension, with a line for each point of the others.

    The quantity is a column, by default the first. The options are those of the lines; a label
    stands before the values of the other dimensions, in place of the model and the source. A model
    has its colour, from light to dark for lines of growing numbers, and a prediction and a
    simulation of one setting share theirs, and an entry of the legend.
    """
    columns = record.columns()
    numbers = [name for name, values in columns.items() if values.dtype.kind in "iuf"]
    column = choice("quantity", quantity or numbers[0], numbers)
    shape = record.shape if record.dims else (1,)
    simulated = hasattr(record, "trials")
    placed = simulated and bool(record.dims)  # one simulated point has its place on an axis
    if shape[-1] < 2 and not placed:
        remedy = "Give the last parameter several values, as alpha1=[1.0, 2.0, 4.0]."
        raise InvalidInput("points of a plot", "two or more", shape[-1], remedy)
    lines = int(np.prod(shape[:-1]))
    if lines > MOST_LINES:
        remedy = "Select a part of it with isel(), or use to_frame()."
        raise InvalidInput("lines of a plot", f"at most {MOST_LINES}", lines, remedy)
    coords = {
        n: np.broadcast_to(value, shape).reshape(lines, -1)
        for n, value in record.coords.items()
        if value.dtype != object  # schedules of steps
    }
    values = columns[column].reshape(lines, -1)
    sound = np.isfinite(values)
    if not {"step", "time"} & {*record.dims}:  # what came before a divergence is right
        statuses = np.broadcast_to(columns.get("status", "converged"), shape)
        sound &= statuses.reshape(lines, -1) == "converged"
    errors = columns.get(f"{column}_se", np.zeros(shape)).reshape(lines, -1)
    last = record.dims[-1] if record.dims and record.dims[-1] in coords else "point"
    x_name = next((n for n, c in coords.items() if _varies(c)), last)
    x = coords.get(x_name, np.broadcast_to(np.arange(shape[-1]), values.shape))
    options = normalize_kwargs(options, Line2D)
    label, source = options.pop("label", None), "simulation" if simulated else "theory"
    model = NAMES.get(record.model, record.model)
    with style.drawing(ax) as ax:
        settings = _settings(ax)
        shades = _shades(_free_colour(ax, record.model), lines)
        for i in range(lines):
            fixed = _fixed(coords, i)
            name = _joined(label or model, fixed)
            shown = name if label else _joined(model, source, fixed)
            alike = (s for s in settings if s.name == name and (label or source not in s.drawn))
            one = next(alike, None) or _Setting(name, shades[i])
            if one not in settings:
                settings.append(one)
            look = {"color": one.colour, **options}
            look["label"] = f"_{shown}" if label and one.drawn else shown  # once in the legend
            look |= {"engine": "reduced" if simulated else "theory", "converged": sound[i]}
            if errors[i].any() and not simulated:
                look["band"] = values[i] - 2 * errors[i], values[i] + 2 * errors[i]
            before = len(ax.containers if simulated else ax.lines)
            one.colour = style.draw(ax, x[i], values[i], errors[i], **look)
            one.drawn.setdefault(source, (ax.containers if simulated else ax.lines)[before])
        ax.set(xlabel=axis_label(x_name), ylabel=axis_label(column))
        if x_name not in ("step", "time") and _geometric(x[0]):
            style.log_axis(ax.xaxis)
        _legend(ax, settings)
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
    """Draw one map of values, nan where they did not converge, without those at infinity."""
    y, x = values.dims
    values = values[{dim: np.isfinite(values[dim]) for dim in (x, y)}].sortby([x, y])
    cells = [_ends_of_cells(values[dim].to_numpy()) for dim in (x, y)]
    look: dict[str, Any] = {"cmap": "viridis", "rasterized": True, **ends}
    mesh = ax.pcolormesh(*cells, values.to_numpy(), **look)
    ax.grid(False)
    for axis, dim in ((ax.xaxis, x), (ax.yaxis, y)):
        if _geometric(values[dim].to_numpy()):
            style.log_axis(axis)
    rows, columns = np.nonzero(np.isnan(values.to_numpy()))
    style.hollow(ax, values[x].to_numpy()[columns], values[y].to_numpy()[rows], VERMILION)
    ax.set(xlabel=axis_label(x), ylabel=axis_label(y))
    return mesh


def _ends_of_cells(centres: np.ndarray) -> np.ndarray:
    """Return the ends of cells around rising numbers, half way between them on their axis."""
    log = _geometric(centres)
    at = np.log(centres) if log else centres.astype(float)
    half = np.diff(at) / 2 if len(at) > 1 else np.full(1, 0.5)
    found = np.concatenate([at[:1] - half[:1], (at[1:] + at[:-1]) / 2, at[-1:] + half[-1:]])
    return np.exp(found) if log else found


def _settings(ax: Axes) -> list[_Setting]:
    """Return what `draw` has drawn in an axes and is still there, a list that stays with it."""
    settings = vars(ax).setdefault("sparsetoken_settings", [])
    there = {id(one) for one in (*ax.lines, *ax.containers)}
    settings[:] = [s for s in settings if all(id(one) in there for one in s.drawn.values())]
    return settings


def _legend(ax: Axes, settings: Sequence[_Setting]) -> None:
    """Give each setting one entry, of its line and its points, and keep those of other drawings."""
    own = {id(one) for setting in settings for one in setting.drawn.values()}
    entries: list[tuple[Any, str]] = []
    for setting in settings:
        drawn = tuple(setting.drawn.values())
        name = setting.name or " and ".join(setting.drawn)
        entries.append((drawn, name if len(drawn) > 1 else str(drawn[0].get_label())))
    drawn_by_others = zip(*ax.get_legend_handles_labels(), strict=True)
    entries += [(one, label) for one, label in drawn_by_others if id(one) not in own]
    both = any(len(setting.drawn) > 1 for setting in settings)
    title = "lines: theory, points: simulation" if both else None
    ax.legend(*zip(*entries, strict=True), title=title)


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


def _joined(*words: Any) -> str:
    return ", ".join(str(word) for word in words if word)


def _geometric(grid: np.ndarray) -> bool:
    """Return whether positive numbers are wide apart and about evenly spaced in log."""
    if not (grid > 0).all() or not np.isfinite(grid).all():
        return False
    steps = np.diff(np.log(np.unique(grid)))
    return bool(steps.sum() >= np.log(_WIDE) and steps.max() <= _EVEN * steps.min())


def _free_colour(ax: Axes, model: str) -> str:
    """Return the colour of a model, or the first of the cycle that no line has."""
    used = {to_hex(line.get_color()) for line in ax.lines}
    wanted = [COLOURS[model], *CYCLE] if model in COLOURS else CYCLE
    return next((colour for colour in wanted if colour.lower() not in used), wanted[0])


def _shades(colour: str, count: int) -> list[str]:
    """Return so many shades of a colour, from light to dark; one is the colour itself."""
    shades = LinearSegmentedColormap.from_list("", ["white", colour, "black"])
    return [to_hex(shades(at)) for at in np.linspace(0.25, 0.8, count)] if count > 1 else [colour]


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
