"""The data of a report: tables of rows, trials and figures, and positions for a pointer."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import PathCollection, QuadMesh
from matplotlib.colors import to_hex
from matplotlib.container import ErrorbarContainer
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from sparsetoken.experiments.core.rows import Rows


class Mark(NamedTuple):
    """A point of a line, a point or a cell of a figure.

    With the title of its axes, its curve in the legend and the labels of both axes. The error is
    that of an error bar up and down, the value that of a cell of a map; nan if there is none.
    """

    panel: str
    series: str
    mark: str
    x_name: str
    x: float
    y_name: str
    y: float
    error: float
    value: float


def marks_of(figure: Figure) -> list[tuple[Mark, tuple[float, float]]]:
    """Return all points of a drawn figure, with their positions in it.

    A place is counted in points (1/72 inch) from the left and from the top.
    """
    width, height = figure.get_size_inches() * 72
    found = []
    for number, axes in enumerate(figure.axes):
        if axes.get_label() == "<colorbar>":
            continue
        for mark in _of_axes(figure, axes, number):
            x, y = axes.transData.transform((mark.x, mark.y)) * 72 / figure.dpi
            if 0 <= x <= width and 0 <= y <= height:
                found.append((mark, (float(x), float(height - y))))
    return found


def table(marks: Iterable[Mark]) -> str:
    """Return the points as a table of comma-separated values."""
    return _text(Mark._fields, marks)


MOST = 40
"""Points of a line that a pointer finds; a line of more is thinned."""


def places(marks: Sequence[tuple[Mark, tuple[float, float]]]) -> list[dict[str, Any]]:
    """Return the data by which a script names the point under a pointer, as JSON values.

    For each series its panel, names and mark, and its points as [left, top, x, y, error, value],
    without what is not known at the end.
    """
    found: dict[tuple[str, ...], list[list[float | None]]] = {}
    for mark, (left, top) in marks:
        key = mark.panel, mark.series, mark.mark, mark.x_name, mark.y_name
        numbers = [_short(n) for n in (mark.x, mark.y, mark.error, mark.value)]
        while numbers[-1] is None and len(numbers) > 2:
            numbers.pop()
        found.setdefault(key, []).append([round(left, 1), round(top, 1), *numbers])
    names = ("panel", "series", "mark", "x", "y")
    return [
        {**dict(zip(names, key, strict=True)), "points": _thinned(key[2], points)}
        for key, points in found.items()
    ]


def _thinned(mark: str, points: list[list[float | None]]) -> list[list[float | None]]:
    step = math.ceil(len(points) / MOST) if mark == "line" else 1
    return points[::step]


def _short(value: float) -> float | None:
    return float(f"{value:.4g}") if math.isfinite(value) else None


def _of_axes(figure: Figure, axes: Axes, number: int) -> Iterator[Mark]:
    panel = " ".join(axes.get_title(loc="left").split()) or f"panel {number + 1}"
    names = panel, axes.get_xlabel() or "x", axes.get_ylabel() or axes.get_title(loc="left") or "y"
    legend = _legend(figure, axes)
    bars = [c for c in axes.containers if isinstance(c, ErrorbarContainer)]
    parts = {id(line) for bar in bars for line in (bar.lines[0], *bar.lines[1])}
    for bar in bars:
        yield from _of_bar(names, _series(bar.get_label(), bar.lines[0], legend), bar)
    for line in axes.get_lines():
        # What spans the axes has coordinates of another kind; it is a mark for the eye.
        if id(line) in parts or line.get_transform() != axes.transData:
            continue
        series, drawn = _series(line.get_label(), line, legend), line.get_linestyle() != "None"
        for x, y in _points(line):
            yield from _mark(names, series, "line" if drawn else "point", x, y)
    for collection in axes.collections:
        yield from _of_collection(names, collection)


def _points(line: Line2D) -> list[tuple[float, float]]:
    return [(float(x), float(y)) for x, y in np.asarray(line.get_xydata())]


def _mark(
    names: tuple[str, str, str],
    series: str,
    kind: str,
    x: Any,
    y: Any,
    error: float = math.nan,
    value: float = math.nan,
) -> Iterator[Mark]:
    panel, x_name, y_name = names
    if math.isfinite(x) and math.isfinite(y):
        yield Mark(panel, series, kind, x_name, float(x), y_name, float(y), error, value)


def _of_bar(names: tuple[str, str, str], series: str, bar: ErrorbarContainer) -> Iterator[Mark]:
    line, _, sticks = bar.lines
    if line is None:
        return
    segments = sticks[0].get_segments() if sticks else []
    for i, (x, y) in enumerate(_points(line)):
        known = i < len(segments) and len(segments[i]) == 2
        error = float(np.ptp(segments[i][:, 1]) / 2) if known else math.nan
        yield from _mark(names, series, "point", x, y, error)


def _of_collection(names: tuple[str, str, str], collection: Any) -> Iterator[Mark]:
    if collection.get_array() is None:
        return
    values = np.asarray(collection.get_array(), dtype=float)
    if isinstance(collection, QuadMesh):
        edges = np.asarray(collection.get_coordinates(), dtype=float)
        smooth = values.size == edges.size // 2  # values at corners, not in cells
        where = edges if smooth else (edges[:-1, :-1] + edges[1:, 1:]) / 2
        for (x, y), value in zip(where.reshape(-1, 2), np.ravel(values), strict=True):
            yield from _mark(names, "map", "cell", x, y, value=float(value))
    elif isinstance(collection, PathCollection):
        for (x, y), value in zip(
            np.asarray(collection.get_offsets()), np.ravel(values), strict=True
        ):
            yield from _mark(names, "simulation", "point", x, y, value=float(value))


def _legend(figure: Figure, axes: Axes) -> list[tuple[Any, str]]:
    """Return the handles of all legends with their names."""
    own = axes.get_legend()
    legends = [*figure.legends, *([own] if own else [])]
    return [
        (handle, text.get_text())
        for legend in legends
        for handle, text in zip(legend.legend_handles, legend.get_texts(), strict=True)
        if isinstance(handle, Line2D)
    ]


def _series(label: Any, line: Line2D, legend: Sequence[tuple[Any, str]]) -> str:
    """Return the label, or the name in a legend of the colour, and of the dashes if it tells."""
    if not str(label).startswith("_"):
        return str(label)
    colour, dashes = to_hex(line.get_color()), line.get_linestyle()
    alike = [(h, name) for h, name in legend if to_hex(h.get_color()) == colour]
    same = [name for handle, name in alike if handle.get_linestyle() == dashes]
    return (same or [name for _, name in alike] or [""])[0]


FOUND = ("value", "error", "engine", "dimension", "trials", "status")
TRIALS = ("experiment", "row", "series", "quantity", "engine", "dimension", "trial", "value")


def row_tables(rows: Mapping[str, Rows]) -> dict[str, str]:
    """Return a table of the rows of each experiment, by the name of its file.

    It has series, quantity and all coordinates, then what was found.
    """
    tables = {}
    for experiment, found in rows.items():
        at = list(dict.fromkeys(name for row in found for name in row.at))
        cells = (
            [row.series, row.quantity, *map(row.at.get, at), *(getattr(row, n) for n in FOUND)]
            for row in found
        )
        tables[f"{experiment}.csv"] = _text(["series", "quantity", *at, *FOUND], cells)
    return tables


def trial_table(rows: Mapping[str, Rows]) -> str:
    """Return the value of every trial; row is the number of the row in its table, from 0."""
    return _text(
        TRIALS,
        (
            (name, number, row.series, row.quantity, row.engine, row.dimension, trial, value)
            for name, found in rows.items()
            for number, row in enumerate(found)
            for trial, value in enumerate(row.values)
        ),
    )


def _text(names: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(names)
    writer.writerows([_cell(value) for value in row] for row in rows)
    return text.getvalue()


def _cell(value: Any) -> Any:
    return "" if value is None or (isinstance(value, float) and math.isnan(value)) else value
