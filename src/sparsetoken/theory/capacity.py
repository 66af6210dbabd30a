"""How many samples can be separated in feature space."""

from __future__ import annotations

import dataclasses
import math

import numpy as np

from sparsetoken.models import Attention, Model
from sparsetoken.problem import SparseTokenProblem
from sparsetoken.results import Capacity, Status, StatusCode, Table, over_arrays
from sparsetoken.stages import Query
from sparsetoken.theory.feature_law import FeatureLaw
from sparsetoken.theory.laws import feature_law
from sparsetoken.theory.query import advice_on, working_query
from sparsetoken.theory.routes import on_route
from sparsetoken.theory.separability.sampled_violation import sampled_violation
from sparsetoken.theory.separability.violation import Expansion, expansion, least_violation
from sparsetoken.validation import real

_FEW = 64  # nodes, to see whether a law is exact
_NOT_SOLVED = Status(StatusCode.MAX_ITERATIONS, "The minimum was not reached; change the query.")


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

    Returns
    -------
    Capacity or Table
        Use it only if ``status.converged``.

    Raises
    ------
    InvalidInput
        If a value is outside its range.

    Examples
    --------
    >>> import sparsetoken as st
    >>> problem = st.SparseTokenProblem(length=10, informative=1, strength=5.0)
    >>> round(st.capacity(problem, st.Pooled()).capacity, 3)
    2.95
    """
    real("tolerance", tolerance, 0.0, 1.0, open_low=True, open_high=True)
    return over_arrays(
        lambda points: [capacity_point(at, of, tolerance) for at, of in points], problem, model
    )


@np.errstate(under="ignore")
def capacity_point(problem: SparseTokenProblem, model: Model, tolerance: float = 1e-4) -> Capacity:
    """Return `capacity` at a single point.

    Examples
    --------
    >>> import sparsetoken as st
    >>> from sparsetoken.theory import capacity_point
    >>> problem = st.SparseTokenProblem(length=10, strength=0.0)
    >>> round(capacity_point(problem, st.Pooled(), 1e-2).capacity, 2)
    2.0
    """
    query = working_query(problem, model)
    found: Capacity = on_route(problem, "capacity")(problem, model, query, tolerance)
    return dataclasses.replace(found, advice=advice_on(problem, model, query))


def capacity_at(
    problem: SparseTokenProblem, model: Model, query: Query | None, tolerance: float
) -> Capacity:
    """Return `capacity` of the features of isotropic tokens at a query that is known."""
    law = feature_law(model, problem, query, _FEW)
    if law.vanishes:  # a share of both classes has the same feature
        return Capacity(0.0, 0.0, 0.0, 0, Status(StatusCode.CONVERGED))
    if law.exact or law.features is None:
        return _of_exact_law(law)
    found = sampled_violation(law.features, tolerance)
    alpha = 1 / found.value
    return Capacity(
        capacity=alpha,
        numerical_error=alpha * found.error,
        residual=found.residual,
        iterations=found.iterations,
        status=capacity_status(found.error, tolerance),
    )


def _of_exact_law(law: FeatureLaw) -> Capacity:
    solution = least_violation(law)
    mean = Expansion.of(expansion(solution.x, law)[0]).value
    status = Status(StatusCode.CONVERGED) if solution.converged else _NOT_SOLVED
    alpha = law.weights_per_dimension / mean
    return Capacity(alpha, 0.0, solution.residual, solution.iterations, status)


def capacity_status(error: float, tolerance: float) -> Status:
    """Return the status of a capacity of a relative standard error, inf where there is none."""
    if 2 * error <= tolerance:
        return Status(StatusCode.CONVERGED)
    if not math.isfinite(error):
        return _NOT_SOLVED
    return Status(
        StatusCode.TOLERANCE_NOT_REACHED,
        f"Twice the relative standard error is {2 * error:.2e}; "
        f"ask for a tolerance of {2.2 * error:.1e}.",
    )
