r"""The ridgeless limit, on both sides of the interpolation threshold.

Where the training data can be fitted exactly the readout tends to the shortest one that does:
the interpolator of least norm (square loss), or the one of largest margin (losses that fall
with y z). Elsewhere ridge 0 is regular.
"""

from __future__ import annotations

import dataclasses
import functools
import math

from sparsetoken.base.validation import InvalidInput
from sparsetoken.losses import Loss, get_loss
from sparsetoken.losses.exact_fit import ExactFit
from sparsetoken.model.models import Model
from sparsetoken.model.problem import SparseTokenProblem
from sparsetoken.model.stages import Query, Readout
from sparsetoken.results import Status, StatusCode
from sparsetoken.theory.separability.capacity import capacity_of

_WITH_CAPACITY = ("logistic", "hinge", "squared_hinge")
_ROUGH, _FINE = 1e-2, 1e-4  # tolerances of the capacity: far from alpha1, and near it
_TIE = 1e-6  # relative distance from a threshold that is known exactly


_LEAST_NORM = ExactFit(get_loss("square"))
_LARGEST_MARGIN = ExactFit(get_loss("squared_hinge"))


@dataclasses.dataclass(frozen=True)
class Stage:
    """Loss and ridge of the potential of stage 4; NO_LIMIT where ridge 0 stands for no readout."""

    loss: Loss
    ridge: float
    status: Status = dataclasses.field(default_factory=lambda: Status(StatusCode.CONVERGED))

    @property
    def fits_exactly(self) -> bool:
        """Whether every training sample is fitted: loss and training error are 0."""
        return isinstance(self.loss, ExactFit)


def ridgeless_stage(
    problem: SparseTokenProblem,
    model: Model,
    query: Query | None,
    readout: Readout,
    *,
    weights: int,
    vanishing: bool,
) -> Stage:
    """Return what stage 4 becomes as the ridge falls to 0.

    Equation: interpolation-threshold. The square loss can be driven to 0 below
    alpha1 = weights per dimension (1, or L for ``vectorized``); logistic, hinge and squared
    hinge below the capacity. Above, ridge 0 is regular.

    Equation: ridgeless-limit. Below, ``r = lambda rho`` with finite rho, and Phi / lambda tends
    to the potential with ridge 1 and a loss that is infinite off the fitted scores: its saddle
    point is the least ``w_1^2 + w_2^2 + nu^2`` subject to
    ``nu^2 >= alpha E[dist(omega)^2 / C^2]``, dist to {z = y} or {y z >= 1}. Features of any
    covariances have the same limit: ``H / lambda`` tends to ``I + sum_k kappa_k G_k``. Where some
    features are vanishing, without noise of their own, they cannot be fitted.

    Raises
    ------
    InvalidInput
        For a loss of which it is not known what it can fit.
    """
    loss, alpha1 = readout.loss, readout.alpha1
    if loss.name == "square":
        exact, threshold, error = _LEAST_NORM, float(weights), _TIE
    elif loss.name in _WITH_CAPACITY:
        exact = _LARGEST_MARGIN
        threshold, error, status = _capacity_near(problem, model, query, alpha1)
        if not status.converged:
            return Stage(loss, 0.0, status)
    else:
        legal = f"square or one of {', '.join(_WITH_CAPACITY)} at ridge 0"
        raise InvalidInput("loss", legal, loss.name, "Use a small ridge such as 1e-6.")
    if math.isfinite(alpha1) and abs(alpha1 - threshold) <= error * alpha1:
        return Stage(loss, 0.0, _no_limit(alpha1, threshold))
    if alpha1 > threshold:
        return Stage(loss, 0.0)
    if vanishing:  # the square loss cannot fit two labels of one feature
        remedy = "Some features vanish and cannot be fitted: use a small ridge such as 1e-6."
        return Stage(loss, 0.0, Status(StatusCode.NO_LIMIT, remedy))
    return Stage(exact, 1.0)


def _capacity_near(
    problem: SparseTokenProblem, model: Model, query: Query | None, alpha1: float
) -> tuple[float, float, Status]:
    """Return the capacity, its relative error, finer where alpha1 is close, and if it is known.

    The capacity has any value where alpha1 is infinite. That of a random query is known to be below
    loads beyond its error; one that is nan is not.
    """
    known = Status(StatusCode.CONVERGED)
    if math.isinf(alpha1):
        return 0.0, 0.0, known
    for tolerance in (_ROUGH, _FINE):
        result = _capacity(problem, model, query, tolerance)
        if result.status.code is StatusCode.MAX_ITERATIONS:
            remedy = "The capacity was not found; use a small ridge such as 1e-6."
            return math.nan, math.nan, Status(StatusCode.MAX_ITERATIONS, remedy)
        if result.status.code is StatusCode.NO_LIMIT:
            above = alpha1 > result.capacity + result.numerical_error
            remedy = f"{result.status.remedy} Or use a small ridge such as 1e-3."
            return result.capacity, _TIE, known if above else Status(StatusCode.NO_LIMIT, remedy)
        error = max(_TIE, 3 * result.numerical_error / max(result.capacity, 1e-300))
        if abs(alpha1 - result.capacity) > error * alpha1:  # the error is that of 1/capacity
            break
    return result.capacity, error, known


_capacity = functools.lru_cache(maxsize=8)(capacity_of)
"""Kept, since all loads have it in common."""


def _no_limit(alpha1: float, threshold: float) -> Status:
    what = f"alpha1 = {alpha1:g} is at the interpolation threshold {threshold:.6g}"
    return Status(
        StatusCode.NO_LIMIT,
        f"{what}, where the readout diverges as the ridge falls to 0; "
        "use a ridge > 0 or another alpha1.",
    )
