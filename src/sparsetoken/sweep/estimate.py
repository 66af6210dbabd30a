"""How long a sweep will take, from three of its points."""

from __future__ import annotations

import itertools
import time
from collections.abc import Collection
from typing import NamedTuple

from sparsetoken.sweep.compute import compute
from sparsetoken.sweep.grid import Grid
from sparsetoken.sweep.keys import key_of
from sparsetoken.sweep.store import Store

__all__ = ["LONG", "Estimate", "estimate", "unique_rows"]

LONG = 2.0


class Estimate(NamedTuple):
    """Rows of each quantity, how many of all are done, and seconds on one worker for the rest."""

    rows: dict[str, int]
    done: int
    seconds: float


def unique_rows(grid: Grid) -> dict[str, set[bytes]]:
    """Return the keys of the rows of each quantity; points that agree share one."""
    return {
        quantity: {key_of(row) for point in grid.points() for row in grid.rows_of(point, quantity)}
        for quantity in grid.quantities
    }


def estimate(grid: Grid, store: Store | None = None, memory_budget: int | None = None) -> Estimate:
    """Count the rows, and time the first, the middle and the last point.

    A row is timed a second time, without compilation, unless the first took two seconds.

    Parameters
    ----------
    grid : Grid
    store : Store, optional
        Rows that it has are done.
    memory_budget : int, optional
        As for the run.
    """
    keys = unique_rows(grid)
    finished = {q: 0 if store is None else _finished(store, found) for q, found in keys.items()}
    seconds = 0.0
    for quantity, found in keys.items():
        times = [_seconds(grid, quantity, place, memory_budget) for place in _places(grid.size)]
        seconds += (len(found) - finished[quantity]) * sum(times) / len(times)
    rows = {quantity: len(found) for quantity, found in keys.items()}
    return Estimate(rows, sum(finished.values()), seconds)


def _finished(store: Store, keys: Collection[bytes]) -> int:
    return len(keys) - store.statuses(keys).count(None)


def _places(size: int) -> list[int]:
    return sorted({0, size // 2, size - 1})


def _seconds(grid: Grid, quantity: str, place: int, memory_budget: int | None) -> float:
    point = next(itertools.islice(grid.points(), place, None))
    row = grid.rows_of(point, quantity, 1)[0]
    first = _timed(row, grid, memory_budget)
    return first if first > LONG else _timed(row, grid, memory_budget)


def _timed(row: dict, grid: Grid, memory_budget: int | None) -> float:
    start = time.perf_counter()
    compute([row], grid.losses, memory_budget)
    return time.perf_counter() - start
