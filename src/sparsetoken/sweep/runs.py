"""Runs: the missing results of a grid are computed by an executor, and kept."""

from __future__ import annotations

import collections
import dataclasses
import pickle
import secrets
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

from sparsetoken.base.validation import InvalidInput, integer
from sparsetoken.sweep.compute import Piece, checked_result, computed, in_pieces
from sparsetoken.sweep.dataset import read_kept, require_memory, statuses, zarr_files
from sparsetoken.sweep.grid import Call, Grid, described
from sparsetoken.sweep.parameters import CONVERGED, FAILED, MISSING, parameters
from sparsetoken.sweep.store import ARRAYS, PIECES, opened, write_specification
from sparsetoken.work import Kept, Result, require_executor, timed
from sparsetoken.work.kept import Known

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
    def of(cls, statuses: Iterable[str], damaged: int = 0) -> Counts:
        """Return the counts of results with these statuses."""
        number = collections.Counter(statuses)
        failed, left = number[FAILED], number[MISSING]
        done = number.total() - failed - left
        return cls(done, failed, left, done - number[CONVERGED], damaged)


def run(
    grid: Grid,
    store: Path | str,
    executor: Executor | None = None,
    *,
    workers: int | None = None,
    retry_failed: bool = False,
    on_counts: Callable[[Counts], None] = lambda _: None,
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
    on_counts : callable
        Called with the counts so far. Their damaged files were found at the start, and removed:
        what they held is computed again.

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
    kept = Kept(folder / PIECES, checked_result)
    calls = _calls(grid)
    if executor is not None and not isinstance(require_executor(executor), ThreadPoolExecutor):
        pickle.dumps([Piece(some) for some in calls.values()])  # refused before it begins
    about = _about(grid, calls)
    names = [call.name for some in calls.values() for call in some]
    known = kept.read({*names}, mend=True)
    states = _states(names, known)
    write_specification(folder, about)
    on_counts(Counts.of(map(states.__getitem__, names), known.damaged))
    wanted = {MISSING, FAILED} if retry_failed else {MISSING}
    distinct = {call.name: call for some in calls.values() for call in some}
    lacking = (call for name, call in distinct.items() if states[name] in wanted)
    pieces = list(in_pieces(lacking))
    first = secrets.randbelow(max(1, len(pieces)))  # so that two runs at once do little twice
    for results in kept.fill(computed, pieces[first:] + pieces[:first], executor, width):
        states |= {name: _state(result) for name, result in results.items()}
        on_counts(Counts.of(map(states.__getitem__, names), known.damaged))
    dataset, damaged = read_kept(kept, about)
    write_specification(folder, about)  # another run may have written its own
    folder.replace(ARRAYS, zarr_files(dataset), "zarr.json")
    return Counts.of(statuses(dataset), damaged)


def _calls(grid: Grid) -> dict[str, list[Call]]:
    """Return the calls of all results of each quantity, in the order of its array."""
    return {
        quantity: [
            call._replace(trial=trial)
            for call in grid.calls(quantity)
            for trial in range(grid.trials_of(quantity))
        ]
        for quantity in grid.quantities
    }


def _state(result: Result) -> str:
    return FAILED if result.error else result.value["status"]


def _states(names: Sequence[str], known: Known) -> dict[str, str]:
    """Return the status of each result by name."""
    return {n: _state(known.results[n]) if n in known.results else MISSING for n in names}


def _about(grid: Grid, calls: Mapping[str, Sequence[Call]]) -> dict[str, Any]:
    """Return the specification that is kept, as JSON."""
    used, rest = parameters(grid.experiment), grid.values({}).items()
    fixed = {n: described(v) for n, v in rest if n in used and n not in grid.names}
    return {
        "experiment": grid.experiment,
        "quantities": list(grid.quantities),
        "axes": {label: described(steps) for label, steps in grid.steps.items()},
        "fixed": {name: value for name, value in fixed.items() if value is not None},
        "trials": grid.trials,
        "seed": grid.seed,
        "plot": dict(grid.plot),
        "keys": {q: [call.key for call in some if call.trial == 0] for q, some in calls.items()},
    }


def count(grid: Grid, store: Path | str) -> Counts:
    """Check all points of a grid, and count what a store has of its results."""
    kept = Kept(opened(store, write=True) / PIECES, checked_result)
    names = [call.name for some in _calls(grid).values() for call in some]
    known = kept.read({*names})
    return Counts.of(map(_states(names, known).__getitem__, names), known.damaged)


def seconds_of(grid: Grid) -> float:
    """Return the seconds that all results of a grid take on one worker.

    Some results at the first, the middle and the last point of each quantity are timed a second
    time, without compilation, unless that took two seconds.
    """
    total = 0.0
    for quantity, number in grid.rows.items():
        for share in (0, 0.5, 1):
            calls = _sample(grid, quantity, share)
            done = timed(computed, Piece(calls))
            if done.seconds <= LONG:
                done = timed(computed, Piece(calls))
            total += number * done.seconds / len(calls) / 3
    return total


def _sample(grid: Grid, quantity: str, share: float) -> list[Call]:
    """Return the calls of some results of a point, and of predictions along an axis."""
    along = next((name for name in ("alpha1", "ridge") if name in grid.axes), [*grid.axes][-1])
    axes = {}
    for label, steps in grid.axes.items():
        most = MOST_TIMED if label == along and quantity == "theory" else 1
        first = max(0, min(int(share * (len(steps) - 1)), len(steps) - most))
        axes[label] = steps[first : first + most]
    part = dataclasses.replace(grid, axes=axes, plot={})
    trials = range(min(part.trials_of(quantity), MOST_TIMED))
    return [call._replace(trial=n) for call in part.calls(quantity) for n in trials]
