"""The points of a sweep: predictions, and simulations as means with standard errors."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from sparsetoken.sweep.grid import Grid
from sparsetoken.sweep.keys import key_of
from sparsetoken.sweep.reading import require_store
from sparsetoken.sweep.records import CONVERGED, FAILED
from sparsetoken.sweep.rows import Row
from sparsetoken.sweep.store import Store
from sparsetoken.validation import InvalidInput

MISSING = "missing"


class Summary(NamedTuple):
    """The results of one quantity at one point of a sweep.

    Attributes
    ----------
    point : dict
        Values of the axes.
    quantity : str
        theory or simulation.
    status : str
        converged; else the status of the first row that is not, or missing.
    values, errors : dict
        For a simulation the means over trials and their standard errors; for theory the values,
        and the numerical error as the error of the first value. Empty without finished rows.
    trials : int
        The number of finished rows.

    Examples
    --------
    >>> import tempfile
    >>> from sparsetoken.sweep import Grid, GridPlan, Store, linear, run, summaries
    >>> grid = Grid("alignment", [linear("strength", 1, 3, 3)], {"length": 4})
    >>> with tempfile.TemporaryDirectory() as folder, Store(folder + "/s.sqlite") as store:
    ...     _ = run(store, GridPlan(grid))
    ...     next(summaries(store)).status
    'converged'
    """

    point: dict[str, Any]
    quantity: str
    status: str
    values: dict[str, float]
    errors: dict[str, float]
    trials: int


def grid_of_sweep(store: Store, sweep: int | None = None) -> tuple[int, Grid]:
    """Return the number and the grid of a sweep in a store; the newest by default.

    Raises
    ------
    InvalidInput
        If there is no such sweep, or the store is a path.
    """
    require_store(store)
    known = {number: text for number, text in store.sweeps().items() if '"axes"' in text}
    if not known:
        raise InvalidInput("FILE", "a store with a sweep", f"{store.path}, which has none")
    if sweep is None:
        sweep = max(known)
    if sweep not in known:
        raise InvalidInput("sweep", f"one of {', '.join(map(str, known))}", sweep)
    return sweep, Grid.from_text(known[sweep])


def summaries(store: Store, sweep: int | None = None) -> Iterator[Summary]:
    """Return a summary of each point and quantity of a sweep, the newest by default.

    Raises
    ------
    InvalidInput
        If there is no such sweep, or the store is a path.

    Examples
    --------
    >>> import tempfile
    >>> from sparsetoken.sweep import Grid, GridPlan, Store, linear, run, summaries
    >>> grid = Grid("alignment", [linear("strength", 1, 3, 3)], {"length": 4})
    >>> with tempfile.TemporaryDirectory() as folder, Store(folder + "/s.sqlite") as store:
    ...     _ = run(store, GridPlan(grid))
    ...     [summary.point for summary in summaries(store)]
    [{'strength': 1.0}, {'strength': 2.0}, {'strength': 3.0}]
    """
    sweep, grid = grid_of_sweep(store, sweep)
    found = {key_of(row.configuration): row for row in store.rows(sweep)}

    def summary(point: dict[str, Any], quantity: str) -> Summary:
        keys = [key_of(row) for row in grid.rows_of(point, quantity)]
        return _summary(point, quantity, [found[key] for key in keys if key in found])

    return (summary(point, quantity) for quantity in grid.quantities for point in grid.points())


def _summary(point: dict[str, Any], quantity: str, rows: Sequence[Row]) -> Summary:
    kept = [row for row in rows if row.status != FAILED]
    short = [row.status for row in rows if row.status != CONVERGED]
    status = short[0] if short else CONVERGED if rows else MISSING
    if not kept:
        return Summary(point, quantity, status, {}, {}, 0)
    columns = {name: [row.values[name] for row in kept] for name in kept[0].values}
    values = {name: math.fsum(column) / len(column) for name, column in columns.items()}
    errors = {name: _standard_error(column) for name, column in columns.items()}
    if quantity == "theory":
        errors = dict.fromkeys(columns, math.nan)
        errors[next(iter(columns))] = values.get("numerical_error", 0.0)
    return Summary(point, quantity, status, values, errors, len(kept))


def _standard_error(values: Sequence[float]) -> float:
    if len(values) < 2 or not all(math.isfinite(value) for value in values):
        return math.nan
    return statistics.stdev(values) / math.sqrt(len(values))
