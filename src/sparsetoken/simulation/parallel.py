"""Trials, here or in an executor."""

from __future__ import annotations

import collections
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Executor, Future, wait
from typing import TypeVar

from sparsetoken.validation import InvalidInput

Result = TypeVar("Result")
MOST_DEATHS = 3


class WorkersDied(RuntimeError):
    """Trials whose worker processes died again and again, or an executor that is broken."""


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
