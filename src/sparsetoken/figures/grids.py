"""Figure: a Dataset of a sweep as curves or heat maps, a panel for each step of the other axes."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import matplotlib
import numpy as np
import xarray
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from xarray.plot import FacetGrid

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
    means = _facets(means, facets)
    figure, panels = _maps(means, value, x, y) if y else _curves(means, x, curves)
    for number, (axes, last) in enumerate(panels):
        first = axes.get_subplotspec().is_first_col()  # type: ignore[union-attr]
        axes.tick_params(labelleft=first, labelbottom=last)
        axes.set_xlabel(axis_label(x) if last else "")
        axes.set_ylabel((axis_label(y) if y else _words(value)) if first else "")
        axes.set_title(_title(means.isel(panel=number)), loc="left")
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
    count = values.count("trial")
    mean = values.sum("trial") / count.where(count > 0)
    square = ((values - mean) ** 2).sum("trial") / (count - 1).where(count > 1)
    fallen = ~status.isin([CONVERGED, MISSING])
    first = (2 * fallen + (status == CONVERGED)).argmax("trial")
    variables = {"value": mean, "error": ((square / count) ** 0.5).fillna(0.0)}
    missing = (status == MISSING).any("trial")
    variables |= {"status": status.isel(trial=first), "missing": missing}
    return xarray.Dataset(variables).drop_vars("trial", errors="ignore")


def _facets(means: xarray.Dataset, dims: list[str]) -> xarray.Dataset:
    """Return the means with one dimension panel in place of some, with their coordinates."""
    sizes = {dim: means.sizes[dim] for dim in dims}
    count = math.prod(sizes.values())
    if count > MOST_PANELS:
        got = f"{count} ({', '.join(f'{dim}: {size}' for dim, size in sizes.items())})"
        remedy = "Put another axis on x, y or curves, or sweep fewer values."
        raise InvalidInput("panels", f"at most {MOST_PANELS}", got, remedy)
    last = sizes[dims[-1]] if dims else 1
    columns = last if 1 < last <= COLUMNS else min(COLUMNS - 1, count)
    means = means.stack(panel=dims, create_index=False) if dims else means.expand_dims("panel")
    own = [str(name) for name, coord in means.coords.items() if coord.dims == ("panel",)]
    return means.assign_attrs(columns=columns, facets=sorted(own, key=lambda n: n != "quantity"))


def _grid(
    values: xarray.DataArray, columns: int, width: float, height: float
) -> tuple[FacetGrid, list[tuple[Axes, bool]]]:
    """Return empty panels, and whether each is the last of its column."""
    count = values.sizes["panel"]
    size = max(5.0, width * columns + 1), height * math.ceil(count / columns) + 0.6
    grid = FacetGrid(values, col="panel", col_wrap=columns, figsize=size)
    from matplotlib import pyplot

    pyplot.close(grid.fig)  # it is drawn without a window
    grid.fig.set_layout_engine("constrained")
    for axes in grid.axs.flat[count:]:
        axes.set_visible(False)
    return grid, [(axes, i + columns >= count) for i, axes in enumerate(grid.axs.flat[:count])]


def _maps(
    means: xarray.Dataset, value: str, x: str, y: str
) -> tuple[Figure, list[tuple[Axes, bool]]]:
    """Draw heat maps with the cells that did not converge, and the capacity, marked."""
    cells = means["value"].where(means["status"] == CONVERGED)
    grid, panels = _grid(cells, means.attrs["columns"], 2.5, 2.4)
    logs: dict[str, Any] = {
        f"{way}scale": "log" for way, name in zip("xy", (x, y), strict=True) if _is_log(means[name])
    }
    look: dict[str, Any] = {
        "cmap": "viridis",
        "rasterized": True,
        "add_colorbar": False,
        "add_labels": False,
    }
    look |= {"vmin": float(cells.min()), "vmax": float(cells.max())}
    fallen = ~means["status"].isin([CONVERGED, MISSING])
    for number, (axes, _) in enumerate(panels):
        axes.grid(False)
        mesh = cells.isel(panel=number).plot.pcolormesh(x=x, y=y, ax=axes, **look, **logs)
        for way in logs:
            style.log_axis(getattr(axes, f"{way[0]}axis"))
        marked = fallen.isel(panel=number).stack(cell=[x, y], create_index=False)
        marked = marked[marked.to_numpy()]
        style.hollow(axes, marked[x].to_numpy(), marked[y].to_numpy(), VERMILION, 4)
        if "boundary" in means:
            _boundary(axes, means["boundary"].isel(panel=number), load_is_x=x == "alpha1")
    grid.fig.colorbar(mesh, ax=[axes for axes, _ in panels], label=_words(value))
    return grid.fig, panels


def _boundary(axes: Axes, capacity: xarray.DataArray, load_is_x: bool) -> None:
    """Draw the predicted capacity, which has no load, where the load is an axis."""
    line = [capacity.to_numpy(), capacity[capacity.dims[0]].to_numpy()]
    limits = axes.axis()
    for colour, width in (("white", 2.4), (VERMILION, 1.4)):
        axes.plot(*(line if load_is_x else line[::-1]), color=colour, lw=width)
    axes.axis(limits)


def _curves(means: xarray.Dataset, x: str, curves: str) -> tuple[Figure, list[tuple[Axes, bool]]]:
    """Draw theory as lines and simulations as points, with one legend."""
    grid, panels = _grid(means["value"], means.attrs["columns"], 3.2, 2.9)
    colours = _colours(curves, means[curves].to_numpy() if curves else np.array([""]))
    drawn: list[Any] = []
    for number, (axes, _) in enumerate(panels):
        if _is_log(means[x]):
            axes.set_xscale("log")
        here = means.isel(panel=number)
        for source in np.atleast_1d(here["quantity"]).tolist():
            own = here.sel(quantity=source) if here["quantity"].ndim else here
            for line, (_, colour) in enumerate(colours):
                one = own.isel({curves: line}) if curves else own
                at, *arrays = (one[n].to_numpy() for n in (x, "value", "error", "status"))
                engines = np.broadcast_to(one["engine"].to_numpy(), at.shape).tolist()
                series = [
                    (place, shown._replace(engine="theory" if source == "theory" else engine))
                    for engine, *row in zip(engines, at, *arrays, strict=True)
                    for place, shown in style.series_of("", *map(np.atleast_1d, row))
                ]
                put = style.predicted if source == "theory" else style.measured
                put(axes, series, colour)
                drawn += series
        if _is_log(means[x]):
            style.log_axis(axes.xaxis)
    if curves:
        names = {_named(curves, name): {"color": colour} for name, colour in colours}
        entries = names | style.meanings(v for _, v in drawn)
        style.legend(grid.fig, entries, min(4, len(names) + 2))
    return grid.fig, panels


def _colours(curves: str, values: np.ndarray) -> list[tuple[Any, str]]:
    """Return the values of the curves with their colours."""
    if not curves:
        return [("", style.COLOURS["attention"])]
    if curves == "model":
        return [(value, style.COLOURS.get(value, GREY)) for value in values]
    colours = matplotlib.colormaps["viridis"](np.linspace(0, 0.9, len(values)))
    return list(zip(values, map(matplotlib.colors.to_hex, colours), strict=True))


def _is_log(coordinate: xarray.DataArray) -> bool:
    """Whether the values rise by one ratio, and not by one step."""
    values = coordinate.to_numpy()
    if len(values) < 3 or values[0] <= 0:
        return False
    ratios, steps = np.diff(np.log(values)), np.diff(values)
    even = np.ptp(ratios) < 1e-6 * ratios.mean() or np.ptp(ratios) < np.ptp(steps)
    return bool(even and np.ptp(steps) > 1e-6 * steps.mean())


def _title(panel: xarray.Dataset) -> str:
    """Return the values of the unassigned axes, words first."""
    fixed = {name: panel[name].item() for name in panel.attrs["facets"]}
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
