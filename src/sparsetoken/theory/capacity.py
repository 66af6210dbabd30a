"""How many samples can be separated in feature space."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.stats import norm

from sparsetoken.models import Attention, Model
from sparsetoken.numerics.newton import NewtonResult, damped_newton, follow
from sparsetoken.numerics.x64 import with_x64
from sparsetoken.problem import SparseTokenProblem
from sparsetoken.results import Capacity, Status, StatusCode, Table, over_arrays
from sparsetoken.stages import Query
from sparsetoken.theory.feature_law import FeatureLaw
from sparsetoken.theory.laws import feature_law
from sparsetoken.theory.query import advice_on, working_query
from sparsetoken.validation import real

__all__ = ["capacity", "capacity_at", "capacity_point"]

FIRST_POINTS, LAST_POINTS = 512, 2**15


@with_x64
def capacity(
    problem: SparseTokenProblem, model: Model = Attention(), *, tolerance: float = 1e-4
) -> Capacity | Table[Capacity]:
    """Return the load n1/d below which D1 is linearly separable in feature space.

    Equation: capacity,
    ``1/alpha* = min over (w_1, w_2, b) of E[(sqrt(1 + w_2^2) g - y (mu + b)/C)_+^2]``,
    times L for ``vectorized``. The transition has width O(d^(-1/2)). Arrays in the fields of
    problem and model broadcast, and a table comes back.

    Parameters
    ----------
    problem : SparseTokenProblem
    model : Model
        With its query, or the steps that find it.
    tolerance : float
        Relative error of the capacity that is acceptable, in (0, 1).

    Raises
    ------
    InvalidInput
        If a value is outside its range.
    """
    real("tolerance", tolerance, 0.0, 1.0, open_low=True, open_high=True)

    return over_arrays(
        lambda points: [capacity_point(at, of, tolerance) for at, of in points], problem, model
    )


@with_x64
def capacity_point(
    problem: SparseTokenProblem, model: Model, tolerance: float = 1e-4
) -> Capacity:
    """Return `capacity` at a single point."""
    query = working_query(problem, model)
    found = capacity_at(problem, model, query, tolerance)
    return dataclasses.replace(found, advice=advice_on(problem, model, query))


def capacity_at(
    problem: SparseTokenProblem, model: Model, query: Query | None, tolerance: float
) -> Capacity:
    """Return `capacity` at a single point and a query that is known."""
    points, iterations, x = FIRST_POINTS, 0, np.zeros(3)
    while True:
        law = feature_law(model, problem, query, points)
        if law.vanishes:
            return _not_separable()
        solution = _minimum(law, x)
        iterations += solution.iterations
        x = solution.x
        loads = np.array(_violation(x, *_nodes(law)))
        mean = loads.mean()
        spread = 0.0 if law.exact else np.std(loads, ddof=1) / math.sqrt(len(loads)) / mean
        done = not solution.converged or 2 * spread <= tolerance
        if done or points >= LAST_POINTS:
            break
        points *= 4
    alpha = law.weights_per_dimension / float(mean)
    return Capacity(
        capacity=alpha,
        numerical_error=alpha * float(spread),
        residual=solution.residual,
        iterations=iterations,
        status=_status(solution.converged, float(spread), tolerance),
    )


def _status(converged: bool, spread: float, tolerance: float) -> Status:
    if not converged:
        return Status(StatusCode.MAX_ITERATIONS, "The minimum was not reached; change the query.")
    if 2 * spread <= tolerance:
        return Status(StatusCode.CONVERGED)
    return Status(
        StatusCode.TOLERANCE_NOT_REACHED,
        f"Twice the relative standard error is {2 * spread:.2e}; "
        f"ask for a tolerance of {2.2 * spread:.1e}.",
    )


def _not_separable() -> Capacity:
    """Return capacity 0: a share of both classes has the same feature, 0.

    So it is with relu at every L, since all projections are negative at times, and with
    tanh at sharpness 0.
    """
    return Capacity(0.0, 0.0, 0.0, 0, Status(StatusCode.CONVERGED))


def _nodes(law: FeatureLaw) -> tuple[Any, ...]:
    columns = (law.along, law.across, law.C, law.y, law.weight)
    return (*(jnp.asarray(c) for c in columns), law.shared)


@jax.jit
def _violation(x: Any, X1: Any, X2: Any, C: Any, y: Any, weight: Any, shared: Any) -> Any:
    """Return E[(M + T g)_+^2] for each scramble, the mean over g in closed form."""
    w1, w2, b = x
    M = -y * (w1 * X1 + w2 * X2 + b) / C
    T = jnp.sqrt(1 + w2**2 + shared * (w1 / C) ** 2)
    excess = (T**2 + M**2) * norm.cdf(M / T) + M * T * norm.pdf(M / T)
    return jnp.sum(weight * excess, axis=1)


@jax.jit
def _derivatives(x: Any, *nodes: Any) -> tuple[Any, Any]:
    def mean(at: Any) -> Any:
        return jnp.mean(_violation(at, *nodes))

    return jax.grad(mean)(x), jax.hessian(mean)(x)


def _minimum(law: FeatureLaw, x: np.ndarray) -> NewtonResult:
    """Minimise from x; if that fails, from 0 along a falling penalty (t/2) |x|^2."""
    nodes = _nodes(law)

    def newton(start: np.ndarray, t: float) -> NewtonResult:
        def system(at: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            gradient, hessian = jax.device_get(_derivatives(jnp.asarray(at), *nodes))
            # Without a query w_1 is free: any curvature keeps it at 0.
            curvature = max(t, 1e-14 * np.trace(hessian))
            return gradient + t * at, hessian + curvature * np.eye(3)

        with np.errstate(invalid="ignore"):  # a step too far is refused by its length
            return damped_newton(system, start)

    near = newton(x, 0.0)
    if near.converged:
        return near
    _, hessian = jax.device_get(_derivatives(jnp.zeros(3), *nodes))
    large = 10 * float(np.trace(hessian))
    first = newton(np.zeros(3), large)
    result, _ = follow(newton, first, large, 0.0, enough=1e-12 * large)
    return result
