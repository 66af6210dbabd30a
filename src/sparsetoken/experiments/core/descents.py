"""Descents on all weights, as several experiments follow them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from sparsetoken import simulation
from sparsetoken.experiments.core.rows import CONVERGED, TENSORS, THEORY, Row, averaged
from sparsetoken.model.descent import Descent
from sparsetoken.model.task_law import Problem
from sparsetoken.results import Course, NetworkPath, StatusCode


def follow_trials(
    problem: Problem,
    descent: Descent,
    at: Iterable[int],
    *,
    dimension: int,
    trials: int,
    seed: int,
) -> Callable[..., Row]:
    """Follow a descent in all trials; return what gives the means over them.

    It is called as mean(quantity, step, **coordinates), or as mean(quantity, step, other,
    **coordinates) for the quantity after the step less that after the other, trial by trial. The
    test error is known at the steps `at`.
    """
    sizes: dict[str, Any] = {"dimension": dimension, "engine": TENSORS}
    options: dict[str, Any] = {
        "dimension": dimension,
        "trials": trials,
        "seed": seed,
        "at": list(at),
    }
    result = simulation.descend(problem, descent, **options)
    sizes["status"] = str(result.status.code)

    def mean(quantity: str, step: int, other: int | None = None, /, **at: Any) -> Row:
        courses = _values(result.trials, quantity)
        less = 0.0 if other is None else courses[:, other]
        return averaged((courses[:, step] - less).tolist(), quantity, **sizes, **at)

    return mean


def course_row(course: Course, quantity: str, step: int, /, **at: Any) -> Row:
    """Return the row of a quantity after one step of a predicted course; `at`: its coordinates.

    Its error is part of the comparison, so that only divergence is a failure.
    """
    value, error = (float(_values(one, quantity)[step]) for one in (course, course.errors))
    diverged = course.status.code is StatusCode.NO_LIMIT
    status = str(StatusCode.NO_LIMIT) if diverged else CONVERGED
    return Row(THEORY, quantity, value, error, at, status=status)


def _values(path: NetworkPath, quantity: str) -> np.ndarray:
    """Return a quantity over the steps; the cosine is that of the first column, the query."""
    if quantity == "cosine":
        return np.asarray(path.weights.cosines[..., 0, 0])
    return path.columns()[quantity]
