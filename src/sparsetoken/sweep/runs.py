"""Runs: the missing results of a grid are computed by an executor, and kept."""

from __future__ import annotations

import collections
import dataclasses
import itertools
import pickle
import random
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

from sparsetoken.base.validation import InvalidInput, integer
from sparsetoken.sweep.compute import Item, Piece, check, computed, in_pieces, row_of
from sparsetoken.sweep.dataset import read_kept, require_memory, statuses_of, zarr_files
from sparsetoken.sweep.grid import Call, Grid, described
from sparsetoken.sweep.parameters import CONVERGED, FAILED, MISSING, parameters
from sparsetoken.sweep.store import PIECES, opened, write_arrays, write_specification
from sparsetoken.work import Folder, Kept, Result, require_executor, timed

LONG, MOST_TIMED = 2.0, 20


class Counts(NamedTuple):
    """The results of a sweep by state; `done` includes `not_converged`.

    The damaged ones are files, whose results are among those that are left.

    See Also
    --------
    run : The function that returns it.

    Examples
    --------
    >>> from sparsetoken.sweep import Counts
    >>> Counts(done=8, failed=1, left=3).total
    12
    """

    done: int = 0
    failed: int = 0
    left: int = 0
    not_converged: int = 0
    damaged: int = 0

    @property
    def total(self) -> int:
        """All results."""
        return self.done + self.failed + self.left

    @classmethod
    def of(cls, statuses: collections.Counter[str], damaged: int = 0) -> Counts:
        """Return the counts of results with these statuses."""
        failed, left = statuses[FAILED], statuses[MISSING]
        done = statuses.total() - failed - left
        return cls(done, failed, left, done - statuses[CONVERGED], damaged)


class _Work:
    """The calls of a grid, all of which are legal, and the status of each result."""

    def __init__(self, grid: Grid, kept: Kept, budget: int | None, *, mend: bool = False) -> None:
        self.grid, self.calls, self.keys = grid, dict[str, Call](), dict[str, list[str]]()
        for quantity in grid.quantities:
            calls = list(grid.calls(quantity, grid.points(), lambda call: check(call, budget)))
            self.keys[quantity] = [call.key for call in calls]
            self.calls |= zip(self.keys[quantity], calls, strict=True)
        points = collections.Counter(itertools.chain(*self.keys.values()))
        self.weights = {item.name: points[item.key] for item in self._items()}
        known = kept.read(self.weights, mend=mend)
        self.statuses = dict.fromkeys(self.weights, MISSING)
        self.statuses |= {key: status_of(result) for key, result in known.results.items()}
        self._sums: collections.Counter[str] = collections.Counter()
        for key, status in self.statuses.items():
            self._sums[status] += self.weights[key]
        self.damaged = known.damaged

    def _items(self) -> Iterator[Item]:
        for key, call in self.calls.items():
            for trial in range(self.grid.trials_of(call.quantity)):
                yield Item(key, call, trial)

    def lacking(self, wanted: set[str]) -> list[Item]:
        """Return the distinct results that have one of these statuses."""
        return [item for item in self._items() if self.statuses[item.name] in wanted]

    def end(self, key: str, result: Result) -> None:
        """Count a result that is there from here on."""
        self._sums[self.statuses[key]] -= self.weights[key]
        self.statuses[key] = status_of(result)
        self._sums[self.statuses[key]] += self.weights[key]

    @property
    def counts(self) -> Counts:
        """The counts of all results."""
        return Counts.of(self._sums)

    @property
    def about(self) -> dict[str, Any]:
        """The specification that is kept, as JSON."""
        grid, rest = self.grid, self.grid.values({}).items()
        axes = {label: described(steps) for label, steps in grid.steps.items()}
        used = parameters(grid.experiment)
        fixed = {n: described(v) for n, v in rest if n in used and n not in grid.names}
        return {
            "experiment": grid.experiment,
            "quantities": list(grid.quantities),
            "axes": axes,
            "fixed": {name: value for name, value in fixed.items() if value is not None},
            "trials": grid.trials,
            "seed": grid.seed,
            "plot": dict(grid.plot),
            "keys": self.keys,
        }


def status_of(result: Result) -> str:
    """Return the status of a result that is kept."""
    return FAILED if result.error else result.value["status"]


def run(
    grid: Grid,
    store: Path | str,
    executor: Executor | None = None,
    *,
    workers: int | None = None,
    retry_failed: bool = False,
    memory_budget: int | None = None,
    on_counts: Callable[[Counts], None] = lambda _: None,
    on_damaged: Callable[[int], None] = lambda _: None,
) -> Counts:
    """Compute the missing results of a grid, and return the counts of all its results.

    At the end their named arrays are in ``results.zarr`` in the store.

    Parameters
    ----------
    grid : Grid
    store : path or str
        A folder, made if need be, or a URL that fsspec knows. Results are kept by what they depend
        on: a grid may change in any way, and what it shares with earlier ones in the store is not
        computed again. Other runs may work there at the same time: some work is then done twice.
    executor : concurrent.futures.Executor, optional
        By default the work runs in this thread.
    workers : int, optional
        Pieces of work that the executor runs at once; the workers of a pool by default.
    retry_failed : bool
        Whether what failed before runs again.
    memory_budget : int, optional
        The largest number of bytes that one trial may take, as counted beforehand. It changes
        no result.
    on_counts : callable
        Called with the counts so far.
    on_damaged : callable
        Called with the number of damaged files, if there are any: what they held is computed again.

    Raises
    ------
    InvalidInput
        If a value at a point is not legal, the store is something else, there are no workers, or
        the executor has other processes and a loss or a model cannot be sent to them.
    Failure
        If the store cannot be read or written, or vanishes.
    RunStopped
        If the executor breaks.

    See Also
    --------
    to_xarray : Results as a Dataset.
    to_frame : Results as a table.
    read_spec : A grid from a file.

    Examples
    --------
    >>> import tempfile
    >>> from sparsetoken.sweep import Grid, run
    >>> grid = Grid("alignment", {"strength": [1, 2, 3]}, {"length": 4})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     run(grid, f"{folder}/sweep").done
    3
    """
    if not isinstance(grid, Grid):
        raise InvalidInput("grid", "a Grid", grid, "read_spec(path) reads one from a file.")
    width = getattr(executor, "_max_workers", 1) if workers is None else workers
    integer("workers", width, 1)
    require_memory(sum(grid.rows.values()), grid.experiment)
    folder = opened(store, write=True)
    kept = Kept(folder / PIECES, row_of)
    work = _Work(grid, kept, memory_budget, mend=True)
    if executor is not None and not isinstance(require_executor(executor), ThreadPoolExecutor):
        points = [*grid.points(["loss", "model"])]
        calls = [call for quantity in grid.quantities for call in grid.calls(quantity, points)]
        pickle.dumps(Piece.of([Item("", call) for call in calls]))
    write_specification(folder, work.about)
    if work.damaged:
        on_damaged(work.damaged)
    on_counts(work.counts)
    wanted = {MISSING, FAILED} if retry_failed else {MISSING}
    pieces = list(in_pieces(work.lacking(wanted), memory_budget))
    first = random.randrange(max(1, len(pieces)))  # so that two runs at once do little twice
    for results in kept.fill(computed, pieces[first:] + pieces[:first], executor, width):
        for key, result in results.items():
            work.end(key, result)
        on_counts(work.counts)
    return _ended(folder, kept, work)


def _ended(folder: Folder, kept: Kept, work: _Work) -> Counts:
    """Leave the named arrays of what is kept, and count it."""
    dataset, damaged = read_kept(kept, work.about)
    write_specification(folder, work.about)  # another run may have written its own
    write_arrays(folder, zarr_files(dataset))
    return Counts.of(statuses_of(dataset), damaged)


def count(grid: Grid, store: Path | str, memory_budget: int | None = None) -> Counts:
    """Check all points of a grid, and count what a store has of its results."""
    folder = opened(store, write=True)
    return _Work(grid, Kept(folder / PIECES, row_of), memory_budget).counts


def check_corners(grid: Grid, memory_budget: int | None = None) -> None:
    """Check the points where each axis is at its first or last step."""
    for quantity in grid.quantities:
        points = grid.points(corners=True)
        collections.deque(grid.calls(quantity, points, lambda c: check(c, memory_budget)), 0)


def seconds_of(grid: Grid, memory_budget: int | None = None) -> float:
    """Return the seconds that all results of a grid take on one worker.

    Some results at the first, the middle and the last point of each quantity are timed a second
    time, without compilation, unless that took two seconds.
    """
    total = 0.0
    for quantity, number in grid.rows.items():
        each = []
        for share in (0, 0.5, 1):
            items = _sample(grid, quantity, share)
            done = timed(computed, Piece.of(items, memory_budget))
            if done.seconds <= LONG:
                done = timed(computed, Piece.of(items, memory_budget))
            each.append(done.seconds / len(items))
        total += number * sum(each) / len(each)
    return total


def _sample(grid: Grid, quantity: str, share: float) -> list[Item]:
    """Return some results of a point, and of predictions along an axis."""
    along = next((name for name in ("alpha1", "ridge") if name in grid.axes), [*grid.axes][-1])
    axes = {}
    for label, steps in grid.axes.items():
        most = MOST_TIMED if label == along and quantity == "theory" else 1
        first = max(0, min(int(share * (len(steps) - 1)), len(steps) - most))
        axes[label] = steps[first : first + most]
    part = dataclasses.replace(grid, axes=axes, trials=min(grid.trials, MOST_TIMED), plot={})
    calls = part.calls(quantity, part.points())
    trials = range(part.trials_of(quantity))
    return [Item(call.key, call, trial) for call in calls for trial in trials]
