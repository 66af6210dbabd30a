"""The cosine at which attention and mean pooling have the same test error."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable

import scipy

from sparsetoken.base.validation import real
from sparsetoken.model.models import Attention, Pooled
from sparsetoken.model.problem import SparseTokenProblem
from sparsetoken.model.stages import Query, Readout
from sparsetoken.model.values import require_numbers
from sparsetoken.numerics.backend import with_x64
from sparsetoken.results import Prediction, Record, Status, StatusCode
from sparsetoken.results.record import Numbers, quantity, record
from sparsetoken.theory.features import Features
from sparsetoken.theory.predict import predict, predict_readouts

_SCAN = (1.0, 0.75, 0.5, 0.25, 0.0)
_APART = 0.01
_FEW_POINTS = 64
_LEAST_RIDGE = 1e-6  # of the rough search; what it leaves out the corrections add
_CORRECTIONS = 6


@record
class CriticalCosine(Record):
    """Where attention and the pooled model have the same test error."""

    cosine: Numbers = quantity("In (0, 1); nan if there is none.")
    test_error: Numbers = quantity("That of the pooled model.")
    wins_above: Numbers = quantity(
        "Whether attention has the smaller test error just above; False only where attention at "
        "the cosine 1 loses."
    )
    residual: Numbers = quantity(
        "Test error of attention less that of the pooled model, at the cosine."
    )
    numerical_error: Numbers = quantity(
        "Standard error of the cosine, from that of the test error."
    )
    iterations: Numbers = quantity("Readouts solved for.")
    status: Status = quantity("How the search ended.")


@with_x64
def critical_cosine(
    problem: SparseTokenProblem,
    readout: Readout,
    *,
    sharpness: float,
    tolerance: float = 1e-3,
) -> CriticalCosine:
    """Return the cosine above which attention beats mean pooling.

    Equation: critical-cosine. Attention with a query (s, sharpness) has the test error of
    the pooled model at the same loss, ridge and alpha1. At infinite alpha1 these are the
    errors of infinite data.

    The test error falls with s but for sharp queries near s = 1, so there may be more
    than one crossing: s is scanned downwards from 1 to 0 in steps of 1/4, and the largest
    one is returned.

    Parameters
    ----------
    problem : SparseTokenProblem
    readout : Readout
        Its alpha1 may be ``inf``.
    sharpness : float
        k > 0 of the query.
    tolerance : float
        Numerical error of the cosine that is acceptable, in (0, 1).

    Returns
    -------
    CriticalCosine
        Its status is ``no_limit`` where attention wins, or loses, at every cosine.

    Raises
    ------
    InvalidInput
        If a value is outside its range.

    See Also
    --------
    sign_boundary : Where the cosine of the query changes sign.

    Examples
    --------
    >>> import sparsetoken as st
    >>> from sparsetoken.theory import critical_cosine
    >>> problem = st.SparseTokenProblem(length=10, informative=1, strength=5.0)
    >>> found = critical_cosine(problem, st.Readout(alpha1=2.0), sharpness=2.0)
    >>> found.cosine.round(2).item()
    0.27
    """
    require_numbers(problem, readout)
    sharpness = real("sharpness", sharpness, 0.0, open_low=True)
    tolerance = real("tolerance", tolerance, 0.0, 1.0, open_low=True, open_high=True)
    pooled = predict(problem, Pooled(), readout)
    if not pooled.status.converged:
        return _none(pooled, 0, pooled.status)
    rough = _RoughGap(problem, readout, sharpness, pooled.test_error)
    bracket = _bracket(rough)
    if isinstance(bracket, Status):  # so few nodes may have missed a crossing
        rough.nodes = Features.first_points
        bracket = _bracket(rough)
    if isinstance(bracket, Status):
        return _none(pooled, rough.solved, bracket)
    s = scipy.optimize.brentq(rough, *bracket, xtol=0.1 * tolerance)
    near = (max(s - _APART, 0.0), min(s + _APART, 1.0))
    slope = (rough(near[1]) - rough(near[0])) / (near[1] - near[0])
    # What is left is the error of the rough nodes: a few steps with good ones.
    accuracy = min(max(0.5 * tolerance * abs(slope), 1e-8), 0.5)
    for _ in range(_CORRECTIONS):
        fine = predict(problem, Attention(Query(s, sharpness)), readout, tolerance=accuracy)
        rough.solved += 1
        step = (fine.test_error - pooled.test_error) / slope
        if not math.isfinite(step) or abs(step) <= 0.5 * tolerance:
            break
        s = min(max(s - step, 0.0), 1.0)
    return CriticalCosine(
        cosine=s,
        test_error=pooled.test_error,
        wins_above=slope < 0,
        residual=fine.test_error - pooled.test_error,
        numerical_error=fine.numerical_error / abs(slope),
        iterations=rough.solved,
        status=_reached(fine, step, tolerance),
    )


class _RoughGap:
    """The test error of attention minus that of pooling, on the same few nodes at every cosine.

    It is a smooth function of the cosine, nan where the readout was not reached.
    """

    def __init__(
        self, problem: SparseTokenProblem, readout: Readout, sharpness: float, pooled: float
    ) -> None:
        self._problem, self._sharpness, self._pooled = problem, sharpness, pooled
        self._readout = dataclasses.replace(readout, ridge=max(readout.ridge, _LEAST_RIDGE))
        self.nodes, self.solved = _FEW_POINTS, 0

    def __call__(self, s: float) -> float:
        self.solved += 1
        model = Attention(Query(float(s), self._sharpness))
        (prediction,) = predict_readouts(self._problem, model, [self._readout], nodes=self.nodes)
        return prediction.test_error - self._pooled


def _bracket(difference: Callable[[float], float]) -> tuple[float, float] | Status:
    """Return the first interval below 1 at whose ends attention wins and loses, or why not."""
    high, above = 1.0, difference(1.0)
    for s in _SCAN[1:]:
        here = difference(s)
        if not math.isfinite(here + above):
            remedy = "A prediction did not converge; raise the ridge or lower the sharpness."
            return Status(StatusCode.MAX_ITERATIONS, remedy)
        if (here > 0) != (above > 0):
            return s, high
        high, above = s, here
    if above > 0:
        remedy = "Attention loses at every cosine; lower the sharpness, or use the pooled model."
    else:
        remedy = "Attention wins at every cosine from 0 to 1."
    return Status(StatusCode.NO_LIMIT, remedy)


def _none(pooled: Prediction, count: int, status: Status) -> CriticalCosine:
    nan = math.nan
    return CriticalCosine(nan, pooled.test_error, False, nan, nan, count, status)


def _reached(fine: Prediction, step: float, tolerance: float) -> Status:
    if not math.isfinite(step):
        return fine.status
    if abs(step) <= 0.5 * tolerance and fine.status.converged:
        return Status(StatusCode.CONVERGED)
    remedy = f"The last correction was {abs(step):.1e}; ask for a larger tolerance."
    return Status(StatusCode.TOLERANCE_NOT_REACHED, remedy)
