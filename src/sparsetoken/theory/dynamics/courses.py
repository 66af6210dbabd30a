"""From descents in numbers to results."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from sparsetoken.results import Course, NetworkPath, Weights
from sparsetoken.results.outcomes import cosines_of, norms_of
from sparsetoken.results.record import fields_of
from sparsetoken.theory.dynamics.follow import Trajectory
from sparsetoken.theory.dynamics.outcomes import NetworkOutcome
from sparsetoken.theory.dynamics.replica import States


def course_of(trajectory: Trajectory) -> Course:
    """Return the course of a network."""
    loss, loss_error = trajectory.training_loss
    own = _path(trajectory, trajectory.outcome, loss, trajectory.value)
    return Course(
        **fields_of(own),
        errors=_path(trajectory, trajectory.numerical, loss_error, trajectory.error),
        **_ends(trajectory),
        dims=own.dims,
        coords=own.coords,
    )


def _ends(trajectory: Trajectory) -> dict[str, Any]:
    return {
        "numerical_error": float(trajectory.numerical.test_error.max()),
        "replicas": trajectory.replicas,
        "status": trajectory.status,
        "notes": trajectory.notes,
    }


def _to_all_steps(trajectory: Trajectory, values: np.ndarray) -> np.ndarray:
    """Return values of all steps, nan after a divergence."""
    missing = trajectory.plan.training.steps + 1 - len(values)
    widths = [(0, missing), *[(0, 0)] * (values.ndim - 1)]
    return np.pad(values, widths, constant_values=math.nan)


def _path(
    trajectory: Trajectory,
    outcome: NetworkOutcome,
    loss: np.ndarray,
    of: Callable[[Callable[[States], np.ndarray]], np.ndarray],
) -> NetworkPath:
    """Return the outcome of the weights, and what `of` makes of all other quantities."""

    def put(quantity: Callable[[States], np.ndarray]) -> np.ndarray:
        return _to_all_steps(trajectory, of(quantity))

    training = trajectory.plan.training
    steps = np.arange(training.steps + 1)
    shape: dict[str, Any] = {"dims": ("step",), "coords": {"step": steps}}
    weights = Weights(
        put(lambda states: states.overlaps),
        put(lambda states: cosines_of(states.overlaps, states.gram)),
        put(lambda states: norms_of(states.gram)),
        put(lambda states: states.gram),
        put(lambda states: states.c),
        training.columns,
        training.weights,
        training.law.directions,
        **shape,
    )
    test_error, attended, loss = (_to_all_steps(trajectory, x) for x in (*outcome, loss))
    return NetworkPath(test_error, loss, attended, weights, **shape)
