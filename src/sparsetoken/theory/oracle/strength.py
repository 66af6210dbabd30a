"""The signal strength at which the best weights attain a given test error."""

from __future__ import annotations

import dataclasses
import functools
import itertools
import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import scipy
from scipy.special import ndtri

from sparsetoken.base.validation import InvalidInput, integer, real, refuse_disguised
from sparsetoken.model.architectures.weights import ACTIVATIONS
from sparsetoken.model.models import Attention, Elementwise, Model, Pooled, Vectorized
from sparsetoken.model.problem import SparseTokenProblem
from sparsetoken.results import Status, StatusCode
from sparsetoken.theory.oracle.bayes import bayes_error
from sparsetoken.theory.oracle.representation import (
    Candidate,
    best_error,
    best_test,
    check_model,
    error_of_test,
)
from sparsetoken.theory.oracle.token_sums import check_length


class Curve(NamedTuple):
    """A model, None for the Bayes test, and its sharpness where that is fixed."""

    model: Model | None
    sharpness: float | None = None


CURVES = {
    "pooled": Curve(Pooled()),
    "vectorized": Curve(Vectorized()),
    "attention": Curve(Attention()),
    "attention_fixed": Curve(Attention(), 1.0),
    **{f"elementwise_{name}": Curve(Elementwise(activation=name)) for name in ACTIVATIONS},
    "bayes": Curve(None),
}
"""The curves that are usually compared."""

_TOLERANCE = 1e-4  # relative, of the strength
_LAST_STEP = 2e-3  # relative; what another round would gain is of the order of its square
_ROUNDS = 12
_LARGEST = 1e6
_POINTS = 1024  # nodes of the Bayes error for 1 < R < L


@dataclasses.dataclass(frozen=True)
class CriticalStrength:
    """The strength theta at which the best test error falls to a level.

    Attributes
    ----------
    strength : float
        nan if the level is not attained.
    sharpness : float
        The best k there; nan for models without one.
    numerical_error : float
        Of the strength: that of the test error, divided by its slope in theta.
    status : Status
    """

    strength: float
    sharpness: float
    numerical_error: float
    status: Status


def checked_lengths(lengths: Sequence[int], informative: int = 1) -> tuple[int, ...]:
    """Return rising lengths >= max(2, R), or raise `InvalidInput`."""
    refuse_disguised("lengths", lengths)
    low = max(2, informative)
    checked = tuple(integer("length (L)", L, low) for L in lengths)
    if not checked or any(a >= b for a, b in itertools.pairwise(checked)):
        raise InvalidInput("lengths", "different lengths in rising order", list(lengths))
    return checked


@np.errstate(under="ignore")
def critical_strength(
    model: Model | None,
    length: int,
    *,
    informative: int = 1,
    positive_rate: float = 0.5,
    error_level: float = 0.01,
    sharpness: float | None = None,
) -> CriticalStrength:
    """Return the strength at which the best test error equals `error_level`.

    Equation: critical-strength.

    Parameters
    ----------
    model : Model or None
        One of this package, whose query is ignored; None for the Bayes test.
    length : int
        L from max(2, R) to 2^20.
    informative : int
        R.
    positive_rate : float
        pi.
    error_level : float
        In (0, min(pi, 1 - pi)), the error at theta = 0; at least 1e-4.
    sharpness : float, optional
        A fixed k; by default the best.

    Raises
    ------
    InvalidInput
        If a value is out of range.

    See Also
    --------
    best_error : The least test error over the weights of a model.
    fit_growth : Fits of the growth laws.

    Examples
    --------
    >>> import sparsetoken as st
    >>> found = st.oracle.critical_strength(st.Pooled(), 16, error_level=0.05)
    >>> round(found.strength, 2)
    13.16
    """
    if model is not None:
        check_model(model)
    integer("length (L)", length, max(2, integer("informative (R)", informative, 1)))
    check_length(length)
    pi = real("positive_rate (pi)", positive_rate)
    problem = SparseTokenProblem(length, informative, 1.0, pi)
    ceiling = min(pi, 1 - pi)
    level = real(
        "error_level",
        error_level,
        1e-4,
        ceiling,
        open_high=True,
        remedy="Without a signal the error is min(pi, 1 - pi).",
    )
    if sharpness is not None:
        real("sharpness", sharpness, 0.0)
    if model is None:
        return _by_root(problem, level, lambda p: bayes_error(p, points=_POINTS).test_error)
    if isinstance(model, (Pooled, Vectorized)):
        return _by_root(problem, level, lambda p: best_error(p, model).test_error)
    return _by_descent(model, problem, level, sharpness)


def _at(problem: SparseTokenProblem, theta: float) -> SparseTokenProblem:
    return dataclasses.replace(problem, strength=theta)


def _by_root(
    problem: SparseTokenProblem, level: float, error: Callable[[SparseTokenProblem], float]
) -> CriticalStrength:
    @functools.cache
    def excess(theta: float) -> float:
        return math.log(error(_at(problem, theta)) + 1e-12) - math.log(level)

    low, high = 0.0, 2.0
    while excess(high) > 0:
        low, high = high, 1.6 * high
        if high > _LARGEST:
            return _not_reached()
    theta = scipy.optimize.brentq(excess, low, high, rtol=_TOLERANCE)
    return CriticalStrength(theta, math.nan, _TOLERANCE * theta, Status(StatusCode.CONVERGED))


def _not_reached() -> CriticalStrength:
    remedy = "No strength up to 1e6 attains the error level; raise the level."
    return CriticalStrength(math.nan, math.nan, math.nan, Status(StatusCode.NO_LIMIT, remedy))


def _by_descent(
    model: Model, problem: SparseTokenProblem, level: float, sharpness: float | None
) -> CriticalStrength:
    """Descend from a strength that is enough.

    A rough test there reaches the level at a smaller strength already; the best test
    at that strength leads further down. The error is flat at its minimum over tests, so
    this converges like Newton's method.
    """

    def best(theta: float, near: float | None = None, rough: bool = False) -> Candidate:
        return best_test(model, _at(problem, theta), sharpness, near, rough=rough)

    theta = 2 * math.sqrt(2 * math.log(problem.length)) + 1
    test = best(theta, rough=True)
    while test.error > level:
        # The normal score of the error rises about in proportion to theta.
        ceiling = min(problem.positive_rate, 1 - problem.positive_rate)
        score = max(ndtri(0.5 * test.error / ceiling) / ndtri(0.5 * level / ceiling), 1e-3)
        theta *= min(max(1.2 / score, 1.2), 8.0)
        if theta > _LARGEST:
            return _not_reached()
        test = best(theta, rough=True)
    near = None
    for round in range(_ROUNDS):

        @functools.cache
        def excess(trial: float, test: Candidate = test) -> float:
            error = error_of_test(model, _at(problem, trial), test)
            return math.log(error + 1e-15) - math.log(level)

        # The first strength is more than enough; a better test leads little further down.
        step = 0.02 if round > 0 else 0.25
        low = (1 - step) * theta
        while excess(low) < 0:
            step *= 4
            low = max(1 - step, 0.0) * theta
        last, theta = theta, scipy.optimize.brentq(excess, low, theta, rtol=1e-6)
        if round > 0 and last - theta <= _LAST_STEP * theta:
            return _descended(model, problem, theta, test)
        improved = best(theta, near)
        if improved.error >= level:
            return _descended(model, problem, theta, test)
        test, near = improved, improved.sharpness
    status = Status(StatusCode.MAX_ITERATIONS, "The best test keeps changing; try another level.")
    return CriticalStrength(theta, test.sharpness, math.nan, status)


def _descended(
    model: Model, problem: SparseTokenProblem, theta: float, test: Candidate
) -> CriticalStrength:
    steps = np.array([0.99, 1.01]) * theta
    low, high = (error_of_test(model, _at(problem, t), test) for t in steps)
    slope = (low - high) / (0.02 * theta)
    error = abs(test.error - test.check) / max(slope, 1e-12) + _TOLERANCE * theta
    status = Status(StatusCode.CONVERGED)
    if error > 0.02 * theta:
        status = Status(StatusCode.TOLERANCE_NOT_REACHED, "Give a smaller fixed sharpness.")
    return CriticalStrength(theta, test.sharpness, float(error), status)
