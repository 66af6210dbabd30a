"""Trials of all points of a grid, here or in an executor."""

from __future__ import annotations

import collections
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Executor, Future, wait
from typing import Any, Protocol, TypeVar

from sparsetoken.progress import progress_of
from sparsetoken.results import Record, Simulation, Status
from sparsetoken.results.record import stacked
from sparsetoken.results.simulation import of_trials
from sparsetoken.validation import Failure, InvalidInput, integer
from sparsetoken.values import Grid

Result = TypeVar("Result")
Of = TypeVar("Of", bound=Record, covariant=True)
MOST_DEATHS = 3


class WorkersDied(Failure):
    """Trials whose worker processes died again and again, or an executor that is broken."""


class Plan(Protocol[Of]):
    """All that fixes the law of the trials at one point."""

    def run(self, trial: int) -> Any:
        """Run one trial; its seed is a function of the seed and its number."""

    def outcome(self, trial: Any) -> Of:
        """Return what is reported of a trial."""

    def status(self, trials: Sequence[Any]) -> Status:
        """Return whether the trials can be used."""


def simulated(
    plans: Sequence[Plan[Of]],
    grid: Grid,
    trials: int,
    *,
    executor: Executor | None = None,
    on_trial: Callable[[int, Of], None] | None = None,
    progress: bool = True,
) -> Simulation[Of]:
    """Run the trials of all points.

    Parameters
    ----------
    plans : sequence of Plan
        One for each point of the grid.
    grid : Grid
    trials : int
        Of each point.
    executor, on_trial, progress
        As of `simulate`.
    """
    trials = integer("trials", trials, 1)
    rows = []
    with progress_of("trials", trials * len(plans), progress) as done:
        for plan in plans:

            def report(number: int, trial: Any, plan: Plan[Of] = plan) -> None:
                done()
                if on_trial is not None:
                    on_trial(number, plan.outcome(trial))

            found = run_all(plan.run, trials, executor, report)
            rows.append(of_trials([plan.outcome(trial) for trial in found], plan.status(found)))
    return stacked(rows, grid)


def run_all(
    run: Callable[[int], Result],
    trials: int,
    executor: Executor | None,
    report: Callable[[int, Result], None],
) -> list[Result]:
    """Return [run(0), run(1), ...]; call ``report(number, result)`` as each ends.

    A trial whose worker process died runs again, as long as the executor takes it. On an error
    or an interrupt the trials that have not begun are cancelled.

    Raises
    ------
    InvalidInput
        If the executor is none.
    WorkersDied
        If the worker of a trial died three times, or the executor takes no more trials.
    """
    if executor is None:
        return [_reported(i, run(i), report) for i in range(trials)]
    if not isinstance(executor, Executor):
        remedy = "Write ThreadPoolExecutor(2), for example, or client.get_executor() of Dask."
        raise InvalidInput("executor", "a concurrent.futures.Executor", executor, remedy)
    results: dict[int, Result] = {}
    deaths: collections.Counter[int] = collections.Counter()
    futures = {_submitted(executor, run, i): i for i in range(trials)}
    try:
        while futures:
            done, _ = wait(futures, return_when=FIRST_COMPLETED)
            for future in done:
                number = futures.pop(future)
                try:
                    results[number] = _reported(number, future.result(), report)
                except BrokenExecutor as error:
                    # A worker that died at an earlier call says nothing against this trial.
                    deaths[number] += getattr(error, "row", 0) is not None
                    if deaths[number] >= MOST_DEATHS:
                        raise WorkersDied(_text(number)) from error
                    futures[_submitted(executor, run, number)] = number
    finally:
        for future in futures:
            future.cancel()
    return [results[number] for number in range(trials)]


def _submitted(executor: Executor, run: Callable[[int], Result], number: int) -> Future[Result]:
    try:
        return executor.submit(run, number)
    except BrokenExecutor as error:
        raise WorkersDied(f"The executor takes no more trials: {error}") from error


def _text(number: int) -> str:
    return (
        f"The worker process of trial {number} died {MOST_DEATHS} times. Is memory short? "
        "Fewer workers or a smaller dimension need less."
    )


def _reported(number: int, result: Result, report: Callable[[int, Result], None]) -> Result:
    report(number, result)
    return result
