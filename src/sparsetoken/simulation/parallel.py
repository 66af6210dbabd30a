"""Trials, here or in an executor."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor, as_completed
from typing import TypeVar

__all__ = ["run_all"]

Result = TypeVar("Result")


def run_all(
    run: Callable[[int], Result],
    trials: int,
    executor: Executor | None,
    report: Callable[[int, Result], None],
) -> list[Result]:
    """Return [run(0), run(1), ...]; call ``report(number, result)`` as each ends.

    On an error or an interrupt the trials that have not begun are cancelled.
    """
    if executor is None:
        return [_reported(i, run(i), report) for i in range(trials)]
    futures = {executor.submit(run, i): i for i in range(trials)}
    try:
        for future in as_completed(futures):
            report(futures[future], future.result())
    finally:
        for future in futures:
            future.cancel()
    return [future.result() for future in futures]


def _reported(number: int, result: Result, report: Callable[[int, Result], None]) -> Result:
    report(number, result)
    return result
