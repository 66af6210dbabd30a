"""Figure: a Dataset of a sweep as curves or heat maps, a panel for each step of the other axes."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import matplotlib
import numpy as np
import xarray
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from sparsetoken.base.validation import InvalidInput
from sparsetoken.figures import style
from sparsetoken.figures.palette import GREY, VERMILION
from sparsetoken.figures.records import axis_label, parameter_of

QUANTITIES = ("theory", "simulation")
COLUMNS, MOST_PANELS = 5, 40
CONVERGED, MISSING = "converged", "missing"


class Drawn(NamedTuple):
    """The number of points in a figure, and of those not converged or without results."""

    points: int
    not_converged: int
    missing: int


def draw(
    dataset: xarray.Dataset, value: str, *, x: str = "", y: str = "", curves: str = ""
) -> tuple[Figure, Drawn]:
    """Plot a sweep: theory and simulation, one panel for each step of the unassigned axes.

    The dataset is that of `sparsetoken.sweep.to_xarray`. The numeric coordinates x and y are on
    different dimensions: x is by default that of the longest one, and with y the figure is a heat
    map. There is a curve for each value of the coordinate of the curves, by default the model.
    """
    shown = [q for q in QUANTITIES if f"{q}_{value}" in dataset]
    if not shown:
        raise InvalidInput("value", "one that the sweep has results of", value)
    x = x or _longest(dataset, y or curves)
    model = dataset.coords.get("model")
    if not (y or curves) and model is not None and model.dims not in ((), dataset[x].dims):
        curves = "model"
    placed = {str(dataset[name].dims[0]): name for name in (x, y or curves) if name}
    dataset = dataset.swap_dims({dim: name for dim, name in placed.items() if dim != name})
    dataset = dataset.sortby([name for name in (x, y) if name])
    means = xarray.concat([_means(dataset, q, value) for q in shown], "quantity")
    means = means.assign_coords(quantity=shown)
    if y and "alpha1" in (x, y) and "theory_capacity" in dataset:
        capacity = _means(dataset, "theory", "capacity").isel(alpha1=0, drop=True)
        line = capacity["value"].where(capacity["status"] == CONVERGED)
        means["boundary"] = line.expand_dims(quantity=shown)
    # Curves of both quantities share a panel, maps do not.
    free = [str(dim) for dim in means["value"].dims if dim not in (*placed.values(), "quantity")]
    facets = ["quantity", *free] if y or len(shown) == 1 else free
    figure, panels, columns = _panels(means, facets, (2.5, 2.4) if y else (3.2, 2.9))
    if y:
        known = means["value"].where(means["status"] == CONVERGED)
        _maps(figure, panels, known.rename(_words(value)), x, y)
    else:
        _curves(figure, panels, x, curves)
    labels = axis_label(x), axis_label(y) if y else _words(value)
    for i, (axes, _) in enumerate(panels):
        axes.set_xlabel(labels[0] if i + columns >= len(panels) else "")
        axes.set_ylabel(labels[1] if i % columns == 0 else "")
    fallen = ~means["status"].isin([CONVERGED, MISSING])
    return figure, Drawn(fallen.size, int(fallen.sum()), int(means["missing"].sum()))


def _longest(dataset: xarray.Dataset, taken: str) -> str:
    """Return the numeric coordinate with most values."""
    used = {"trial", *(dataset[taken].dims if taken else ())}
    numeric = [
        str(name)
        for name, coord in dataset.coords.items()
        if coord.ndim and coord.dtype.kind in "if" and not used & {*coord.dims}
    ]
    if not numeric:
        raise InvalidInput("x", "a numeric axis, and the sweep has none", "")
    return max(numeric, key=lambda name: dataset[name].size)


def _means(dataset: xarray.Dataset, quantity: str, value: str) -> xarray.Dataset:
    """Return predictions, or means over trials with standard errors and what is missing.

    A status is that of the first trial that is not converged, and missing if all trials are.
    """
    values, status = dataset[f"{quantity}_{value}"], dataset[f"{quantity}_status"]
    if "trial" not in values.dims:
        values, status = values.expand_dims("trial"), status.expand_dims("trial")
    error = values.std("trial", ddof=1) / values.count("trial") ** 0.5
    fallen = ~status.isin([CONVERGED, MISSING])
    first = (2 * fallen + (status == CONVERGED)).argmax("trial")
    variables = {"value": values.mean("trial"), "error": error.fillna(0.0)}
    missing = (status == MISSING).any("trial")
    variables |= {"status": status.isel(trial=first), "missing": missing}
    return xarray.Dataset(variables).drop_vars("trial", errors="ignore")


Panel = tuple[Axes, xarray.Dataset]


def _panels(
    means: xarray.Dataset, dims: list[str], size: tuple[float, float]
) -> tuple[Figure, list[Panel], int]:
    """Return a figure with empty panels, what is in each of them, and the number of columns.

    There is a panel for each point of the dimensions. The size is that of a panel in inches.
    """
    sizes = {dim: means.sizes[dim] for dim in dims}
    count = math.prod(sizes.values())
    if count > MOST_PANELS:
        got = f"{count} ({', '.join(f'{dim}: {size}' for dim, size in sizes.items())})"
        remedy = "Put another axis on x, y or curves, or sweep fewer values."
        raise InvalidInput("panels", f"at most {MOST_PANELS}", got, remedy)
    last = sizes[dims[-1]] if dims else 1
    columns = last if 1 < last <= COLUMNS else min(COLUMNS - 1, count)
    lines = math.ceil(count / columns)
    inches = max(5.0, size[0] * columns + 1), size[1] * lines + 0.6
    figure = Figure(figsize=inches, layout="constrained")
    places = figure.subplots(lines, columns, sharex=True, sharey=True, squeeze=False).ravel()
    for axes in places[count:]:
        axes.remove()
    means = means.stack(panel=dims, create_index=False) if dims else means.expand_dims("panel")
    own = [str(name) for name, coord in means.coords.items() if coord.dims == ("panel",)]
    own.sort(key=lambda name: name != "quantity")
    panels = [(axes, means.isel(panel=i)) for i, axes in enumerate(places[:count])]
    for i, (axes, panel) in enumerate(panels):
        axes.set_title(_title({name: panel[name].item() for name in own}), loc="left")
        axes.tick_params(labelleft=i % columns == 0, labelbottom=i + columns >= count)
    return figure, panels, columns


def _maps(figure: Figure, panels: Sequence[Panel], known: xarray.DataArray, x: str, y: str) -> None:
    """Draw heat maps with the cells that did not converge, and the capacity, marked.

    Known are the values of all panels that converged.
    """
    look: dict[str, Any] = {"cmap": "viridis", "vmin": known.min(), "vmax": known.max()}
    look |= {"add_colorbar": False, "add_labels": False, "rasterized": True}
    logs = [way for way, name in (("x", x), ("y", y)) if _is_log(known[name])]
    look |= {f"{way}scale": "log" for way in logs}
    for axes, means in panels:
        axes.grid(False)
        cells = means["value"].where(means["status"] == CONVERGED)
        mesh = cells.plot.pcolormesh(x=x, y=y, ax=axes, **look)
        for way in logs:
            style.log_axis(getattr(axes, f"{way}axis"))
        places = means.stack(cell=[x, y], create_index=False)
        fallen = places.isel(cell=~places["status"].isin([CONVERGED, MISSING]).to_numpy())
        style.hollow(axes, fallen[x], fallen[y], VERMILION, 4)
        if "boundary" in means:
            _boundary(axes, means["boundary"], load_is_x=x == "alpha1")
    figure.colorbar(mesh, ax=[axes for axes, _ in panels], label=str(known.name))


def _boundary(axes: Axes, capacity: xarray.DataArray, load_is_x: bool) -> None:
    """Draw the predicted capacity, which has no load, where the load is an axis."""
    line = [capacity.to_numpy(), capacity[capacity.dims[0]].to_numpy()]
    limits = axes.axis()
    for colour, width in (("white", 2.4), (VERMILION, 1.4)):
        axes.plot(*(line if load_is_x else line[::-1]), color=colour, lw=width)
    axes.axis(limits)


def _curves(figure: Figure, panels: Sequence[Panel], x: str, curves: str) -> None:
    """Draw theory as lines and simulations as points, with one legend."""
    means, colours = panels[0][1], [style.COLOURS["attention"]]
    if curves:
        colours = _colours(curves, means[curves].to_numpy())
    drawn: list[tuple[str, bool]] = []
    for axes, panel in panels:
        axes.set_xscale("log" if _is_log(means[x]) else "linear")
        panel = panel if "quantity" in panel.dims else panel.expand_dims("quantity")
        for (i, source), (j, colour) in itertools.product(
            enumerate(panel["quantity"].to_numpy()), enumerate(colours)
        ):
            one = panel.isel({"quantity": i} | ({curves: j} if curves else {}))
            one = one.isel({x: (one["status"] != MISSING).to_numpy()})
            sound = ((one["status"] == CONVERGED) & np.isfinite(one["value"])).to_numpy()
            engine = np.broadcast_to(source if source == "theory" else one["engine"], sound.shape)
            known = (one[x], one["value"], one["error"])
            style.draw(axes, *known, engine=engine, converged=sound, colour=colour)
            drawn += zip(engine.tolist(), sound.tolist(), strict=True)
        if _is_log(means[x]):
            style.log_axis(axes.xaxis)
    if curves:
        named = zip(means[curves].to_numpy(), colours, strict=True)
        names = {_named(curves, value): {"color": colour} for value, colour in named}
        style.legend(figure, names | style.meanings(drawn), min(4, len(names) + 2))


def _colours(curves: str, values: np.ndarray) -> list[str]:
    """Return the colours of curves for these values."""
    if curves == "model":
        return [style.COLOURS.get(value, GREY) for value in values]
    colours = matplotlib.colormaps["viridis"](np.linspace(0, 0.9, len(values)))
    return [matplotlib.colors.to_hex(colour) for colour in colours]


def _is_log(coordinate: xarray.DataArray) -> bool:
    """Whether the values rise by one ratio, and not by one step."""
    values = coordinate.to_numpy()
    if len(values) < 3 or values[0] <= 0:
        return False
    ratios, steps = np.diff(np.log(values)), np.diff(values)
    even = np.ptp(ratios) < 1e-6 * ratios.mean() or np.ptp(ratios) < np.ptp(steps)
    return bool(even and np.ptp(steps) > 1e-6 * steps.mean())


def _title(fixed: Mapping[str, Any]) -> str:
    """Return the values of the unassigned axes, words first."""
    words = [style.as_written(v) for v in fixed.values() if isinstance(v, str)]
    numbers = [_named(n, v) for n, v in fixed.items() if not isinstance(v, str)]
    return "\n".join(", ".join(part) for part in (words, numbers) if part)


def _words(value: str) -> str:
    return {"separable": "fraction of separable sets"}.get(value, value.replace("_", " "))


def _named(name: str, value: Any) -> str:
    """Return a value with the letter of its parameter."""
    if isinstance(value, str):
        return style.as_written(value)
    declared = parameter_of(name)
    return f"{(declared and declared.symbol) or name} = {value:.4g}"
