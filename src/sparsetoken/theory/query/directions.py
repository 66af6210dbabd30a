"""Whether the limit of a query stands for the query at the dimension of the tokens."""

from __future__ import annotations

import math

import numpy as np

from sparsetoken.model.problem import SparseTokenProblem
from sparsetoken.model.stages import Query, TwoSteps
from sparsetoken.model.tokens import Isotropic
from sparsetoken.results import CONVERGED, Status, StatusCode
from sparsetoken.theory.query.distribution import query_distribution
from sparsetoken.theory.spectrum import spectrum_of

LEAST_DIRECTIONS = 50.0
"""Effective directions from which on a query may be replaced by its limit: the logarithm of the
sharpness has a standard deviation of at most 1/10, which moves the mean of a smooth function by its
curvature times half the square, 1/200."""

_ROUNDING = 1e-12  # relative, of a variance


def limit_status(problem: SparseTokenProblem, query: object) -> Status:
    """Return converged, or approximate where a query varies much at the dimension of the tokens."""
    given = isinstance(query, Query) and query.cosine is not None
    if isinstance(problem.tokens, Isotropic) or not (given or isinstance(query, TwoSteps)):
        return CONVERGED
    assert isinstance(query, (TwoSteps, Query))
    directions = effective_directions(problem, query)
    if directions >= LEAST_DIRECTIONS:
        return CONVERGED
    random = f"as random as one of isotropic tokens in {max(directions, 1.0):.2g} dimensions"
    if given:
        text = (
            f"A query of this cosine, otherwise uniform, is {random}: few directions carry the "
            "covariance, and this is the limit of many. Give the query as a vector, or whiten the "
            "tokens first."
        )
    else:
        d = problem.tokens.dimension
        text = (
            f"The query of the two steps is {random}: few directions carry the covariance, and "
            "this is the limit of many. Means over data sets D0, and their spread, are those of "
            f"dimension={d}. Whiten the tokens first, or raise alpha0."
        )
    return Status(StatusCode.APPROXIMATE, text)


def effective_directions(problem: SparseTokenProblem, query: TwoSteps | Query) -> float:
    """Return the dimension at which the query of isotropic tokens fluctuates as much as this one.

    Equation: random-query. The limit replaces forms of the query q ~ N(m, Q) by
    their means, as if many directions carried its scatter: that of q^T S q, S = S_w, has the
    variance 2 tr((SQ)^2) + 4 m^T S Q S m around m^T S m + tr(SQ). A given cosine leaves a uniform
    direction, of norm 1; among isotropic tokens the number is then infinite.
    """
    spectrum = spectrum_of(problem)
    S, xi = spectrum.within, spectrum.signal
    if isinstance(query, Query):
        mean, variance = _moments_beside(S, xi, query.cosine)
        return 2 * mean**2 / variance if variance > 0 else math.inf
    law = query_distribution(problem, query)
    Q, m = law.scatter, law.mean
    mean = float(S @ (m**2 + Q))
    variance = 2 * float(np.sum((S * Q) ** 2)) + 4 * float(Q @ (S * m) ** 2)
    r = 2 * mean**2 / variance if variance > 0 else math.inf
    along = float(Q @ xi**2)
    with np.errstate(divide="ignore", invalid="ignore"):
        kept = float(np.sum(np.where(xi == 0, 0.0, xi**2 / S)))
    return min(r, mean * kept / along) if along > 0 else r


def _moments_beside(S: np.ndarray, xi: np.ndarray, cosine: float) -> tuple[float, float]:
    """Return mean and variance of q^T S q, q of a cosine and otherwise uniform beside the signal.

    With P = I - xi xi^T the uniform part u has E[u^T S u] = tr(PSP)/(d - 1) and
    Var(u^T S u) = 2 [tr((PSP)^2) - tr(PSP)^2/(d - 1)]/((d - 1)(d + 1)), and xi^T S u the variance
    |P S xi|^2/(d - 1).
    """
    s2, n = cosine**2, len(xi) - 1
    along, along_squared = float(S @ xi**2), float(S**2 @ xi**2)
    first = float(S.sum()) - along
    second = float(S @ S) - 2 * along_squared + along**2
    apart = max(second - first**2 / n, 0.0)
    mixed = max(along_squared - along**2, 0.0) / n
    variance = (1 - s2) ** 2 * 2 * apart / (n * (n + 2)) + 4 * s2 * (1 - s2) * mixed
    mean = s2 * along + (1 - s2) * first / n
    return mean, variance if variance > _ROUNDING * mean**2 else 0.0
