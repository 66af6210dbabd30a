"""How long a sweep will take, from three of its points."""

from __future__ import annotations

import itertools
import time
from collections.abc import Collection
from typing import Any, NamedTuple

from sparsetoken.sweep.definitions import Definitions
from sparsetoken.sweep.grid import Grid
from sparsetoken.sweep.keys import key_of
from sparsetoken.sweep.parameters import series_of
from sparsetoken.sweep.store import Store

__all__ = ["LONG", "Estimate", "estimate"]

LONG = 2.0
MOST_OF_SERIES = 20


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
    rows, done, seconds = {}, 0, 0.0
    places = sorted({0, grid.size // 2, grid.size - 1})
    for quantity in grid.quantities:
        keys = _unique_keys(grid, quantity)
        finished = 0 if store is None else len(keys) - store.statuses(keys).count(None)
        times = [_seconds(_rows_at(grid, quantity, i), grid, memory_budget) for i in places]
        rows[quantity] = len(keys)
        done += finished
        seconds += (len(keys) - finished) * sum(times) / len(times)
    return Estimate(rows, done, seconds)


def _unique_keys(grid: Grid, quantity: str) -> Collection[bytes]:
    """Return the keys of all rows; points that agree in what matters share one."""
    return {key_of(row) for point in grid.points() for row in grid.rows_of(point, quantity)}


def _rows_at(grid: Grid, quantity: str, place: int) -> list[dict[str, Any]]:
    """Return the row of a point, and others of its series spread evenly over it."""
    point = next(itertools.islice(grid.points(), place, None))
    (row,) = grid.rows_of(point, quantity, 1)
    if not series_of(row):
        return [row]
    series = list(grid.series_points(point))
    chosen = series[:: -(-len(series) // MOST_OF_SERIES)]
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
