"""Runs: missing pieces of work go to an executor, and their results to the store."""

from __future__ import annotations

import collections
import dataclasses
import functools
import json
import pickle
import random
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

import numpy as np

from sparsetoken.base.validation import InvalidInput, integer
from sparsetoken.sweep.compute import Result, Work, computed
from sparsetoken.sweep.definitions import Definitions, outside_models
from sparsetoken.sweep.grid import Grid
from sparsetoken.sweep.layout import Layout, Place, Row, name_of, results_of
from sparsetoken.sweep.parameters import CONVERGED, FAILED, MISSING, STATUSES
from sparsetoken.sweep.store import Piece, Store
from sparsetoken.work import Done, WorkerDied, completed, require_executor, timed

LONG, MOST_TIMED = 2.0, 20


class Counts(NamedTuple):
    """The results of a sweep by state; `done` includes `not_converged`, `left` the damaged ones."""

    done: int = 0
    failed: int = 0
    left: int = 0
    not_converged: int = 0
    damaged: int = 0

    @property
    def total(self) -> int:
        """All results."""
        return self.done + self.failed + self.left

    def and_then(self, new: Counts, old: Counts | None = None) -> Counts:
        """Return the counts with those of a piece added, in place of older ones of it."""
        triples = zip(self, new, old or Counts(), strict=True)
        return Counts(*(mine + now - before for mine, now, before in triples))


def counts_of(piece: Piece) -> Counts:
    """Count the results of a piece."""
    found = collections.Counter(piece.statuses)
    failed, left = found[FAILED], found[MISSING]
    done = found.total() - failed - left
    return Counts(done, failed, left, done - found[CONVERGED], piece.damaged)


def count(store: Store) -> Counts:
    """Count the results in a store, each of which is read."""
    counts = Counts()
    for piece in store.pieces():
        counts = counts.and_then(counts_of(piece))
    return counts


def run(
    grid: Grid,
    store: Store | Path | str,
    executor: Executor | None = None,
    *,
    workers: int | None = None,
    retry_failed: bool = False,
    memory_budget: int | None = None,
    on_counts: Callable[[Counts], None] = lambda _: None,
    on_damaged: Callable[[str], None] = lambda _: None,
) -> Counts:
    """Compute the missing results of a grid in a store, and return the counts of all its results.

    Parameters
    ----------
    grid : Grid
    store : Store, path or str
        It is created if missing, and extended if the grid has more trials, more values at the end
        of an axis or another quantity than before. Other runs may work on it at the same time: part
        of the work is then done twice.
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
        Called with what is damaged, if anything is: it is computed again.

    Raises
    ------
    InvalidInput
        If the store is another sweep or something else, there are no workers, or the executor
        has other processes and the grid cannot be sent to them.
    StoreError
        If the store cannot be written, or vanishes.
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
    >>> from sparsetoken.sweep import Grid, linear, run
    >>> grid = Grid("alignment", [linear("strength", 1, 3, 3)], {"length": 4})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     run(grid, f"{folder}/sweep.zarr").done
    3
    """
    store = store if isinstance(store, Store) else Store(store)
    if not isinstance(grid, Grid):
        raise InvalidInput("grid", "a Grid", grid, "read_spec(path) reads one from a file.")
    width = getattr(executor, "_max_workers", 1) if workers is None else workers
    integer("workers", width, 1)
    if executor is not None and not isinstance(require_executor(executor), ThreadPoolExecutor):
        pickle.dumps(Definitions(grid.losses, outside_models(grid.models)))
    if store.prepare(grid):
        on_damaged("its metadata are")
    jobs = _Jobs(store, {MISSING, FAILED} if retry_failed else {MISSING}, memory_budget)
    if jobs.counts.damaged:
        on_damaged(f"{jobs.counts.damaged} results are")
    on_counts(jobs.counts)
    for work, done in completed(functools.partial(timed, computed), jobs.works(), executor, width):
        jobs.finish(work, done)
        on_counts(jobs.counts)
    store.require_same()
    return count(store)


def seconds_of(grid: Grid, memory_budget: int | None = None) -> float:
    """Return the seconds that all results of a grid take on one worker.

    The first, the middle and the last piece of work of each quantity are timed by their first
    results, a second time, without compilation, unless that took two seconds.
    """
    total = 0.0
    for quantity, count in grid.rows.items():
        layout = Layout(grid, quantity)
        places = {tuple(int(share * (n - 1)) for n in layout.pieces) for share in (0, 0.5, 1)}
        each = []
        for place in sorted(places):
            work = Work(0, layout.rows(place)[:MOST_TIMED], Definitions(grid.losses), memory_budget)
            done = timed(computed, work)
            done = done if done.seconds > LONG else timed(computed, work)
            each.append(done.seconds / len(work.rows))
        total += count * sum(each) / len(each)
    return total


class _Job(NamedTuple):
    """Pieces with the same rows, whose entries, and what of them is to be computed."""

    pieces: list[Piece]
    entries: np.ndarray
    lacking: np.ndarray


@dataclasses.dataclass
class _Jobs:
    """The pieces that lack results; those of the same rows are one job, which is done once."""

    store: Store
    wanted: set[str]
    memory_budget: int | None

    def __post_init__(self) -> None:
        self.counts = Counts()
        self._lacking: dict[bytes, dict[tuple[str, Place], Counts]] = {}
        self._begun: dict[int, _Job] = {}
        for piece in self.store.pieces():
            counts = counts_of(piece)
            self.counts = self.counts.and_then(counts)
            if self._lacks(piece).any():
                same = self._lacking.setdefault(piece.keys.tobytes(), {})
                same[piece.quantity, piece.place] = counts

    def _lacks(self, piece: Piece) -> np.ndarray:
        return np.array([status in self.wanted for status in piece.statuses])

    def works(self) -> Iterator[Work]:
        """Yield the work that is still to do.

        Each run begins at another place, so that two runs on one store do little twice.
        """
        jobs = list(self._lacking.values())
        first = random.randrange(max(1, len(jobs)))
        for number, places in enumerate(jobs[first:] + jobs[:first]):
            pieces = [self.store.piece(*place) for place in places]
            entries, lacking = pieces[0].entries.copy(), self._lacks(pieces[0])
            for piece in pieces[1:]:  # what one of them has is not computed
                has = lacking & ~self._lacks(piece)
                entries[has], lacking = piece.entries[has], lacking & ~has
            self._begun[number] = _Job(pieces, entries, np.flatnonzero(lacking))
            one = pieces[0]  # rows that differ in nothing that matters are computed once
            same = {one.keys[place]: one.rows[place] for place in np.flatnonzero(lacking)}
            rows = list(same.values())
            yield Work(number, rows, self._definitions(rows), self.memory_budget)

    def _definitions(self, rows: list[Row]) -> Definitions:
        labels, models = ({row.setting.get(n) for row in rows} for n in ("loss", "model"))
        losses = self.store.grid.losses.items()
        own = {label: loss for label, loss in losses if label in labels}
        return Definitions(own, outside_models(models))

    def finish(self, work: Work, done: Done | WorkerDied) -> None:
        """Write the results of some work to all pieces that lack them."""
        pieces, entries, lacking = self._begun.pop(work.number)
        keys, names = pieces[0].keys, results_of(self.store.grid)
        if isinstance(done, WorkerDied):
            done = Done([Result({}, FAILED, str(done))] * len(work.rows), 0.0, "{}", 0)
        found = dict(zip(dict.fromkeys(keys[lacking].tolist()), done.result, strict=True))
        messages: dict[str, str] = {}
        for piece in pieces if len(lacking) < len(keys) else ():
            messages |= self.store.facts(piece.quantity, piece.place).get("messages", {})
        for place in lacking.tolist():
            result = found[keys[place]]
            values = {"status": STATUSES.index(result.status), "key": keys[place], **result.values}
            entries[place] = np.nan
            for name, value in values.items():
                entries[place, names.index(name)] = value
            messages[name_of(keys[place])] = result.message
        fallen = keys[entries[:, 0] != STATUSES.index(CONVERGED)]
        facts = {"seconds": done.seconds, "computed_with": json.loads(done.environment)}
        facts["messages"] = {
            name: messages[name] for name in map(name_of, fallen) if name in messages
        }
        for piece in pieces:
            if self._lacks(piece).any():
                self.store.write(piece.quantity, piece.place, entries, facts)
            known = self._lacking_counts(piece)
            now = counts_of(piece._replace(entries=entries, damaged=0))
            self.counts = self.counts.and_then(now, known)

    def _lacking_counts(self, piece: Piece) -> Counts:
        return self._lacking[piece.keys.tobytes()][piece.quantity, piece.place]
