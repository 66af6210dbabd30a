"""The trajectory of joint gradient descent on all weights in high dimension."""

from __future__ import annotations

import dataclasses
import functools
import math
import os
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from sparsetoken.base.validation import integer, real
from sparsetoken.model.base import Problem
from sparsetoken.model.course import Course, WithPrevious
from sparsetoken.model.descent import Descent
from sparsetoken.model.one_pass import OnePass, require_descent
from sparsetoken.model.values import broadcast
from sparsetoken.numerics.threads import one_thread
from sparsetoken.results import NetworkPath, Status, StatusCode, Trajectory, Weights
from sparsetoken.results.outcomes import cosines_of, norms_of
from sparsetoken.results.record import stacked
from sparsetoken.theory.dynamics.follow import FollowedDescent, follow
from sparsetoken.theory.dynamics.one_pass import follow_pass, pass_of
from sparsetoken.theory.dynamics.outcomes import NetworkOutcome
from sparsetoken.theory.dynamics.plan import plan_of
from sparsetoken.theory.dynamics.replica import States
from sparsetoken.work import map_points

TOLERANCE = 1e-3
"""Of twice the error of the test error."""


@one_thread()
def descend(
    problem: Problem,
    descent: Descent | OnePass = Descent(),
    *,
    tolerance: float = TOLERANCE,
    replicas: int | None = None,
    workers: int = 1,
    keep: str | os.PathLike[str] | None = None,
    progress: bool = True,
) -> Trajectory:
    """Return the trajectory of joint gradient descent on all weights, as n, d -> infinity.

    It is that of descent on one data set, or of one pass over fresh bags.
    The samples of a descent are followed in independent replicas, of up to 4096 samples each;
    replicas are added until twice the error of the test error is allowed at every step.
    The limit is that of many directions. Where few of them carry the covariance of a
    `TokenCovariance`, a trajectory at its dimension may differ from the limit and vary between data
    sets: a note says so, and `sparsetoken.simulation.descend` follows the descent there.
    Fields of the problem and of the descent may hold arrays, which broadcast against one another.
    All descents draw the same samples, so that the differences between them are known better
    than each.

    Parameters
    ----------
    problem : SparseTokenProblem, ConceptProblem or Task
        Covariances within and between bags must commute. More than 16 different eigenvalues are
        gathered into 16. That is not part of the numerical error: test errors on power laws moved
        by 0.0005 to 0.003, near a divergence by more.
    descent : Descent or OnePass
        One pass takes isotropic tokens.
    tolerance : float
        In (0, 1). Of test errors, and a hundredth of their relative errors, as of `predict`.
    replicas : int, optional
        So many replicas, at least 2, whatever the tolerance, which still decides the status. Those
        of one pass are solutions of its equations on different bags.
    workers : int >= 1
        Processes that follow descents, or the replicas of a single one. In a
        `joblib.parallel_config`, 1 leaves the choice to it.
    keep : path, optional
        A folder that keeps the result of each point as it ends, and from which the same call takes
        what earlier runs have kept. Functions and classes of your own need a version.
    progress : bool
        Whether a call of more than two seconds shows its progress on a terminal or in a notebook.

    Returns
    -------
    Trajectory
        The start and each step, or the times of one pass, along the last dimension. Its status is
        NO_LIMIT if the weights grow beyond 1e6 (in one pass the squares of norms) or are no numbers
        any more: the steps before that are kept. It is MAX_ITERATIONS where the equations of one
        pass are stiff, as at large rates. Where
        replicas differ too much, or a covariance of projections is not positive, the trajectory is
        cut with the status TOLERANCE_NOT_REACHED. The training loss of a built-in loss is at
        least 0. The notes of a trajectory say where small overlaps of the start would change it:
        the limit keeps symmetries that are broken at every finite dimension. Errors do
        not include that of a trained start, which may be larger in the first steps; where that did
        not converge, the trajectory has its status, unless it starts before a divergence.

    Raises
    ------
    InvalidInput
        If a value is outside its range, arrays do not broadcast, or the steps need more memory
        than 256 MiB for each replica (before anything is allocated).

    See Also
    --------
    sparsetoken.simulation.descend : The same at finite dimension.
    predict : Test error, training loss and AUC in the limit.

    Examples
    --------
    >>> import sparsetoken as st
    >>> from sparsetoken.theory import descend
    >>> problem = st.SparseTokenProblem(length=10, informative=1, strength=5.0)
    >>> descent = st.Descent(alpha=3.0, steps=4, rates={"q": 4.0, "w": 1.0})
    >>> trajectory = descend(problem, descent, tolerance=0.05)
    >>> bool(trajectory.test_error[-1] < trajectory.test_error[0])
    True

    Gated attention:

    >>> gated = st.Descent(st.networks.Gated(hidden=2), alpha=2.0, steps=4)
    >>> trajectory = descend(problem, gated, tolerance=0.05)
    >>> trajectory.weights.names
    ('v1', 'v2', 'g1', 'g2', 'w')
    """
    real("tolerance", tolerance, 0.0, 1.0, open_low=True, open_high=True)
    count = None if replicas is None else integer("replicas", replicas, 2)
    require_descent(descent)
    grid = broadcast(problem, descent)
    for point in grid.points:
        # A point that cannot be followed is refused before any is.
        (pass_of if isinstance(descent, OnePass) else plan_of)(*point)
    one = len(grid.points) == 1
    rows = map_points(
        functools.partial(
            _trajectories, tolerance=tolerance, count=count, workers=workers if one else 1
        ),
        grid.points,
        call=["descend", tolerance, count],
        workers=workers,
        keep=keep,
        what="trajectories",
        progress=progress,
    )
    points = zip(rows, grid.points, strict=True)
    return stacked([dataclasses.replace(row, origin=point) for row, point in points], grid)


def _trajectories(
    points: Sequence[tuple[Problem, Any]], tolerance: float, count: int | None, workers: int
) -> list[Trajectory]:
    """Return the trajectory of each descent, or of each pass."""
    ways = [follow_pass if isinstance(trained, OnePass) else follow for _, trained in points]
    each = zip(ways, points, strict=True)
    followed = ((way(*point, tolerance, count, workers), point[1].start) for way, point in each)
    return [_trajectory_of(trajectory, start) for trajectory, start in followed]


def _trajectory_of(trajectory: FollowedDescent, start: Any) -> Trajectory:
    """Return the trajectory of a network, which is known no better than its start."""
    loss, loss_error = trajectory.training_loss
    own = _path(trajectory, trajectory.outcome, loss, lambda of: of(trajectory.states))
    return Trajectory.of(
        own,
        errors=_path(trajectory, trajectory.outcome_error, loss_error, trajectory.error),
        numerical_error=float(trajectory.outcome_error.test_error.max()),
        replicas=trajectory.replicas,
        status=_after(start, trajectory.status),
        notes=trajectory.notes,
    )


def _after(start: Any, status: Status) -> Status:
    """Return the status of a trajectory from a start; what precedes a divergence is right."""
    if not isinstance(start, Course) or not status.converged:
        return status
    stiff = isinstance(start.trained, OnePass) and start.status == StatusCode.MAX_ITERATIONS
    if stiff or start.status in (StatusCode.CONVERGED, StatusCode.NO_LIMIT):
        return status
    remedy = "Its errors are not in those stated; see the status of the training before."
    return Status(start.status, f"The start is {start.status!r}. {remedy}")


def _to_all_steps(trajectory: FollowedDescent, values: np.ndarray) -> np.ndarray:
    """Return values of all steps or times, nan after a divergence."""
    missing = len(trajectory.training.along[1]) - len(values)
    widths = [(0, missing), *[(0, 0)] * (values.ndim - 1)]
    return np.pad(values, widths, constant_values=math.nan)


def _path(
    trajectory: FollowedDescent,
    outcome: NetworkOutcome,
    loss: np.ndarray,
    of: Callable[[Callable[[States], np.ndarray]], np.ndarray],
) -> NetworkPath:
    """Return the outcome of the weights, and what `of` makes of all other quantities."""

    def put(quantity: Callable[[States], np.ndarray]) -> np.ndarray:
        return _to_all_steps(trajectory, of(quantity))

    training = trajectory.training
    name, along = training.along
    shape: dict[str, Any] = {"dims": (name,), "coords": {name: along}}
    task = training.task.task if isinstance(training.task, WithPrevious) else training.task
    own = slice(len(task.directions))
    weights = Weights(
        put(lambda states: states.overlaps[..., own]),
        put(lambda states: cosines_of(states.overlaps[..., own], states.gram)),
        put(lambda states: norms_of(states.gram)),
        put(lambda states: states.gram),
        put(lambda states: states.c),
        training.columns,
        training.weights,
        task.directions,
        **shape,
    )
    test_error, attended, before, loss = (_to_all_steps(trajectory, x) for x in (*outcome, loss))
    previous = None if training.previous is None else before
    return NetworkPath(test_error, loss, attended, weights, previous_task_error=previous, **shape)
