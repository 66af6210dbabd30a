"""The signal strength at which the best weights attain a given test error."""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import scipy
from scipy.special import ndtri

from sparsetoken.base.validation import integer, real
from sparsetoken.model.architectures.weights import ACTIVATIONS
from sparsetoken.model.models import Attention, Elementwise, Model, Pooled, Vectorized
from sparsetoken.model.problem import SparseTokenProblem
from sparsetoken.results import CONVERGED, Record, Status, StatusCode
from sparsetoken.results.record import Numbers, quantity, record
from sparsetoken.theory.oracle.bayes import bayes_error
from sparsetoken.theory.oracle.representation import (
    Representation,
    best_test,
    check_model,
    check_sharpness,
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
_GAIN = 1e-3  # of the level, which moves the strength by less than its tolerance
_GROWTH = 1.6  # of strengths, until the level is reached
_ROUNDS = 12
_LARGEST = 1e6
_POINTS = 1024  # nodes of the Bayes error for 1 < R < L


@record
class CriticalStrength(Record):
    """The strength theta at which the best test error falls to a level."""

    strength: Numbers = quantity("nan if the level is not attained.")
    sharpness: Numbers = quantity("The best k there; nan for models without one.")
    numerical_error: Numbers = quantity(
        "Of the strength: that of the test error, divided by its slope in theta."
    )
    status: Status = quantity("How the computation ended.", objects=True)


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
        A fixed k of attention or elementwise; by default the best.

    Raises
    ------
    InvalidInput
        If a value is out of range, or k is given for another model.

    See Also
    --------
    best_error : The least test error over the weights of a model at a given strength.
    bayes_error : The Bayes-optimal error at a given strength.

    Examples
    --------
    >>> import sparsetoken as st
    >>> found = st.oracle.critical_strength(st.Pooled(), 16, error_level=0.05)
    >>> found.strength.round(2).item()
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
    check_sharpness(model, sharpness)
    if model is None:
        return _solved(problem, level, _bayes, lambda at, _: _bayes(at).test_error)
    error = functools.partial(error_of_test, model)
    return _solved(problem, level, functools.partial(best_test, model, sharpness=sharpness), error)


def _bayes(problem: SparseTokenProblem, near: float | None = None) -> Representation:
    error = bayes_error(problem, points=_POINTS).test_error
    return Representation(error, math.nan, math.nan, problem.length, 0.0, CONVERGED)


def _solved(
    problem: SparseTokenProblem,
    level: float,
    best: Callable[..., Representation],
    error: Callable[[SparseTokenProblem, Representation], float],
) -> CriticalStrength:
    """Descend from a strength that is enough.

    A good test there, of a sharpness near 1, reaches the level at a smaller strength already; the
    best test at that strength leads further down. The error is flat at its minimum over tests, so
    this converges like Newton's method.
    """

    def at(theta: float) -> SparseTokenProblem:
        return dataclasses.replace(problem, strength=theta)

    def score(error: float) -> float:  # rises about in proportion to theta, from 0
        return float(ndtri(np.clip(0.5 * error / ceiling, 1e-15, 0.9)))

    ceiling, near = min(problem.positive_rate, 1 - problem.positive_rate), None
    theta = 2 * math.sqrt(2 * math.log(problem.length)) + 1
    test = best(at(theta), near=1.0)
    while test.test_error > level:
        theta *= _GROWTH
        if theta > _LARGEST:
            remedy = "No strength up to 1e6 attains the error level; raise the level."
            return CriticalStrength(
                math.nan, math.nan, math.nan, Status(StatusCode.NO_LIMIT, remedy)
            )
        test = best(at(theta), near=1.0)
    for _ in range(_ROUNDS):

        def excess(trial: float, test: Representation = test) -> float:
            return score(error(at(trial), test)) - score(level)

        theta = scipy.optimize.brentq(excess, 0.0, theta, rtol=_TOLERANCE / 10)
        better = best(at(theta), near=near)
        if better.test_error >= (1 - _GAIN) * level:
            break
        test, near = better, better.sharpness
    else:
        status = Status(
            StatusCode.MAX_ITERATIONS, "The best test keeps changing; try another level."
        )
        return CriticalStrength(theta, test.sharpness, math.nan, status)
    low, high = (error(at(share * theta), test) for share in (0.99, 1.01))
    slope = (low - high) / (0.02 * theta)
    numerical = test.numerical_error / max(slope, 1e-12) + _TOLERANCE * theta
    status = CONVERGED
    if numerical > 0.02 * theta:
        status = Status(StatusCode.TOLERANCE_NOT_REACHED, "Give a smaller fixed sharpness.")
    return CriticalStrength(theta, test.sharpness, numerical, status)
