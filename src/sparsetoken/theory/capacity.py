"""The number of samples that are separable in feature space."""

from __future__ import annotations

import dataclasses
import math

import numpy as np

from sparsetoken.models import Attention, Model
from sparsetoken.numerics.threads import on_one_thread
from sparsetoken.problem import SparseTokenProblem
from sparsetoken.progress import Progress, progress_of
from sparsetoken.results import Capacity, Status, StatusCode
from sparsetoken.results.record import stacked
from sparsetoken.stages import Query
from sparsetoken.theory.feature_law import FeatureLaw
from sparsetoken.theory.laws import feature_law
from sparsetoken.theory.laws.hard import sharp_law
from sparsetoken.theory.query import advice_on, working_query
from sparsetoken.theory.routes import on_route
from sparsetoken.theory.separability.sampled_violation import sampled_violation
from sparsetoken.theory.separability.violation import LeastViolation, violation_of
from sparsetoken.validation import real
from sparsetoken.values import broadcast

_FEW = 64  # nodes, to see whether a law is exact
_NOT_SOLVED = Status(StatusCode.MAX_ITERATIONS, "The minimum was not reached; change the query.")


@on_one_thread
def capacity(
    problem: SparseTokenProblem,
    model: Model = Attention(),
    *,
    tolerance: float = 1e-4,
    progress: bool = True,
) -> Capacity:
    """Return the load n1/d below which D1 is linearly separable in feature space.

    Equation: capacity,
    ``1/alpha* = min over (w_1, w_2, b) of E[(sqrt(1 + w_2^2) g - y (mu + b)/C)_+^2]``,
    times L for ``vectorized``. The transition has width O(d^(-1/2)). Arrays in the fields of
    problem and model broadcast.

    Parameters
    ----------
    problem : SparseTokenProblem
    model : Model
        With its query, or the steps that find it.
    tolerance : float
        Relative error of the capacity that is acceptable, in (0, 1). That is the tolerance of
        `predict` for a number above 1.
    progress : bool
        Whether a call of more than two seconds shows its progress on a terminal or in a notebook.

    Returns
    -------
    Capacity
        Use it only if ``converged``.

    Raises
    ------
    InvalidInput
        If a value is outside its range.

    Examples
    --------
    >>> import sparsetoken as st
    >>> problem = st.SparseTokenProblem(length=10, informative=1, strength=5.0)
    >>> print(f"{st.capacity(problem, st.Pooled()).capacity:.2f}")
    2.95
    """
    real("tolerance", tolerance, 0.0, 1.0, open_low=True, open_high=True)
    grid = broadcast(problem, model)
    with progress_of("capacities", len(grid.points), progress) as done:
        rows = [_capacity(at, of, tolerance, done) for at, of in grid.points]
    return stacked(rows, grid)


@np.errstate(under="ignore")
def _capacity(
    problem: SparseTokenProblem, model: Model, tolerance: float, progress: Progress
) -> Capacity:
    query = working_query(problem, model)
    found: Capacity = on_route(problem, "capacity")(problem, model, query, tolerance)
    progress()
    return dataclasses.replace(found, notes=advice_on(problem, model, query))


def capacity_at(
    problem: SparseTokenProblem, model: Model, query: Query | None, tolerance: float
) -> Capacity:
    """Return `capacity` of the features of isotropic tokens with a known query."""
    law = feature_law(model, problem, query, _FEW)
    if law.vanishes:  # a share of both classes has the same feature
        return Capacity(0.0, 0.0, 0.0, 0, Status(StatusCode.CONVERGED))
    found = _least_violation(problem, model, query, law, tolerance)
    alpha = law.weights_per_dimension / found.value
    status = capacity_status(found.error, tolerance)
    return Capacity(alpha, alpha * found.error, found.residual, found.iterations, status)


def _least_violation(
    problem: SparseTokenProblem,
    model: Model,
    query: Query | None,
    law: FeatureLaw,
    tolerance: float,
) -> LeastViolation:
    if law.exact or law.features is None:
        return violation_of(law)
    # Beyond the second token the weights are of the order of 1/sharpness^2 on average, and what
    # they change in a squared violation is a share of the same size.
    if isinstance(model, Attention) and query is not None and query.sharpness**2 * tolerance > 1:
        found = violation_of(*sharp_law(problem, query))
        if 2 * found.error <= tolerance:
            return found
    return sampled_violation(law.features, tolerance)


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
