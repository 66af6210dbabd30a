"""Figure: a sweep as curves or heat maps."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import Normalize
from matplotlib.figure import Figure

from sparsetoken.figures import style
from sparsetoken.figures.palette import GREY, VERMILION
from sparsetoken.sweep import Drawing, Grid, Summary
from sparsetoken.sweep.panels import Panel, axis_of, completed, free_axes, panels_of
from sparsetoken.sweep.parameters import parameters
from sparsetoken.validation import InvalidInput

COLUMNS = 5
MOST_TICKS = 6
CONVERGED, MISSING = "converged", "missing"


class Drawn(NamedTuple):
    """How many points a figure shows, and how many of them fell short."""

    points: int
    not_converged: int
    missing: int


def draw(
    grid: Grid, rows: Sequence[Summary], drawing: Drawing | None = None
) -> tuple[Figure, Drawn]:
    """Draw a sweep: theory and simulation, one panel for each value of the other axes.

    Parameters
    ----------
    grid : Grid
    rows : sequence of Summary
        Of the sweep, as `summaries` gives them.
    drawing : Drawing, optional
        By default that of the grid. Without x, the numeric axis with most steps; without y,
        curves, and without ``curves`` one for each model.

    Returns
    -------
    figure : matplotlib.figure.Figure
    drawn : Drawn

    Raises
    ------
    InvalidInput
        If no axis is numeric, or more than 40 panels would be needed.
    """
    chosen = completed(grid, grid.plot if drawing is None else drawing)
    panels = panels_of(grid, rows, chosen)
    boundaries = [p for p in panels if not _has(p.rows, chosen.value)]
    shown = [p for p in panels if p not in boundaries] or panels
    if not any(_has(p.rows, chosen.value) for p in shown):
        raise InvalidInput("value", "found by a row of the sweep", chosen.value)
    figure, places = _frame(len(shown), grid, chosen)
    scale = _scale(shown, chosen.value)
    for axes, panel in zip(places, shown, strict=False):
        if chosen.y:
            _heat_map(axes, panel, chosen, scale)
        else:
            _curves(axes, panel, chosen, grid)
        _boundary(axes, [b for b in boundaries if b.fixed == panel.fixed], chosen)
        style.axis_text(
            axes,
            x=parameters()[chosen.x].axis_label,
            y=parameters()[chosen.y].axis_label if chosen.y else _words(chosen.value),
            title=_title(panel),
        )
    _finish(figure, places, shown, chosen, scale, grid)
    return figure, _drawn(shown)


def _has(rows: Sequence[Summary], value: str) -> bool:
    return any(value in row.values for row in rows)


def _frame(count: int, grid: Grid, chosen: Drawing) -> tuple[Figure, list[Axes]]:
    free = free_axes(grid, chosen)
    last = len(free[-1]) if free else 1
    columns = last if 1 < last <= COLUMNS else min(COLUMNS - 1, count)
    lines = math.ceil(count / columns)
    width, height = (2.5, 2.4) if chosen.y else (3.2, 2.9)
    size = (max(5.0, width * columns + 1), height * lines + 0.6)
    figure = Figure(figsize=size, layout="constrained")
    axes = figure.subplots(lines, columns, squeeze=False, sharex=True, sharey=True)
    places = [place for line in axes for place in line]
    for place in places[count:]:
        place.set_visible(False)
    return figure, places[:count]


def _scale(panels: Sequence[Panel], value: str) -> Normalize:
    found = [row.values.get(value, math.nan) for panel in panels for row in panel.rows]
    finite = [v for v in found if math.isfinite(v)]
    return Normalize(min(finite, default=0.0), max(finite, default=1.0))


def _heat_map(axes: Axes, panel: Panel, chosen: Drawing, scale: Normalize) -> None:
    xs = sorted({row.point[chosen.x] for row in panel.rows})
    ys = sorted({row.point[chosen.y] for row in panel.rows})
    cells = np.full((len(ys), len(xs)), np.nan)
    for row in panel.rows:
        if row.status == CONVERGED:
            place = ys.index(row.point[chosen.y]), xs.index(row.point[chosen.x])
            cells[place] = row.values.get(chosen.value, math.nan)
    axes.grid(False)
    _set_scale(axes.xaxis, xs)
    _set_scale(axes.yaxis, ys)
    axes.pcolormesh(_edges(xs), _edges(ys), cells, norm=scale, cmap="viridis", rasterized=True)
    fallen = [row for row in panel.rows if row.status not in (CONVERGED, MISSING)]
    axes.plot(
        [row.point[chosen.x] for row in fallen],
        [row.point[chosen.y] for row in fallen],
        "D",
        mfc="none",
        mec=style.COLOURS["readout_cosine"],
        ms=4,
        ls="none",
    )


def _set_scale(axis: Any, values: Sequence[float]) -> None:
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


def _even_ratios(values: Sequence[float]) -> bool:
    """Whether the values rise by one ratio, and not by one step."""
    if len(values) < 3 or values[0] <= 0:
        return False
    ratios = np.diff(np.log(values))
    steps = np.diff(values)
    return bool(np.ptp(ratios) < 1e-6 * ratios.mean() or np.ptp(ratios) < np.ptp(steps)) and bool(
        np.ptp(steps) > 1e-6 * steps.mean()
    )


def _edges(values: Sequence[float]) -> np.ndarray:
    """Return cell edges half way between values, on the scale that the values are even on."""
    logarithmic = _even_ratios(values)
    middle = np.log(values) if logarithmic else np.asarray(values, dtype=float)
    if len(middle) == 1:
        return np.array([middle[0] - 0.5, middle[0] + 0.5])
    inner = (middle[1:] + middle[:-1]) / 2
    edges = np.array([2 * middle[0] - inner[0], *inner, 2 * middle[-1] - inner[-1]])
    return np.exp(edges) if logarithmic else edges


def _curves(axes: Axes, panel: Panel, chosen: Drawing, grid: Grid) -> None:
    _set_scale(axes.xaxis, sorted({row.point[chosen.x] for row in panel.rows}))
    for name, colour in _colours(grid, chosen.curves):
        rows = [r for r in panel.rows if not chosen.curves or r.point[chosen.curves] == name]
        points = [_shown(row, chosen, grid) for row in rows if chosen.value in row.values]
        points.sort(key=lambda point: point[0])
        style.predicted(axes, [p for p in points if p[1].engine == "theory"], colour)
        style.measured(axes, [p for p in points if p[1].engine != "theory"], colour)


def _shown(row: Summary, chosen: Drawing, grid: Grid) -> tuple[float, style.Shown]:
    error = row.errors.get(chosen.value, math.nan)
    value = style.Shown(
        row.values.get(chosen.value, math.nan),
        error if math.isfinite(error) else 0.0,
        "theory" if row.quantity == "theory" else grid.values(row.point)["engine"],
        row.status,
    )
    return float(row.point[chosen.x]), value


def _colours(grid: Grid, curves: str) -> list[tuple[Any, str]]:
    if not curves:
        return [("", style.COLOURS["attention"])]
    axis = axis_of(grid, curves)
    place = axis.names.index(curves)
    values = [step[place] for step in axis.steps]
    if curves == "model":
        return [(value, style.COLOURS.get(value, GREY)) for value in values]
    colours = matplotlib.colormaps["viridis"](np.linspace(0, 0.9, len(values)))
    return [(value, matplotlib.colors.to_hex(c)) for value, c in zip(values, colours, strict=True)]


def _boundary(axes: Axes, panels: Sequence[Panel], chosen: Drawing) -> None:
    """Draw the predicted capacity where the load n1/d is on an axis of a heat map."""
    for panel in panels:
        rows = [row for row in panel.rows if row.status == CONVERGED and "capacity" in row.values]
        if chosen.y == "alpha1":
            line = sorted({(row.point[chosen.x], row.values["capacity"]) for row in rows})
        elif chosen.y and chosen.x == "alpha1":
            line = sorted({(row.values["capacity"], row.point[chosen.y]) for row in rows})
        else:
            continue
        limits = axes.axis()
        axes.plot([x for x, _ in line], [y for _, y in line], color="white", lw=2.4)
        axes.plot([x for x, _ in line], [y for _, y in line], color=VERMILION, lw=1.4)
        axes.axis(limits)


def _title(panel: Panel) -> str:
    words = [
        style.as_written(value)
        for name, value in panel.fixed.items()
        if parameters()[name].number is None
    ]
    if len(panel.quantities) == 1:
        words = [panel.quantities[0], *words]
    numbers = [
        _named(name, value)
        for name, value in panel.fixed.items()
        if parameters()[name].number is not None
    ]
    return "\n".join(", ".join(part) for part in (words, numbers) if part)


def _words(value: str) -> str:
    return {"separable": "share of separable sets"}.get(value, value.replace("_", " "))


def _finish(
    figure: Figure,
    places: Sequence[Axes],
    panels: Sequence[Panel],
    chosen: Drawing,
    scale: Normalize,
    grid: Grid,
) -> None:
    for axes in places:
        axes.title.set_fontsize(8.5)
        axes.label_outer()
    if chosen.y:
        mappable = matplotlib.cm.ScalarMappable(scale, "viridis")
        figure.colorbar(mappable, ax=list(places), label=_words(chosen.value))
    elif chosen.curves:
        names = [
            (_named(chosen.curves, name), colour) for name, colour in _colours(grid, chosen.curves)
        ]
        points = [
            _shown(row, chosen, grid)
            for panel in panels
            for row in panel.rows
            if chosen.value in row.values
        ]
        style.legend(figure, names, points, min(4, len(names) + 2))


def _named(parameter: str, value: Any) -> str:
    declared = parameters()[parameter]
    if declared.number is None:
        return style.as_written(value)
    return f"{declared.symbol or parameter} = {value:g}"


def _drawn(panels: Sequence[Panel]) -> Drawn:
    statuses = [row.status for panel in panels for row in panel.rows]
    missing = statuses.count(MISSING)
    fallen = len(statuses) - missing - statuses.count(CONVERGED)
    return Drawn(len(statuses), fallen, missing)
