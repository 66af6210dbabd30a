"""Figure: a Dataset of a sweep as curves or heat maps, a panel for each step of the other axes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import Normalize
from matplotlib.figure import Figure

from sparsetoken.base.validation import InvalidInput
from sparsetoken.figures import style
from sparsetoken.figures.palette import GREY, VERMILION
from sparsetoken.figures.records import axis_label, parameter_of

QUANTITIES = ("theory", "simulation")
COLUMNS, MOST_PANELS, MOST_TICKS = 5, 40, 6
CONVERGED, MISSING = "converged", "missing"


class Drawn(NamedTuple):
    """The number of points in a figure, and of those not converged or without results."""

    points: int
    not_converged: int
    missing: int


class Means(NamedTuple):
    """Predictions, or means over trials with standard errors: arrays over x, curves, panels.

    In place of curves stands the y of a heat map. A status is that of the first trial that is
    not converged, and missing if all trials are.
    """

    values: np.ndarray
    errors: np.ndarray
    statuses: np.ndarray

    def panel(self, number: int) -> Means:
        """Return the arrays of one panel, over x and curves."""
        return Means(*(array[..., number] for array in self))


def draw(
    dataset: Any, value: str, *, x: str = "", y: str = "", curves: str = ""
) -> tuple[Figure, Drawn]:
    """Plot a sweep: theory and simulation, one panel for each step of the unassigned axes.

    The dataset is that of `sparsetoken.sweep.to_xarray`. The numeric coordinates x and y are on
    different dimensions: x is by default that of the longest one, and with y the figure is a heat
    map. There is a curve for each value of the coordinate of the curves, by default the model.
    """
    x = x or _longest(dataset, [name for name in (y, curves) if name])
    if (
        not (y or curves)
        and "model" in dataset
        and dataset["model"].dims not in ((), dataset[x].dims)
    ):
        curves = "model"
    return _Picture(dataset, value, x, y or curves, bool(y)).drawn()


def _longest(dataset: Any, taken: Sequence[str]) -> str:
    """Return the numeric coordinate with most values."""
    used = {dim for name in taken for dim in dataset[name].dims}
    numeric = [
        name
        for name, coord in dataset.coords.items()
        if coord.ndim and coord.dtype.kind in "if" and name != "trial" and not used & {*coord.dims}
    ]
    if not numeric:
        raise InvalidInput("x", "a numeric axis, and the sweep has none", "")
    return max(numeric, key=lambda name: dataset[name].size)


class _Picture:
    """The panels of a figure, and how they are drawn."""

    def __init__(self, dataset: Any, value: str, x: str, other: str, is_map: bool) -> None:
        self.dataset, self.value, self.x, self.other, self.is_map = dataset, value, x, other, is_map
        shown = [q for q in QUANTITIES if f"{q}_{value}" in dataset]
        if not shown:
            raise InvalidInput("value", "one that the sweep has results of", value)
        self.xs = dataset[x].to_numpy()
        self.others = dataset[other].to_numpy() if other else np.array([""])
        placed = [dim for name in (x, other) if name for dim in dataset[name].dims]
        dims = dataset[f"{shown[0]}_{value}"].dims
        self.free = [dim for dim in dims if dim not in (*placed, "trial")]
        self.order = [*placed, *self.free]
        self.steps = list(np.ndindex(*(dataset.sizes[dim] for dim in self.free)))
        self.groups = [(q,) for q in shown] if is_map else [tuple(shown)]
        self.count = len(self.steps) * len(self.groups)
        if self.count > MOST_PANELS:
            sizes = ", ".join(f"{dim}: {dataset.sizes[dim]}" for dim in self.free)
            remedy = "Put another axis on x, y or curves, or sweep fewer values."
            raise InvalidInput(
                "panels", f"at most {MOST_PANELS}", f"{self.count} ({sizes})", remedy
            )
        self.means = {q: self._means(q, value) for q in shown}

    def _means(self, quantity: str, value: str) -> Means:
        trials = ["trial"] if quantity == "simulation" else []
        shape = (len(self.xs), len(self.others), len(self.steps), -1)

        def array(name: str) -> np.ndarray:
            found = self.dataset[f"{quantity}_{name}"].transpose(*self.order, *trials)
            return found.to_numpy().reshape(shape)

        values, statuses = array(value), array("status")
        count = np.sum(~np.isnan(values), axis=-1)
        with np.errstate(invalid="ignore", divide="ignore"):
            mean = np.nansum(values, axis=-1) / count
            squares = np.nansum((values - mean[..., None]) ** 2, axis=-1)
            errors = np.nan_to_num(np.sqrt(squares / (count - 1) / count), posinf=0.0)
        fallen = ~np.isin(statuses, (CONVERGED, MISSING))
        first = np.argmax(2 * fallen + (statuses == CONVERGED), axis=-1)[..., None]
        return Means(mean, errors, np.take_along_axis(statuses, first, axis=-1)[..., 0])

    def drawn(self) -> tuple[Figure, Drawn]:
        """Draw all panels and their legend."""
        figure, places = self._frame()
        numbers = np.concatenate([found.values.ravel() for found in self.means.values()])
        finite = numbers[np.isfinite(numbers)]
        scale = Normalize(finite.min(initial=np.inf), finite.max(initial=-np.inf))
        panels = [(group, panel) for group in self.groups for panel in range(len(self.steps))]
        for axes, (group, panel) in zip(places, panels, strict=True):
            if self.is_map:
                self._heat_map(axes, self.means[group[0]].panel(panel), scale)
                self._boundary(axes, panel)
            else:
                self._curves(axes, group, panel)
            y = axis_label(self.other) if self.is_map else _words(self.value)
            title = self._title(group, panel)
            style.axis_text(axes, x=axis_label(self.x), y=y, title=title)
            axes.title.set_fontsize(8.5)
        if self.is_map:
            mappable = matplotlib.cm.ScalarMappable(scale, "viridis")
            figure.colorbar(mappable, ax=list(places), label=_words(self.value))
        elif self.other:
            self._legend(figure)
        statuses = np.concatenate([found.statuses.ravel() for found in self.means.values()])
        fallen = int((~np.isin(statuses, (CONVERGED, MISSING))).sum())
        lacking = [self.dataset[f"{quantity}_status"] == MISSING for quantity in self.means]
        missing = sum(int(gap.any({*gap.dims} & {"trial"}).sum()) for gap in lacking)
        return figure, Drawn(len(statuses), fallen, missing)

    def _frame(self) -> tuple[Figure, list[Axes]]:
        last = self.dataset.sizes[self.free[-1]] if self.free else 1
        columns = last if 1 < last <= COLUMNS else min(COLUMNS - 1, self.count)
        lines = math.ceil(self.count / columns)
        width, height = (2.5, 2.4) if self.is_map else (3.2, 2.9)
        size = (max(5.0, width * columns + 1), height * lines + 0.6)
        figure = Figure(figsize=size, layout="constrained")
        axes = figure.subplots(lines, columns, squeeze=False, sharex=True, sharey=True)
        for place in axes.flat[self.count :]:
            place.set_visible(False)
        for number, place in enumerate(axes.flat):  # the last row may be shorter
            ends = number % columns == 0, number + columns >= self.count
            place.tick_params(labelleft=ends[0], labelbottom=ends[1])
            place.yaxis.label.set_visible(ends[0])
            place.xaxis.label.set_visible(ends[1])
        return figure, list(axes.flat[: self.count])

    def _heat_map(self, axes: Axes, means: Means, scale: Normalize) -> None:
        right, up = np.argsort(self.xs), np.argsort(self.others)
        xs, ys = self.xs[right], self.others[up]
        cells = np.where(means.statuses == CONVERGED, means.values, np.nan)[np.ix_(right, up)]
        axes.grid(False)
        _set_scale(axes.xaxis, xs)
        _set_scale(axes.yaxis, ys)
        edges = _edges(xs), _edges(ys)
        axes.pcolormesh(*edges, cells.T, norm=scale, cmap="viridis", rasterized=True)
        fallen = ~np.isin(means.statuses, (CONVERGED, MISSING))
        x, y = (np.broadcast_to(a, fallen.shape) for a in (self.xs[:, None], self.others))
        colour = style.COLOURS["readout_cosine"]
        axes.plot(x[fallen], y[fallen], "D", mfc="none", mec=colour, ms=4, ls="none")

    def _boundary(self, axes: Axes, panel: int) -> None:
        """Draw the predicted capacity, which has no load, where the load is an axis."""
        names = [self.x, self.other]
        if "alpha1" not in names or "theory_capacity" not in self.dataset:
            return
        load = names.index("alpha1")
        means = self._means("theory", "capacity").panel(panel)
        along = np.where(means.statuses == CONVERGED, means.values, np.nan).take(0, axis=load)
        others = self.xs if load == 1 else self.others
        order = np.argsort(others)
        line = [others[order], along[order]]
        limits = axes.axis()
        for colour, width in (("white", 2.4), (VERMILION, 1.4)):
            axes.plot(*(line if load == 1 else line[::-1]), color=colour, lw=width)
        axes.axis(limits)

    def _curves(self, axes: Axes, group: Sequence[str], panel: int) -> None:
        _set_scale(axes.xaxis, np.sort(self.xs))
        for line, (_, colour) in enumerate(self._colours()):
            for quantity in group:
                put = style.predicted if quantity == "theory" else style.measured
                put(axes, self._series(quantity, panel, line), colour)

    def _series(self, quantity: str, panel: int, line: int) -> list[tuple[float, style.Shown]]:
        """Return the points of a curve by x."""
        engine = "theory" if quantity == "theory" else str(self.dataset["engine"].values)
        arrays = (array[:, line] for array in self.means[quantity].panel(panel))
        points = [
            (float(x), style.Shown(float(value), float(error), engine, str(status)))
            for x, value, error, status in zip(self.xs, *arrays, strict=True)
            if status != MISSING
        ]
        return sorted(points, key=lambda point: point[0])

    def _colours(self) -> list[tuple[Any, str]]:
        if not self.other:
            return [("", style.COLOURS["attention"])]
        if self.other == "model":
            return [(value, style.COLOURS.get(value, GREY)) for value in self.others]
        colours = matplotlib.colormaps["viridis"](np.linspace(0, 0.9, len(self.others)))
        found = map(matplotlib.colors.to_hex, colours)
        return list(zip(self.others, found, strict=True))

    def _legend(self, figure: Figure) -> None:
        names = {_named(self.other, name): {"color": colour} for name, colour in self._colours()}
        shown = [
            point
            for quantity in self.means
            for panel in range(len(self.steps))
            for line in range(len(self.others))
            for _, point in self._series(quantity, panel, line)
        ]
        style.legend(figure, names | style.meanings(shown), min(4, len(names) + 2))

    def _title(self, group: Sequence[str], panel: int) -> str:
        """Return the values of the unassigned axes, words first."""
        here = self.dataset.isel(dict(zip(self.free, self.steps[panel], strict=True)))
        fixed = {
            name: here[name].item()
            for dim in self.free
            for name, coord in self.dataset.coords.items()
            if dim in coord.dims
        }
        words = [style.as_written(v) for v in fixed.values() if isinstance(v, str)]
        numbers = [_named(n, v) for n, v in fixed.items() if not isinstance(v, str)]
        first = [*(group if len(group) == 1 else ()), *words]
        return "\n".join(", ".join(part) for part in (first, numbers) if part)


def _set_scale(axis: Any, values: np.ndarray) -> None:
    """Make the axis logarithmic, with plain numbers, where the values rise by one ratio."""
    if not _even_ratios(values):
        return
    axis.axes.set(**{f"{axis.axis_name}scale": "log"})
    steps = [m * 10.0**e for e in range(-9, 10) for m in (1, 2, 5)]
    ticks = [t for t in steps if values[0] * 0.999 <= t <= values[-1] * 1.001]
    if len(ticks) > MOST_TICKS:
        ticks = [t for t in ticks if f"{t:e}"[0] == "1"]
    axis.set_ticks(ticks, [f"{t:g}" for t in ticks])
    axis.set_ticks([], minor=True)


def _even_ratios(values: np.ndarray) -> bool:
    """Whether the values rise by one ratio, and not by one step."""
    if len(values) < 3 or values[0] <= 0:
        return False
    ratios, steps = np.diff(np.log(values)), np.diff(values)
    even = np.ptp(ratios) < 1e-6 * ratios.mean() or np.ptp(ratios) < np.ptp(steps)
    return bool(even and np.ptp(steps) > 1e-6 * steps.mean())


def _edges(values: np.ndarray) -> np.ndarray:
    """Return cell edges half way between values, on the scale that the values are even on."""
    logarithmic = _even_ratios(values)
    middle = np.log(values) if logarithmic else values.astype(float)
    if len(middle) == 1:
        return np.array([middle[0] - 0.5, middle[0] + 0.5])
    inner = (middle[1:] + middle[:-1]) / 2
    edges = np.array([2 * middle[0] - inner[0], *inner, 2 * middle[-1] - inner[-1]])
    return np.exp(edges) if logarithmic else edges


def _words(value: str) -> str:
    return {"separable": "fraction of separable sets"}.get(value, value.replace("_", " "))


def _named(name: str, value: Any) -> str:
    """Return a value with the letter of its parameter."""
    if isinstance(value, str):
        return style.as_written(value)
    declared = parameter_of(name)
    return f"{(declared and declared.symbol) or name} = {value:.4g}"
