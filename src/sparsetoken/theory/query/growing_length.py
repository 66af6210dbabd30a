"""The query of two steps where the length of bags grows in proportion to the dimension."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from sparsetoken.base.validation import InvalidInput, integer
from sparsetoken.model.problem import SparseTokenProblem, require_problem
from sparsetoken.model.stages import TwoSteps, require_steps
from sparsetoken.model.tokens import isotropic_only
from sparsetoken.model.values import require_numbers

_LARGEST = 10**9  # dimension


def growing_length_cosine(
    problem: SparseTokenProblem,
    steps: TwoSteps,
    dimension: int,
    imbalance: Any = 0.0,
) -> np.ndarray:
    """Return the cosine of the query as L, d, n0 -> infinity at fixed c = L/d and a = n0/(L d).

    Equation: growing-length-alignment. With classes of equal rates it is random: a function of the
    imbalance of the classes drawn, of which its mean and spread over data sets are means over a
    standard normal. It is not random for classes of exactly equal size, whose imbalance is 0, nor
    with a step of the bias eta_b = 1/l''(1, 0), which is 4 for the logistic loss. With other rates
    the query is w1 or -w1, and the imbalance does not enter. At fixed n0/d the cosine tends to 0.
    Symbols: kappa = l''(1, 0), m, nu and A as in docs/equations.md.

    Parameters
    ----------
    problem : SparseTokenProblem
        With isotropic tokens; L and d give c.
    steps : TwoSteps
        alpha0 = n0/d gives a = alpha0/L. Of the steps only eta_b matters.
    dimension : int >= 2
        d.
    imbalance : array_like, default 0
        Z = sqrt(n0) times the mean label; standard normal over data sets with equal rates.

    Returns
    -------
    ndarray, of the shape of the imbalance
        In [-1, 1]; nan with other rates and a step of the bias that balances them exactly.

    Raises
    ------
    InvalidInput
        If a field holds an array, tokens have a covariance, or the loss is not symmetric: with
        l'(-1, 0) other than -l'(1, 0) equal rates do not balance the first step.

    See Also
    --------
    sparsetoken.align : With `dimension`, the same at finite d and L, of which this is the limit.

    Examples
    --------
    >>> import sparsetoken as st
    >>> problem = st.SparseTokenProblem(length=1000, informative=2, strength=2.0)
    >>> steps = st.TwoSteps(alpha0=200.0, eta_b=2.0)
    >>> st.theory.growing_length_cosine(problem, steps, 1000, [-1.0, 0.0, 1.0]).round(2)
    array([0.63, 0.77, 0.82])
    """
    require_problem(problem)
    require_steps(steps)
    require_numbers(problem, steps)
    isotropic_only(problem.tokens, "The limit of growing lengths")
    d = integer("dimension (d)", dimension, 2, _LARGEST)
    plus, minus = (float(steps.loss.slope(y, 0.0)) for y in (1.0, -1.0))
    if minus != -plus:
        legal = "one with l'(-1, 0) = -l'(1, 0)"
        raise InvalidInput("loss of the limit of growing lengths", legal, steps.loss)
    pi, theta, R, L = problem.letters
    Z, c, a = np.asarray(imbalance, dtype=float), L / d, steps.alpha0 / L
    m = pi * theta * R
    nu2 = m**2 + 1 / a
    if pi != 0.5:
        b = -steps.eta_b * (2 * pi - 1) * plus
        slope = pi * float(steps.loss.slope(1.0, b)) + (1 - pi) * float(steps.loss.slope(-1.0, b))
        sign = math.nan if slope == 0 else -math.copysign(1.0, slope)
        return np.full(Z.shape, sign * m / math.sqrt(nu2))
    unbalanced = 1 - steps.eta_b * float(steps.loss.curvature(1.0, 0.0))
    A, B, W = unbalanced * math.sqrt(c / a) * Z, m**2 * theta, nu2 / a
    return (A * m + B) / np.sqrt(A**2 * nu2 + 2 * A * B * m + B**2 + W)
