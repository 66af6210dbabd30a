"""Runs: the rows of a plan that a store lacks go to an executor, and their results to the store."""

from __future__ import annotations

import collections
import dataclasses
import statistics
import time
from collections.abc import Callable, Sequence
from concurrent.futures import (
    FIRST_COMPLETED,
    BrokenExecutor,
    CancelledError,
    Executor,
    Future,
    ThreadPoolExecutor,
    wait,
)
from typing import Any

from sparsetoken.numerics.threads import one_thread
from sparsetoken.sweep.batch import Report, package_version, run_batch
from sparsetoken.sweep.plan import Plan
from sparsetoken.sweep.processes import NO_ROW, WorkerDied
from sparsetoken.sweep.reading import require_store
from sparsetoken.sweep.records import (
    CONVERGED,
    FAILED,
    Answer,
    Counts,
    Lease,
    Result,
    RunStopped,
)
from sparsetoken.sweep.repair import repair
from sparsetoken.sweep.store import Store
from sparsetoken.validation import integer

MOST_DEATHS = 3
BATCH_SECONDS = 0.25
SERIES_SECONDS = 5.0
"""A batch of one series may take so long, since its rows are faster together."""

LARGEST_BATCH = 500
GROWTH = 4
MOST_IDLE_DEATHS = 5
POLL_SECONDS = 0.5


class InProcess(Executor):
    """Runs each call at once, in this thread, with one BLAS thread while it runs."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future:
        """Return the finished call."""
        future: Future = Future()
        future.set_running_or_notify_cancel()
        try:
            with one_thread():
                future.set_result(fn(*args, **kwargs))
        except Exception as error:
            future.set_exception(error)
        return future


def run(
    store: Store,
    plan: Plan,
    executor: Executor | None = None,
    *,
    workers: int = 1,
    retry_failed: bool = False,
    on_registered: Callable[[int], None] = lambda _: None,
    on_counts: Callable[[Counts], None] = lambda _: None,
    on_rows: Callable[[Sequence[Lease]], None] = lambda _: None,
    on_damaged: Callable[[int], None] = lambda _: None,
) -> Counts:
    """Run the rows of a plan that the store lacks; return the counts of all.

    Parameters
    ----------
    store : Store
        Each batch is written when it ends. Another process may run on the same store.
    plan : Plan
    executor : concurrent.futures.Executor, optional
        By default rows run in this thread.
    workers : int
        Calls that the executor runs at once.
    retry_failed : bool
        Whether rows that failed before run again.
    on_registered : callable
        Called with the numbers of rows that are added to the store before the first runs.
    on_counts : callable
        Called with the counts of the rows so far.
    on_rows : callable
        Called with the rows of each batch that this process has finished.
    on_damaged : callable
        Called with the number of rows that are damaged, if any: they run again.

    Raises
    ------
    InvalidInput
        If the store is a path, there are no workers, or the executor has other processes and
        the plan cannot be sent to them.
    StoreError
        If the store cannot be written, its structure is damaged, or another version runs on it.
    RunStopped
        If the executor breaks.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from sparsetoken.sweep import Grid, GridPlan, Store, linear, run
    >>> grid = Grid("alignment", [linear("strength", 1, 3, 3)], {"length": 4})
    >>> with tempfile.TemporaryDirectory() as folder, Store(Path(folder) / "s.sqlite") as store:
    ...     run(store, GridPlan(grid)).done
    3
    """
    require_store(store)
    integer("workers", workers, 1)
    if executor is not None and not isinstance(executor, (InProcess, ThreadPoolExecutor)):
        plan.require_picklable()
    damaged = repair(store)
    if damaged:
        on_damaged(damaged)
    store.begin(package_version())
    sweep = store.add_sweep(plan.text, plan.rows(), plan.shape, plan.series, on_registered)
    if retry_failed:
        store.retry_failed(sweep)
    state = _Run(
        store,
        plan,
        sweep,
        executor or InProcess(),
        workers,
        on_counts,
        on_rows,
        store.counts(sweep),
    )
    return state.finish()


@dataclasses.dataclass
class _Run:
    """The state of one run: the batches in flight, the seconds of rows, and the deaths."""

    store: Store
    plan: Plan
    sweep: int
    executor: Executor
    workers: int
    on_counts: Callable[[Counts], None]
    on_rows: Callable[[Sequence[Lease]], None]
    counts: Counts
    in_flight: dict[Future, list[Lease]] = dataclasses.field(default_factory=dict)
    retries: collections.deque[list[Lease]] = dataclasses.field(default_factory=collections.deque)
    seconds: dict[int, float] = dataclasses.field(default_factory=dict)  # of a row, by shape
    sizes: dict[int, int] = dataclasses.field(default_factory=dict)  # of the largest batch
    after: int = 0
    shape: int = 0
    idle_deaths: int = 0

    def finish(self) -> Counts:
        """Run until no row is left, here or in another process."""
        self.on_counts(self.counts)
        try:
            while self._submit() or self._await_other_processes():
                if self.in_flight:
                    done, _ = wait(self.in_flight, return_when=FIRST_COMPLETED)
                    for future in done:
                        self._settle(future, self.in_flight.pop(future))
                    self.on_counts(self.counts)
        except BaseException:
            for future in self.in_flight:
                future.cancel()
            raise
        return self.store.counts(self.sweep)

    def _submit(self) -> bool:
        """Keep two batches for each worker in flight; return whether any is."""
        while len(self.in_flight) < 2 * self.workers:
            batch = self.retries.popleft() if self.retries else self._lease()
            if not batch:
                break
            try:
                future = self.executor.submit(run_batch, self.plan.calls(batch))
            except (BrokenExecutor, RuntimeError) as error:
                raise RunStopped(f"The executor takes no more work: {error}.") from error
            self.in_flight[future] = batch
            if future.done():  # as in this process: write its results before the next batch
                break
        return bool(self.in_flight)

    def _lease(self) -> list[Lease]:
        """Lease a batch of the size that suits the last shape, or the new one if it is less."""
        sizes = self._sizes(self.shape)
        batch = self.store.lease(self.sweep, self.after, *sizes)
        if not batch and self.after:
            batch = self.store.lease(self.sweep, 0, *sizes)  # rows released in the meantime
        if not batch:
            self.after = 0
            return []
        if batch[0].shape != self.shape:
            self.shape = batch[0].shape
            _, kept = self._sizes(self.shape)
            self.store.release(lease.id for lease in batch[kept:])
            batch = batch[:kept]
        self.after = batch[-1].id
        return batch

    def _sizes(self, shape: int) -> tuple[int, int]:
        """Return the rows of a batch, and how many a batch of one series may have.

        They take a quarter of a second and five seconds. An unknown shape starts with one row.
        """
        if shape not in self.seconds:
            return 1, 1
        largest = min(GROWTH * self.sizes[shape], LARGEST_BATCH)
        fitting = (int(t / max(self.seconds[shape], 1e-9)) for t in (BATCH_SECONDS, SERIES_SECONDS))
        size, most = (max(1, min(rows, largest)) for rows in fitting)
        return size, most

    def _await_other_processes(self) -> bool:
        """Wait for rows of other processes; return whether any are left."""
        self.store.release_dead()
        if self.counts.left:
            time.sleep(POLL_SECONDS)
        self.counts = self.store.counts(self.sweep)
        self.on_counts(self.counts)
        return self.counts.left > 0

    def _settle(self, future: Future, batch: list[Lease]) -> None:
        """Record the answers of a batch, or decide what becomes of one that was lost."""
        error = CancelledError("cancelled") if future.cancelled() else future.exception()
        if error is None:
            self._record(future.result(), batch)
        elif isinstance(error, WorkerDied):
            self._after_death(error.row, batch)
        elif type(error).__name__ == "KilledWorker":  # of dask, which has tried several workers
            self._after_deaths_on_cluster(batch)
        else:
            text = " ".join(f"{type(error).__name__}: {error}".split())
            raise RunStopped(f"The executor lost a batch: {text}.") from error

    def _record(self, report: Report, batch: Sequence[Lease]) -> None:
        self._write(report.answers, batch, report.environment)
        self.idle_deaths = 0
        shape = batch[0].shape
        self.seconds[shape] = statistics.median(answer.seconds for answer in report.answers)
        self.sizes[shape] = max(len(batch), self.sizes.get(shape, 1))

    def _write(
        self, answers: Sequence[Answer], batch: Sequence[Lease], environment: str = "{}"
    ) -> None:
        self.store.finish(answers, environment)
        statuses = [answer.result.status for answer in answers]
        failed = statuses.count(FAILED)
        self.counts = Counts(
            self.counts.done + len(statuses) - failed,
            self.counts.failed + failed,
            max(0, self.counts.left - len(statuses)),
            self.counts.not_converged + len(statuses) - failed - statuses.count(CONVERGED),
        )
        self.on_rows(batch)

    def _after_death(self, row: int | None, batch: list[Lease]) -> None:
        """Run the rows again: the one that a worker died on by itself, until it is given up."""
        culprits = [lease for lease in batch if lease.id == row]
        others = [lease for lease in batch if lease.id != row]
        if others:
            self.retries.append(others)
        if culprits:
            if self.store.count_death(culprits[0].id) < MOST_DEATHS:
                self.retries.append(culprits)
            else:
                self._give_up(culprits[0])
        elif row == NO_ROW:
            self.idle_deaths += 1
            if self.idle_deaths >= MOST_IDLE_DEATHS:
                raise RunStopped("Worker processes die before they begin. Is memory short?")

    def _after_deaths_on_cluster(self, batch: list[Lease]) -> None:
        """Run the rows one by one, and give up a row that was alone."""
        if len(batch) == 1:
            self._give_up(batch[0])
        else:
            self.retries.extend([lease] for lease in batch)

    def _give_up(self, lease: Lease) -> None:
        text = f"Its worker died {MOST_DEATHS} times or more while it ran."
        self._write([Answer(lease.id, Result({}, FAILED, text))], [lease])
