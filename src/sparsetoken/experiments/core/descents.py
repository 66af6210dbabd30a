"""Descents on all weights, as several experiments follow them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from sparsetoken import simulation
from sparsetoken.concepts import Task
from sparsetoken.descents import Descent
from sparsetoken.experiments.core.rows import CONVERGED, REDUCED, THEORY, Row, averaged
from sparsetoken.models import Attention
from sparsetoken.results import Course, StatusCode, Trajectory


def follow_trials(
    problem: Task,
    model: Descent | Attention,
    at: Iterable[int],
    *,
    dimension: int,
    trials: int,
    seed: int,
    engine: str = REDUCED,
) -> Callable[..., Row]:
    """Follow a descent in all trials; return what gives the means over them.

    It is called as mean(quantity, step, **coordinates), or as mean(quantity, step, other,
    **coordinates) for the quantity after the step less that after the other, trial by trial. The
    test error is known at the steps `at`.
    """
    sizes: dict[str, Any] = {"dimension": dimension, "engine": engine}
    options = {**sizes, "trials": trials, "seed": seed, "at": list(at)}
    found: Any = simulation.descend(problem, model, **options)  # type: ignore[arg-type]
    sizes["status"] = str(found.status.code)

    def mean(quantity: str, step: int, other: int | None = None, /, **at: Any) -> Row:
        courses = getattr(found.trials, quantity)
        less = 0.0 if other is None else courses[:, other]
        return averaged(courses[:, step] - less, quantity, **sizes, **at)

    return mean


def course_row(course: Trajectory | Course, quantity: str, step: int, /, **at: Any) -> Row:
    """Return the row of a quantity after one step of a predicted course; `at`: its coordinates.

    Its error is part of the comparison, so that only divergence is a failure.
    """
    value, error = (float(getattr(one, quantity)[step]) for one in (course, course.errors))
    diverged = course.status.code is StatusCode.NO_LIMIT
    status = str(StatusCode.NO_LIMIT) if diverged else CONVERGED
    return Row(THEORY, quantity, value, error, at, status=status)
