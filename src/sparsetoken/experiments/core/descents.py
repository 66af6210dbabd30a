"""Descents on all weights of the common problem, as several experiments follow them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from sparsetoken import simulation
from sparsetoken.experiments.core.references import PROBLEM
from sparsetoken.experiments.core.rows import REDUCED, THEORY, Row, averaged
from sparsetoken.models import Attention
from sparsetoken.results import Course, StatusCode, Trajectory
from sparsetoken.stages import JointDescent


def follow_trials(
    descent: JointDescent,
    at: Sequence[int],
    dimension: int,
    trials: int,
    seed: int,
    engine: str = REDUCED,
) -> Callable[..., Row]:
    """Follow a descent in all trials; return what gives the means over them.

    It is called as mean(quantity, step, **coordinates), or as mean(quantity, step, other,
    **coordinates) for the quantity after the step less that after the other, trial by trial.

    Parameters
    ----------
    descent : JointDescent
    at : sequence of int
        Steps at which the test error is known.
    dimension, trials, seed : int
    engine : str
        reduced, or tensors for real tokens.
    """
    found = simulation.descend(
        PROBLEM,
        Attention(descent),
        dimension=dimension,
        trials=trials,
        seed=seed,
        engine=engine,
        at=at,
    )
    status = str(found.status.code)

    def mean(quantity: str, step: int, other: int | None = None, /, **at: Any) -> Row:
        courses = getattr(found.trials, quantity)
        less = 0.0 if other is None else courses[:, other]
        values = courses[:, step] - less
        return averaged(values, quantity, dimension=dimension, engine=engine, status=status, **at)

    return mean


def course_row(course: Trajectory | Course, quantity: str, step: int, /, **at: Any) -> Row:
    """Return the row of a quantity after one step of a predicted course; `at`: its coordinates."""
    value, error = (float(getattr(one, quantity)[step]) for one in (course, course.errors))
    return Row(THEORY, quantity, value, error, at, status=course_status(course))


def course_status(course: Trajectory | Course) -> str:
    """Return the status of a predicted course whose errors are part of the comparison.

    Only divergence is a failure.
    """
    diverged = course.status.code is StatusCode.NO_LIMIT
    return str(StatusCode.NO_LIMIT if diverged else StatusCode.CONVERGED)
