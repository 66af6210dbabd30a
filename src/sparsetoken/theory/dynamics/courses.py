"""From descents in numbers to results."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from sparsetoken.results import Course, NetworkPath, Weights
from sparsetoken.results.outcomes import cosines_of, norms_of
from sparsetoken.results.record import fields_of
from sparsetoken.theory.dynamics.follow import Followed
from sparsetoken.theory.dynamics.outcomes import Worth
from sparsetoken.theory.dynamics.replica import States


def course_of(found: Followed) -> Course:
    """Return the course of a network."""
    loss, loss_error = found.training_loss
    own = _path(found, found.worth, loss, found.value)
    return Course(
        **fields_of(own),
        errors=_path(found, found.numerical, loss_error, found.error),
        **_ends(found),
        dims=own.dims,
        coords=own.coords,
    )


def _ends(found: Followed) -> dict[str, Any]:
    return {
        "numerical_error": float(found.numerical.test_error.max()),
        "replicas": found.replicas,
        "status": found.status,
        "notes": found.notes,
    }


def _to_all_steps(found: Followed, values: np.ndarray) -> np.ndarray:
    """Return values of all steps, nan after a divergence."""
    missing = found.plan.training.steps + 1 - len(values)
    widths = [(0, missing), *[(0, 0)] * (values.ndim - 1)]
    return np.pad(values, widths, constant_values=math.nan)


def _path(
    found: Followed,
    worth: Worth,
    loss: np.ndarray,
    of: Callable[[Callable[[States], np.ndarray]], np.ndarray],
) -> NetworkPath:
    """Return what the weights are worth, and what `of` makes of all other quantities."""

    def put(quantity: Callable[[States], np.ndarray]) -> np.ndarray:
        return _to_all_steps(found, of(quantity))

    training = found.plan.training
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
        **shape,
    )
    test_error, attended, loss = (_to_all_steps(found, x) for x in (*worth, loss))
    return NetworkPath(test_error, loss, attended, weights, **shape)
