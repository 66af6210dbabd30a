"""The boundary beyond which the query turns away from the signal."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np
import scipy

from sparsetoken.base.validation import choice, real
from sparsetoken.model.problem import Isotropic, SparseTokenProblem, require_problem
from sparsetoken.model.stages import TwoSteps, require_steps
from sparsetoken.model.tokens import isotropic_only
from sparsetoken.model.values import require_numbers
from sparsetoken.numerics.backend import with_x64
from sparsetoken.results import CONVERGED, Record, Status, StatusCode
from sparsetoken.results.record import Numbers, quantity, record
from sparsetoken.theory.alignment.limit import first_step, second_step, slopes
from sparsetoken.theory.spectrum import spectrum_of

_OF_PROBLEM = ("strength", "positive_rate")
_OF_STEPS = ("alpha0", "eta_w", "eta_b")
_SCAN = 16
_LEAST_SHARE = 1e-4  # of the range, where a geometric scan from 0 starts


@with_x64
def sign_margin(problem: SparseTokenProblem, steps: TwoSteps) -> float:
    """Return -(pi E[h|+] theta^2 V + (L - 1) E[h]); the query aligns iff it is > 0.

    Equation: sign-condition. Rare positives make it negative, unless eta_b moves the
    bias to offset the imbalance of the labels. With tokens of a covariance it is the
    overlap of the query itself.

    See Also
    --------
    sign_boundary : Where the cosine of the query changes sign.
    small_step_margin : The same for small steps.

    Examples
    --------
    >>> import sparsetoken as st
    >>> from sparsetoken.theory import sign_margin
    >>> problem = st.SparseTokenProblem(length=10, informative=1, strength=5.0)
    >>> sign_margin(problem, st.TwoSteps(alpha0=1.0)) > 0
    True
    """
    require_problem(problem)
    require_steps(steps)
    require_numbers(problem, steps)
    if not isinstance(problem.tokens, Isotropic):
        mean, _ = second_step(problem, steps, first_step(problem, steps, steps.alpha0))
        return float(mean @ spectrum_of(problem).signal)
    pi, theta, R, L = problem.letters
    (plus, minus), _ = slopes(problem, steps, first_step(problem, steps, steps.alpha0))
    V = R * (1 - R / L)
    return -float(pi * plus * theta**2 * V + (L - 1) * (pi * plus + (1 - pi) * minus))


@record
class SignBoundary(Record):
    """The value of one parameter at which the cosine of the query is 0."""

    value: Numbers = quantity("nan if the sign does not change.")
    residual: Numbers = quantity("`sign_margin` there.")
    status: Status = quantity("How the search ended.")


@with_x64
def sign_boundary(
    problem: SparseTokenProblem, steps: TwoSteps, name: str, low: float, high: float
) -> SignBoundary:
    """Return the value of a parameter at which the cosine of the query changes sign.

    Equation: sign-boundary, the root of sign-condition along one parameter.

    Parameters
    ----------
    problem, steps
        All other parameters.
    name : str
        strength, positive_rate, alpha0, eta_w or eta_b.
    low, high : float
        The range to search, both ends legal values, low < high. It is scanned in 16
        steps, geometric ones for all but the positive rate; of several changes of sign
        seen there the lowest is returned.

    Raises
    ------
    InvalidInput
        If a value is outside its range.

    See Also
    --------
    sign_margin : Positive where the query aligns.
    sparsetoken.align : The query in the limit of high dimension.

    Examples
    --------
    >>> import sparsetoken as st
    >>> from sparsetoken.theory import sign_boundary
    >>> problem = st.SparseTokenProblem(length=10, informative=3, strength=2.0, positive_rate=0.06)
    >>> found = sign_boundary(problem, st.TwoSteps(alpha0=2.0), "positive_rate", 0.02, 0.5)
    >>> found.value.round(2).item()
    0.32
    """
    choice("name", name, (*_OF_PROBLEM, *_OF_STEPS))
    require_problem(problem)
    require_steps(steps)
    require_numbers(problem, steps)
    low = real("low", low)
    high = real("high", high, low, open_low=True)

    def margin(value: float) -> float:
        change: dict[str, Any] = {name: float(value)}
        if name in _OF_PROBLEM:
            return sign_margin(dataclasses.replace(problem, **change), steps)
        return sign_margin(problem, dataclasses.replace(steps, **change))

    aligned = margin(low) > 0
    last = low
    for value in _scan(name, low, high):
        if (margin(value) > 0) != aligned:
            root = scipy.optimize.brentq(margin, last, value, xtol=1e-12 * high, rtol=1e-12)
            return SignBoundary(root, margin(root), CONVERGED)
        last = value
    side = "towards the signal" if aligned else "away from it"
    reached = f"The query turns {side} for every {name} from {low:g} to {high:g}"
    return SignBoundary(
        math.nan, math.nan, Status(StatusCode.NO_LIMIT, f"{reached}; widen the range.")
    )


def _scan(name: str, low: float, high: float) -> list[float]:
    if name == "positive_rate":
        return np.linspace(low, high, _SCAN + 1)[1:].tolist()
    steps = np.geomspace(max(low, _LEAST_SHARE * high), high, _SCAN + 1)
    return steps[steps > low].tolist()


def small_step_margin(problem: SparseTokenProblem) -> float:
    """Return pi theta^2 V - (1 - 2 pi)(L - 1), with V = R (1 - R/L).

    Equation: small-step-condition. For small steps, and a loss with l'(-1, 0) =
    -l'(1, 0), the query turns towards the signal if and only if it is > 0.

    Returns
    -------
    float
        Above 0 where the query turns towards the signal.

    Raises
    ------
    InvalidInput
        If a field of the problem holds an array.

    See Also
    --------
    sign_margin : Positive where the query aligns.

    Examples
    --------
    >>> import sparsetoken as st
    >>> problem = st.SparseTokenProblem(length=10, informative=1, strength=5.0)
    >>> st.theory.small_step_margin(problem) > 0
    True
    """
    require_problem(problem)
    require_numbers(problem)
    isotropic_only(problem.tokens, "The condition of small steps")
    pi, theta, R, L = problem.letters
    return pi * theta**2 * R * (1 - R / L) - (1 - 2 * pi) * (L - 1)
