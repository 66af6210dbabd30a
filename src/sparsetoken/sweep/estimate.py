"""How long a sweep will take, from three of its points."""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Collection, Iterator
from typing import Any, NamedTuple

from sparsetoken.sweep.axes import Axis
from sparsetoken.sweep.definitions import Definitions
from sparsetoken.sweep.grid import Grid
from sparsetoken.sweep.keys import key_of
from sparsetoken.sweep.parameters import QUERY, relevant, series_of
from sparsetoken.sweep.reading import require_store
from sparsetoken.sweep.store import Store

LONG = 2.0
MOST_OF_SERIES = 20
CHUNK = 10_000  # keys that are looked up at once


class Estimate(NamedTuple):
    """The rows of each quantity, how many of all are done, and the seconds on one worker."""

    rows: dict[str, int]
    done: int
    seconds: float


def estimate(grid: Grid, store: Store | None = None, memory_budget: int | None = None) -> Estimate:
    """Count the rows, and time the first, the middle and the last point.

    A row is timed a second time, without compilation, unless the first took two seconds. Rows
    of one series are timed together, as they run.

    Parameters
    ----------
    grid : Grid
    store : Store, optional
        Rows whose results it has are done.
    memory_budget : int, optional
        As for the run.
    """
    if store is not None:
        require_store(store)
    rows, done, seconds = {}, 0, 0.0
    places = sorted({0, grid.size // 2, grid.size - 1})
    for quantity in grid.quantities:
        rows[quantity] = count_rows(grid, quantity)
        finished = 0 if store is None else _count_finished(grid, quantity, store)
        times = [_seconds(_rows_at(grid, quantity, i), grid, memory_budget) for i in places]
        done += finished
        seconds += (rows[quantity] - finished) * sum(times) / len(times)
    return Estimate(rows, done, seconds)


def count_rows(grid: Grid, quantity: str) -> int:
    """Return the number of different rows; points that agree in what matters share one.

    The points of the axes that decide what matters are looked at one by one. For each
    selection of parameters that matter, the other axes have a product of rows.
    """
    deciding = {"model", "engine"}
    if any(None in step for axis in grid.axes for step in axis.steps):
        deciding |= set(QUERY)  # whether a query is given differs from point to point
    first = [axis for axis in grid.axes if deciding & set(axis.names)]
    others = [axis for axis in grid.axes if axis not in first]
    some = {name: value for axis in others for name, value in _pairs(axis, axis.steps[0])}
    found: dict[tuple[str, ...], set[tuple[Any, ...]]] = {}
    for steps in itertools.product(*(axis.steps for axis in first)):
        chosen = dict(
            pair for axis, step in zip(first, steps, strict=True) for pair in _pairs(axis, step)
        )
        names = relevant(grid.experiment, quantity, grid.values({**some, **chosen}))
        found.setdefault(names, set()).add(tuple(chosen.get(name) for name in names))
    trials = 1 if quantity == "theory" else grid.trials
    return trials * sum(
        len(rows) * math.prod(_count_steps(axis, names) for axis in others)
        for names, rows in found.items()
    )


def _pairs(axis: Axis, step: tuple[Any, ...]) -> Iterator[tuple[str, Any]]:
    return zip(axis.names, step, strict=True)


def _count_steps(axis: Axis, names: Collection[str]) -> int:
    """Return how many steps differ in these parameters."""
    places = [i for i, name in enumerate(axis.names) if name in names]
    if len(places) == len(axis.names):  # the steps of an axis differ
        return len(axis)
    return len({tuple(step[i] for i in places) for step in axis.steps})


def _count_finished(grid: Grid, quantity: str, store: Store) -> int:
    """Return how many rows have a result."""
    keys = (key_of(row) for point in grid.points() for row in grid.rows_of(point, quantity))
    finished: set[bytes] = set()
    while some := list(itertools.islice(keys, CHUNK)):
        statuses = store.statuses(some)
        finished |= {key for key, status in zip(some, statuses, strict=True) if status is not None}
    return len(finished)


def _rows_at(grid: Grid, quantity: str, place: int) -> list[dict[str, Any]]:
    """Return the row of a point, and others of its series spread evenly over it."""
    point = grid.point(place)
    (row,) = grid.rows_of(point, quantity, 1)
    if not series_of(row):
        return [row]
    chosen = grid.series_points(point, MOST_OF_SERIES)
    return [row for other in chosen for row in grid.rows_of(other, quantity, 1)]


def _seconds(rows: list[dict[str, Any]], grid: Grid, memory_budget: int | None) -> float:
    """Return the seconds of one row."""
    first = _timed(rows, grid, memory_budget)
    return (first if first > LONG else _timed(rows, grid, memory_budget)) / len(rows)


def _timed(rows: list[dict[str, Any]], grid: Grid, memory_budget: int | None) -> float:
    from sparsetoken.sweep.compute import compute

    start = time.perf_counter()
    compute(rows, Definitions(grid.losses), memory_budget)
    return time.perf_counter() - start
