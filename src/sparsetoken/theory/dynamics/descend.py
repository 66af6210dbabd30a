"""Gradient descent on all weights together: its course in high dimension."""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Iterator
from concurrent.futures import Executor
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from sparsetoken.models import Attention, Model, entry_of
from sparsetoken.numerics.x64 import with_x64
from sparsetoken.problem import SparseTokenProblem, require_problem
from sparsetoken.progress import Progress, progress_of
from sparsetoken.results import Status, StatusCode, Trajectory
from sparsetoken.results.outcomes import over_steps
from sparsetoken.results.record import fields_of, stacked
from sparsetoken.stages import JointDescent, Query
from sparsetoken.theory.dynamics.path import path_of, spreads_of
from sparsetoken.theory.dynamics.pooling import pooling_of
from sparsetoken.theory.dynamics.replica import Plan, moving, run_replica, start_of
from sparsetoken.theory.floor import floor_of
from sparsetoken.theory.readout.accuracy import allowed_error
from sparsetoken.tokens import isotropic_only
from sparsetoken.validation import InvalidInput, integer, real
from sparsetoken.values import broadcast

TOLERANCE = 1e-3
"""Of twice the standard error of the test error."""

FIRST_REPLICAS, MOST_REPLICAS = 8, 256
_GROUPS = 16  # of replicas, whose spread gives the standard errors
_SIZES = (1024, 512, 256)  # samples of each class in half a replica
_BYTES = 2**29  # of the projections that a replica keeps
_POINTS, _POINTS_OF_SLOPES = 2048, 128
_SAFETY = 1.2  # more replicas than the first ones ask for


@with_x64
def descend(
    problem: SparseTokenProblem,
    model: Model = Attention(JointDescent()),
    *,
    tolerance: float = TOLERANCE,
    replicas: int | None = None,
    executor: Executor | None = None,
    progress: bool = True,
) -> Trajectory:
    """Return the course of gradient descent on readout, query and bias, as n, d -> infinity.

    The samples are followed in independent replicas, 4096 samples in each; replicas are
    added until twice the standard error of the test error is allowed at every step.
    Fields of the problem and of the descent may hold arrays, which broadcast against one another.
    All descents draw the same samples, so that the differences between them are known better
    than each.

    Parameters
    ----------
    problem : SparseTokenProblem
        Its position law plays no part.
    model : Attention or Elementwise
        Its query is a `JointDescent`.
    tolerance : float
        In (0, 1). Of test errors, and a hundredth of their relative errors, as of `predict`.
    replicas : int, optional
        So many replicas, at least 2, whatever the tolerance.
    executor : concurrent.futures.Executor, optional
        Runs the replicas, in threads or processes; by default they run here. The result does
        not depend on it.
    progress : bool
        Whether a call of more than two seconds shows its progress on a terminal or in a notebook.

    Returns
    -------
    Trajectory
        The start and each step, along the last dimension. Its status is NO_LIMIT if the
        weights grow beyond 1e6 or are no numbers any more: the steps before that are kept.

    Raises
    ------
    InvalidInput
        If a value is outside its range, arrays do not broadcast, the model cannot be trained by
        descent, or the steps need more memory than 512 MiB for each replica (before anything is
        allocated).

    Examples
    --------
    >>> import sparsetoken as st
    >>> from sparsetoken.theory import descend
    >>> problem = st.SparseTokenProblem(length=10, informative=1, strength=5.0)
    >>> model = st.Attention(st.JointDescent(alpha=3.0, steps=4))
    >>> course = descend(problem, model, tolerance=0.05)
    >>> bool(course.test_error[-1] < course.test_error[0])
    True
    """
    real("tolerance", tolerance, 0.0, 1.0, open_low=True, open_high=True)
    asked = _Asked(tolerance, None if replicas is None else integer("replicas", replicas, 2))
    grid = broadcast(problem, model)
    plans = [_plan(*point) for point in grid.points]
    expected = len(plans) * (asked.replicas or FIRST_REPLICAS)
    with progress_of("replicas", expected, progress) as done:
        run = _Replicas(executor, done)
        found = stacked([_followed(plan, asked, run) for plan in plans], grid)
    return dataclasses.replace(found, floor=floor_of(grid))


@with_x64
def test_errors(
    problem: SparseTokenProblem, model: Model, replicas: int
) -> Float[np.ndarray, " states"]:
    """Return the test errors of `descend` alone, without their errors; nan after a divergence."""
    plan = _plan(problem, model)
    table = _table([run_replica(plan, i) for i in range(replicas)])
    steps, beta = plan.descent.steps, plan.descent.beta
    found = path_of(problem, model, beta, table.mean(axis=0), _POINTS)[:, 0]
    return np.pad(found, (0, steps + 1 - len(found)), constant_values=math.nan)


def _table(courses: list[np.ndarray]) -> Float[np.ndarray, "replicas states 7"]:
    """Return the courses as far as all of them go."""
    states = min(len(course) for course in courses)
    return np.stack([course[:states] for course in courses])


class _Asked(NamedTuple):
    """How well a course should be known: a tolerance or, in its place, a number of replicas."""

    tolerance: float
    replicas: int | None


class _Replicas:
    """Runs replicas, and counts them."""

    def __init__(self, executor: Executor | None, progress: Progress) -> None:
        self._map = executor.map if executor is not None else map
        self.progress = progress

    def run(self, plan: Plan, numbers: range) -> Iterator[np.ndarray]:
        """Yield the courses of replicas."""
        for course in self._map(functools.partial(run_replica, plan), numbers):
            self.progress()
            yield course


def _followed(plan: Plan, asked: _Asked, replicas: _Replicas) -> Trajectory:
    """Return the course of a descent, from as many replicas as are asked for."""
    courses = list(replicas.run(plan, range(asked.replicas or FIRST_REPLICAS)))
    while True:
        found = _trajectory(plan, courses, asked.tolerance)
        more = _wanted(found, asked.tolerance) - len(courses)
        if asked.replicas is not None or more <= 0:
            return found
        replicas.progress.expect(more)
        courses += replicas.run(plan, range(len(courses), len(courses) + more))


@functools.lru_cache(maxsize=32)
def descended_query(problem: SparseTokenProblem, model: Model) -> Query:
    """Return the query that the descent of a model ends with.

    Raises
    ------
    InvalidInput
        If the descent diverges.
    """
    found = descend(problem, model, progress=False)
    if found.status.code is StatusCode.NO_LIMIT:
        raise InvalidInput("JointDescent", "a descent that does not diverge", model.query)
    return found.query()


def _plan(problem: SparseTokenProblem, model: Model) -> Plan:
    require_problem(problem)
    isotropic_only(problem.tokens, "Descent on all weights")
    entry_of(model)
    descent = model.query
    if not isinstance(descent, JointDescent):
        remedy = "Write st.Attention(st.JointDescent(...)), for example."
        raise InvalidInput("query of the model", "a JointDescent", descent, remedy)
    pooling_of(model, descent.beta)
    rows = 1 + len(start_of(descent)) + 2 * int(moving(descent).sum())
    for size in _SIZES:
        if 4 * size * problem.length * rows * 8 <= _BYTES:
            return Plan(problem, model, descent, size)
    rows_of_all = _BYTES // (4 * _SIZES[-1] * 8)
    most = rows_of_all // rows
    if most < 1:
        remedy = "Memory grows with the steps that move w or q; take fewer of them, or simulate."
        legal = f"at most {(rows_of_all // problem.length - 3) // 4} that move both weights"
        raise InvalidInput("steps of a descent", legal, descent.steps, remedy)
    raise InvalidInput(
        "length (L) of a descent",
        f"at most {most} with {descent.steps} steps",
        problem.length,
        "Memory grows as L times the steps that move w or q; take fewer steps, or simulate.",
    )


def _trajectory(plan: Plan, courses: list[np.ndarray], tolerance: float) -> Trajectory:
    problem, model, descent, _ = plan
    table = _table(courses)
    states = table.shape[1]
    parts = np.array_split(table, min(_GROUPS, len(table)))
    groups = np.stack([part.mean(axis=0) for part in parts])
    found = path_of(problem, model, descent.beta, table.mean(axis=0), _POINTS)
    spreads = spreads_of(problem, model, descent.beta, groups, _POINTS_OF_SLOPES)
    scale = 1 / math.sqrt(len(groups))
    numerical = scale * spreads[:, 0]
    missing = ((0, descent.steps + 1 - states), (0, 0))  # nan after a divergence
    path, errors = (
        over_steps(np.pad(one, missing, constant_values=math.nan))
        for one in (found, scale * spreads)
    )
    return Trajectory(
        **fields_of(path),
        errors=errors,
        numerical_error=float(numerical.max()),
        replicas=len(courses),
        status=_status(descent, states, found[:, 0], numerical, tolerance),
        dims=path.dims,
        coords=path.coords,
    )


def _status(
    descent: JointDescent,
    states: int,
    test_errors: np.ndarray,
    numerical: np.ndarray,
    tolerance: float,
) -> Status:
    if states <= descent.steps:
        what = f"The descent diverges at step {states}; the steps before it are kept."
        return Status(StatusCode.NO_LIMIT, f"{what} Lower eta_w, eta_q, eta_b or momentum.")
    excess = _excess(test_errors, numerical, tolerance)
    if excess <= 1:
        return Status(StatusCode.CONVERGED)
    reached = f"Twice the standard error is {2 * numerical.max():.2e}"
    needed = 1.1 * excess * tolerance
    remedy = f"{reached}; ask for a tolerance of {needed:.1e}." if needed < 1 else f"{reached}."
    return Status(StatusCode.TOLERANCE_NOT_REACHED, remedy)


def _excess(test_errors: np.ndarray, numerical: np.ndarray, tolerance: float) -> float:
    """Return how many times twice the standard error is above what is allowed, at worst."""
    allowed = [allowed_error(float(value), tolerance) for value in test_errors]
    return float(np.max(2 * numerical / np.maximum(allowed, 1e-300)))


def _wanted(found: Trajectory, tolerance: float) -> int:
    """Return how many replicas the tolerance needs."""
    if found.status.code is not StatusCode.TOLERANCE_NOT_REACHED:
        return found.replicas
    if found.replicas >= MOST_REPLICAS:
        return found.replicas
    errors = np.asarray(found.errors.test_error)
    ratio = _excess(np.asarray(found.test_error), errors, tolerance) ** 2
    return min(MOST_REPLICAS, _GROUPS * math.ceil(_SAFETY * ratio * found.replicas / _GROUPS))
