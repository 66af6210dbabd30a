"""A search for the parameters with the smallest test error."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy

from sparsetoken.base.progress import SILENT, Progress
from sparsetoken.results import CONVERGED, Status, StatusCode

_STEPS, _STEPS_OF_ONE = (1.0, 0.05), (0.5, 0.02)
"""The first and last steps of a search, by how many numbers it has; of several, each needs to be
known less well, since the test error is flat to second order."""
_ALWAYS_WRONG = 1.0  # the test error where none is known
_SCAN = 9  # starts in a range: there may be more than one valley
_MOST = 1000  # evaluations, far more than one number takes

Point = tuple[float, ...]
"""Logarithms of what is searched; of a share its logit."""


class Range(NamedTuple):
    """Where a number is searched, in logarithms, and what to do if its best value is an end."""

    name: str
    low: float
    high: float
    remedy: str

    def scan(self) -> list[Point]:
        """Return starts throughout the range."""
        return [(x,) for x in np.linspace(self.low, self.high, _SCAN).tolist()]


class Optimum(NamedTuple):
    """The best point of a search, its result, and how the search ended."""

    point: Point
    result: Any
    evaluations: int
    status: Status


def search_ended(evaluations: int, status: Status) -> str:
    """Return a line about the search in the table of its result."""
    return f"Search: {status} after {evaluations} evaluations. {status.remedy}".rstrip()


class _OutOfEvaluations(Exception):
    """The evaluations are used up."""


def search(
    evaluate: Callable[[Point], Any],
    ranges: Sequence[Range],
    starts: Sequence[Point],
    evaluations: int = _MOST,
    done: Progress = SILENT,
) -> Optimum:
    """Follow quadratic models of the test error from the best of some starts, by COBYQA.

    A result has a test error and a status. The ranges are widened to hold the starts, which are
    tried in any case. Evaluations are the most points that are tried.

    References
    ----------
    T. M. Ragonneau, Model-based derivative-free optimization methods and software, 2022.
    """
    tried: dict[Point, Any] = {}
    most = max(evaluations, len(starts))

    def error(at: Point | np.ndarray) -> float:
        point = tuple(float(x) for x in at)
        if point not in tried:
            if len(tried) >= most:
                raise _OutOfEvaluations
            tried[point] = evaluate(point)
            done()
        result = tried[point]
        return result.test_error if result.status.converged else _ALWAYS_WRONG

    held = [
        range_._replace(low=min(range_.low, *values), high=max(range_.high, *values))
        for range_, *values in zip(ranges, *starts, strict=True)
    ]
    bounds = [(range_.low, range_.high) for range_ in held]
    first, near = _STEPS if len(ranges) > 1 else _STEPS_OF_ONE
    sizes = {"initial_tr_radius": first, "final_tr_radius": near}
    finished = False
    with contextlib.suppress(_OutOfEvaluations):
        start = min(starts, key=error)
        scipy.optimize.minimize(error, start, method="COBYQA", bounds=bounds, options=sizes)
        finished = True
    point = min(tried, key=error)
    objections = list(_objections([result.status for result in tried.values()], held, point, near))
    if not finished:
        remedy = f"The search ran out of its {most} evaluations; allow more."
        objections.insert(0, Status(StatusCode.MAX_ITERATIONS, remedy))
    if not tried[point].status.converged:
        objections = [tried[point].status]
    status = CONVERGED
    if objections:
        status = Status(objections[0].code, " ".join(one.remedy for one in objections))
    return Optimum(point, tried[point], len(tried), status)


def _objections(
    statuses: Sequence[Status], ranges: Sequence[Range], point: Point, near: float
) -> Iterator[Status]:
    """Yield warnings about the best point: failures on the way, and ends of ranges."""
    known = (StatusCode.CONVERGED, StatusCode.NO_LIMIT)
    failed = [status for status in statuses if status.code not in known]
    if failed:
        yield Status(failed[0].code, f"{len(failed)} predictions failed: {failed[0].remedy}")
    for x, (name, low, high, remedy) in zip(point, ranges, strict=True):
        if min(x - low, high - x) <= near:
            what = f"The test error is smallest at the end of the range of {name}"
            yield Status(StatusCode.NO_LIMIT, f"{what}; {remedy}.")
