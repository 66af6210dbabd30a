"""How many samples can be separated in feature space."""

from __future__ import annotations

import math

from sparsetoken.problem import SparseTokenProblem
from sparsetoken.results import Capacity, Code, Status
from sparsetoken.theory.feature_law import FeatureLaw, feature_law
from sparsetoken.theory.inputs import checked_query
from sparsetoken.theory.sampled_violation import sampled_violation
from sparsetoken.theory.streamed_law import sampled_features
from sparsetoken.theory.violation import Expansion, expansion, least_violation
from sparsetoken.training import FourStageTraining, Query
from sparsetoken.validation import real

__all__ = ["capacity"]

_FEW = 64  # nodes, to see whether a law is exact
_NOT_SOLVED = Status(Code.MAX_ITERATIONS, "The minimum was not reached; change the query.")


def capacity(
    model: str,
    problem: SparseTokenProblem,
    training: FourStageTraining | None = None,
    *,
    query: Query | None = None,
    activation: str = "erf",
    tolerance: float = 1e-4,
) -> Capacity:
    """Return the load n1/d below which D1 is linearly separable in feature space.

    Equation: capacity,
    ``1/alpha* = min over (w_1, w_2, b) of E[(sqrt(1 + w_2^2) g - y (mu + b)/C)_+^2]``,
    times L for ``vectorized``. The transition has width O(d^(-1/2)).

    Parameters
    ----------
    model : {"attention", "pooled", "vectorized", "elementwise"}
    problem : SparseTokenProblem
    training : FourStageTraining, optional
        Gives the query if none is given; the default training if both are left out.
    query : Query, optional
        The frozen query.
    activation : str
        phi of ``elementwise``.
    tolerance : float
        Relative error of the capacity that is acceptable, in (0, 1).

    Raises
    ------
    InvalidInput
        If a value is outside its range.
    """
    real("tolerance", tolerance, 0.0, 1.0, open_low=True, open_high=True)
    query = checked_query(model, problem, training or FourStageTraining(), query, activation)
    if model == "elementwise" and (activation == "relu" or _vanishes(activation, query)):
        return _not_separable()
    law = feature_law(model, problem, query, activation, _FEW)
    if law.exact:
        return _of_exact_law(law)
    found = sampled_violation(sampled_features(model, problem, query, activation), tolerance)
    alpha = 1 / found.value
    return Capacity(
        capacity=alpha,
        numerical_error=alpha * found.error,
        residual=found.residual,
        iterations=found.iterations,
        status=_status(found.error, tolerance),
    )


def _of_exact_law(law: FeatureLaw) -> Capacity:
    solution = least_violation(law)
    mean = Expansion.of(expansion(solution.x, law)[0]).value
    status = Status(Code.CONVERGED) if solution.converged else _NOT_SOLVED
    alpha = law.weights_per_dimension / mean
    return Capacity(alpha, 0.0, solution.residual, solution.iterations, status)


def _status(error: float, tolerance: float) -> Status:
    if 2 * error <= tolerance:
        return Status(Code.CONVERGED)
    if not math.isfinite(error):
        return _NOT_SOLVED
    return Status(
        Code.TOLERANCE_NOT_REACHED,
        f"Twice the relative standard error is {2 * error:.2e}; "
        f"ask for a tolerance of {2.2 * error:.1e}.",
    )


def _vanishes(activation: str, query: Query) -> bool:
    return activation == "tanh" and query.sharpness == 0


def _not_separable() -> Capacity:
    """Return capacity 0: a share of both classes has the same feature, 0.

    So it is with relu at every L, since all projections are negative at times, and with
    tanh at sharpness 0.
    """
    return Capacity(0.0, 0.0, 0.0, 0, Status(Code.CONVERGED))
