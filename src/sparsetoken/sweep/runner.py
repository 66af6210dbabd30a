"""Run what is left of a plan: batches to an executor, answers to the store."""

from __future__ import annotations

import collections
import statistics
import time
from collections.abc import Callable, Sequence
from concurrent.futures import (
    FIRST_COMPLETED,
    BrokenExecutor,
    CancelledError,
    Executor,
    Future,
    wait,
)
from typing import Any

from sparsetoken.sweep.batch import Report, package_version, run_batch
from sparsetoken.sweep.plan import Plan
from sparsetoken.sweep.processes import WorkerDied
from sparsetoken.sweep.records import FAILED, Answer, Claim, Counts, RunStopped
from sparsetoken.sweep.store import Store
from sparsetoken.sweep.threads import one_thread_here

__all__ = ["MOST_DEATHS", "InProcess", "run"]

MOST_DEATHS = 3
BATCH_SECONDS = 0.25
LARGEST_BATCH = 500
GROWTH = 4
IDLE_DEATHS = 5
POLL_SECONDS = 0.5


class InProcess(Executor):
    """Runs each call at once, in this thread, with one BLAS thread while it runs."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future:
        """Return the finished call."""
        future: Future = Future()
        future.set_running_or_notify_cancel()
        try:
            with one_thread_here():
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
    on_rows: Callable[[Sequence[Claim]], None] = lambda _: None,
) -> Counts:
    """Run the rows of a plan that the store lacks; return what became of all.

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
        Called with the number of rows written down before the first runs.
    on_counts : callable
        Called with what became of the rows so far.
    on_rows : callable
        Called with the rows of each batch that this process has written down.

    Raises
    ------
    StoreError
        If the store cannot be written, or another version runs on it.
    RunStopped
        If the executor breaks.
    """
    store.begin(package_version())
    sweep = store.add_sweep(plan.text, plan.rows(), plan.shape, on_registered)
    if retry_failed:
        store.retry_failed(sweep)
    return _Run(store, plan, sweep, executor or InProcess(), workers, on_counts, on_rows).all()


class _Run:
    """The state of one run: what is in flight, how long rows take, who died."""

    def __init__(
        self,
        store: Store,
        plan: Plan,
        sweep: int,
        executor: Executor,
        workers: int,
        on_counts: Callable[[Counts], None],
        on_rows: Callable[[Sequence[Claim]], None],
    ) -> None:
        self.store, self.plan, self.sweep = store, plan, sweep
        self.executor, self.workers = executor, workers
        self.on_counts, self.on_rows = on_counts, on_rows
        self.flying: dict[Future, list[Claim]] = {}
        self.again: collections.deque[list[Claim]] = collections.deque()
        self.seconds: dict[int, float] = {}
        self.sizes: dict[int, int] = {}
        self.after = 0
        self.shape = 0
        self.idle_deaths = 0
        self.counts = store.counts(sweep)

    def all(self) -> Counts:
        """Run until no row is left, here or in another process."""
        self.on_counts(self.counts)
        try:
            while self._fill() or self._others():
                if self.flying:
                    done, _ = wait(self.flying, return_when=FIRST_COMPLETED)
                    for future in done:
                        self._take(future, self.flying.pop(future))
                    self.on_counts(self.counts)
        except BaseException:
            for future in self.flying:
                future.cancel()
            raise
        return self.store.counts(self.sweep)

    def _fill(self) -> bool:
        """Keep two batches for each worker in flight; return whether any is."""
        while len(self.flying) < 2 * self.workers:
            batch = self.again.popleft() if self.again else self._claim()
            if not batch:
                break
            calls = [(claim.id, self.plan.call(claim.configuration)) for claim in batch]
            try:
                future = self.executor.submit(run_batch, calls)
            except (BrokenExecutor, RuntimeError) as error:
                raise RunStopped(f"The executor takes no more work: {error}.") from error
            self.flying[future] = batch
            if future.done():  # as in this process: write it down before the next
                break
        return bool(self.flying)

    def _claim(self) -> list[Claim]:
        """Claim a batch of the size that suits the last shape."""
        batch = self.store.claim(self.sweep, self.after, self._size(self.shape))
        if not batch:
            if self.after:
                self.after = 0  # rows given back lie before
                batch = self.store.claim(self.sweep, 0, self._size(self.shape))
            if not batch:
                return []
        self.after, shape = batch[-1].id, batch[0].shape
        most = self._size(shape)
        self.shape = shape
        if len(batch) > most:
            self.store.give_back(claim.id for claim in batch[most:])
            self.after = batch[most - 1].id
        return batch[:most]

    def _size(self, shape: int) -> int:
        """Return rows that fill a quarter of a second; an unknown shape starts with one."""
        if shape not in self.seconds:
            return 1
        fitting = int(BATCH_SECONDS / max(self.seconds[shape], 1e-9))
        return max(1, min(fitting, GROWTH * self.sizes[shape], LARGEST_BATCH))

    def _others(self) -> bool:
        """Wait for rows of other processes; return whether any are left."""
        self.store.free_dead()
        if self.counts.left == 0:
            self.counts = self.store.counts(self.sweep)
            return self.counts.left > 0
        time.sleep(POLL_SECONDS)
        self.counts = self.store.counts(self.sweep)
        self.on_counts(self.counts)
        return self.counts.left > 0

    def _take(self, future: Future, batch: list[Claim]) -> None:
        error = CancelledError("cancelled") if future.cancelled() else future.exception()
        if error is None:
            self._keep(future.result(), batch)
        elif isinstance(error, WorkerDied):
            self._bury(error.row, batch)
        elif type(error).__name__ == "KilledWorker":  # of dask, after deaths of its own count
            self._bury_all(batch)
        else:
            text = " ".join(f"{type(error).__name__}: {error}".split())
            raise RunStopped(f"The executor lost a batch: {text}.") from error

    def _keep(self, report: Report, batch: Sequence[Claim]) -> None:
        self.store.finish(report.answers, report.facts)
        self.idle_deaths = 0
        shape = batch[0].shape
        self.seconds[shape] = statistics.median(answer.seconds for answer in report.answers)
        self.sizes[shape] = max(len(batch), self.sizes.get(shape, 1))
        self._count(report.answers)
        self.on_rows(batch)

    def _count(self, answers: Sequence[Answer]) -> None:
        done, failed, left, unconverged = self.counts
        lost = sum(answer.status == FAILED for answer in answers)
        open_ = sum(answer.status not in (FAILED, "converged") for answer in answers)
        found = len(answers) - lost
        self.counts = Counts(
            done + found, failed + lost, max(0, left - len(answers)), unconverged + open_
        )

    def _bury(self, row: int | None, batch: list[Claim]) -> None:
        """Count the death on its row; that row runs alone, the others as before."""
        at_fault = [claim for claim in batch if claim.id == row]
        if not at_fault:
            self.again.append(batch)
            self._bear(row)
            return
        rest = [claim for claim in batch if claim.id != row]
        if rest:
            self.again.append(rest)
        if self.store.count_death(at_fault[0].id) < MOST_DEATHS:
            self.again.append(at_fault)
        else:
            self._give_up(at_fault[0])

    def _bear(self, row: int | None) -> None:
        """Stop if workers die before they begin anything."""
        self.idle_deaths += row == -1
        if self.idle_deaths >= IDLE_DEATHS:
            raise RunStopped("Worker processes die before they begin. Is memory short?")

    def _bury_all(self, batch: list[Claim]) -> None:
        """Run the rows one by one; one alone is to blame."""
        if len(batch) == 1:
            self._give_up(batch[0])
        else:
            self.again.extend([claim] for claim in batch)

    def _give_up(self, claim: Claim) -> None:
        text = f"Its worker died {MOST_DEATHS} times or more while it ran."
        answer = Answer(claim.id, FAILED, {}, text)
        self.store.finish([answer])
        self._count([answer])
        self.on_rows([claim])
