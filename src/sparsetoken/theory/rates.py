"""Convergence of the test error to its infinite-data limit, without a ridge."""

from __future__ import annotations

import math

import numpy as np

from sparsetoken.base.validation import InvalidInput
from sparsetoken.model.models import Attention, Model
from sparsetoken.model.problem import SparseTokenProblem, require_problem
from sparsetoken.model.values import require_numbers
from sparsetoken.numerics.errors import stated_error
from sparsetoken.results import Overlaps, Record
from sparsetoken.results.record import Numbers, quantity, record
from sparsetoken.theory.feature_law import FeatureLaw
from sparsetoken.theory.laws import feature_law
from sparsetoken.theory.query import working_query
from sparsetoken.theory.score_law import ScoreLaw

_POINTS = 8192


@record
class Approach(Record):
    """E(alpha1) = limit + rate / alpha1 + o(1/alpha1)."""

    limit: Numbers = quantity("The test error of infinite data.")
    rate: Numbers = quantity("Of the test error in 1 / alpha1.")
    limit_error: Numbers = quantity(
        "Standard error of the limit over the scrambles of the nodes.", column="limit_se"
    )
    rate_error: Numbers = quantity("That of the rate.", column="rate_se")


def approach_to_infinite_data(problem: SparseTokenProblem, model: Model = Attention()) -> Approach:
    """Return limit and rate of the test error of the square loss at ridge 0.

    Parameters
    ----------
    problem : SparseTokenProblem
    model : Model
        Its query, if it has one, with |cosine| < 1: else scores have no noise in the limit.

    Raises
    ------
    InvalidInput
        If a value is outside its range, or scores have no noise in the limit (also at
        strength 0).

    See Also
    --------
    sparsetoken.predict : At finite load.

    Examples
    --------
    >>> import sparsetoken as st
    >>> from sparsetoken.theory import approach_to_infinite_data
    >>> problem = st.SparseTokenProblem(length=10, informative=1, strength=5.0)
    >>> found = approach_to_infinite_data(problem, st.Attention(st.Query(0.9, 1.0)))
    >>> found.limit.round(3).item()
    0.04
    """
    require_problem(problem)
    require_numbers(problem, model)
    query = working_query(problem, model)
    law = feature_law(model, problem, query, _POINTS)
    pairs = np.array([_first_order(law.part(slice(i, i + 1))) for i in range(len(law.C))])
    mean, error = pairs.mean(axis=0), stated_error(pairs)
    if not np.isfinite(mean).all():
        legal = "such that scores of the least-squares readout are spread: |cosine| < 1, theta > 0"
        raise InvalidInput("query and strength", legal, (query and query.cosine, problem.strength))
    scale = model.weights_per_dimension(problem.length)
    return Approach(
        float(mean[0]), scale * float(mean[1]), float(error[0]), scale * float(error[1])
    )


def _first_order(law: FeatureLaw) -> tuple[float, float]:
    """Return the error at alpha = inf and its derivative in 1/alpha there.

    Equation: infinite-data-rate, the first order of learned-readout in 1/alpha. Given chi the
    square loss makes x = (w_1, w_2, b) solve weighted least squares with weights
    D = 1/(1 + chi C^2), where chi = 1/(alpha E[C^2]) and
    nu^2 = E[C^2 residual^2]/(alpha E[C^2]^2) to first order.
    """
    C, y, weight = law.C[0, :, 0], law.y[0], law.weight[0]
    F = np.stack([*law.a[0].T, np.ones_like(y)])
    # variances of the Gaussian features
    spread = np.stack([law.covariance[0, 0] + 0 * C, C**2, 0 * C])

    def moments(D: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return (F * D) @ F.T + np.diag(spread @ D), F @ (D * y)

    H, g = moments(weight)
    x = np.linalg.lstsq(H, g)[0]  # without a query w_1 is free, and stays 0
    H1, g1 = moments(weight * C**2)
    size = weight @ C**2
    moved = -np.linalg.lstsq(H, g1 - H1 @ x)[0] / size
    noise = weight @ (C**2 * ((x @ F - y) ** 2 + x**2 @ spread)) / size**2
    scores = ScoreLaw.of_overlaps(law, Overlaps(x[0], x[1], 0.0, x[2]))
    mean, width = scores.mean[0], scores.width[0]
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = mean / width
        density = weight * np.exp(-0.5 * ratio**2) / math.sqrt(2 * math.pi) / width
        mean_moved = moved @ F
        width_moved = (2 * (x * moved) @ spread + C**2 * noise) / (2 * width)
        rate = density @ (y * (ratio * width_moved - mean_moved))
    return scores.test_error(), float(rate)
