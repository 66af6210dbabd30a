"""From descents in numbers to results."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from sparsetoken.results import Course, NetworkPath, Trajectory, Weights
from sparsetoken.results.outcomes import over_steps
from sparsetoken.results.record import fields_of
from sparsetoken.theory.dynamics.follow import Followed
from sparsetoken.theory.dynamics.outcomes import Worth
from sparsetoken.theory.dynamics.replica import States

_Q, _W = 0, 1  # columns of attention with one query


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


def trajectory_of(found: Followed) -> Trajectory:
    """Return the course of attention, or of elementwise attention, with one query."""
    own, errors = (of(lambda states: _table(found, states)) for of in (found.value, found.error))
    own[:, 0], errors[:, 0] = found.worth.test_error, found.numerical.test_error
    own[:, 1], errors[:, 1] = found.training_loss
    path = over_steps(_to_all_steps(found, own))
    return Trajectory(
        **fields_of(path),
        errors=over_steps(_to_all_steps(found, errors)),
        **_ends(found),
        dims=path.dims,
        coords=path.coords,
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
        put(_norms),
        put(lambda states: states.gram),
        put(lambda states: states.c),
        training.columns,
        training.weights,
        **shape,
    )
    test_error, attended, loss = (_to_all_steps(found, x) for x in (*worth, loss))
    return NetworkPath(test_error, loss, attended, weights, **shape)


def _norms(states: States) -> np.ndarray:
    return np.sqrt(np.maximum(np.diagonal(states.gram, axis1=-2, axis2=-1), 0))


def _table(found: Followed, states: States) -> np.ndarray:
    """Return the quantities of a `DescentPath`, in their order, but test error and loss."""
    beta = found.plan.training.network.beta  # type: ignore[attr-defined]
    norm_q, norm_w = (_norms(states)[..., j] for j in (_Q, _W))
    overlap_q, overlap_w = (states.overlaps[..., j, 0] for j in (_Q, _W))
    cosine = np.divide(overlap_q, norm_q, out=np.zeros_like(norm_q), where=norm_q > 0)
    width = np.sqrt(np.maximum(states.within[..., _Q, _Q], 0))
    query = np.clip(cosine, -1, 1), beta * width
    rest = overlap_w, overlap_q, norm_w, norm_q, states.gram[..., _Q, _W], states.c[..., 0]
    return np.stack([np.zeros_like(norm_q), np.zeros_like(norm_q), *query, *rest], axis=-1)
