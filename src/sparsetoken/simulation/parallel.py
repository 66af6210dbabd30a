"""Trials of all points of a grid, here or in an executor."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Executor
from typing import Generic, TypeVar

from sparsetoken.base.progress import progress_of
from sparsetoken.base.validation import Failure, integer
from sparsetoken.model.values import Broadcast
from sparsetoken.results import CONVERGED, Record, Simulation, Status, StatusCode
from sparsetoken.results.record import stacked
from sparsetoken.results.simulation import of_trials
from sparsetoken.work import RunStopped, WorkerDied, completed, require_executor

Result = TypeVar("Result")
Of = TypeVar("Of", bound=Record)


class WorkersDied(Failure):
    """Trials whose worker processes died repeatedly, or a broken executor."""


@dataclasses.dataclass(frozen=True)
class Trial(Generic[Of]):
    """The outcome of one trial, and whether it can be used."""

    outcome: Of
    status: Status = CONVERGED


def simulated(
    runs: Sequence[Callable[[int], Trial[Of]]],
    grid: Broadcast,
    trials: int,
    *,
    executor: Executor | None = None,
    on_trial: Callable[[int, Of], None] | None = None,
    progress: bool = True,
) -> Simulation[Of]:
    """Run the trials of all points of a grid, each by a function of the number of the trial.

    The rest is as of `simulate`.
    """
    trials = integer("trials", trials, 1)
    rows = []
    with progress_of("trials", trials * len(runs), progress) as done:
        for run in runs:

            def report(number: int, trial: Trial[Of]) -> None:
                done()
                if on_trial is not None:
                    on_trial(number, trial.outcome)

            ran = run_all(run, trials, executor, report)
            status = _status([trial.status for trial in ran])
            rows.append(of_trials([trial.outcome for trial in ran], status))
    return stacked(rows, grid)


def _status(trials: Sequence[Status]) -> Status:
    """Return the worst status of the trials, with the number of the first one that has it."""
    order = list(StatusCode)
    worst = max(trials, key=lambda status: order.index(status.code))
    if worst.converged:
        return worst
    numbers = [number for number, status in enumerate(trials) if status == worst]
    return Status(
        worst, f"{len(numbers)} of {len(trials)} trials, first {numbers[0]}: {worst.remedy}"
    )


def run_all(
    run: Callable[[int], Result],
    trials: int,
    executor: Executor | None,
    report: Callable[[int, Result], None],
) -> list[Result]:
    """Return [run(0), run(1), ...]; call ``report(number, result)`` as each ends.

    If a worker process dies, the trials in flight run again. On an error or an interrupt the
    trials that have not begun are cancelled.

    Raises
    ------
    InvalidInput
        If the executor is none.
    WorkersDied
        If the worker of a trial died three times, or the executor takes no more trials.
    """
    ended: Iterable[tuple[int, Result | WorkerDied]] = ((i, run(i)) for i in range(trials))
    if executor is not None:
        width = getattr(require_executor(executor), "_max_workers", trials)  # dask queues itself
        ended = completed(run, range(trials), executor, width)
    results: dict[int, Result] = {}
    try:
        for number, result in ended:
            if isinstance(result, WorkerDied):
                remedy = "Fewer workers or a smaller dimension need less."
                raise WorkersDied(f"Trial {number} has no result. {result} {remedy}")
            report(number, result)
            results[number] = result
    except RunStopped as error:
        raise WorkersDied(*error.args) from error  # no trial is kept: the next run begins anew
    return [results[number] for number in range(trials)]
