"""How to spend samples and how sharp to pool: searches of one number over predictions."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable

import numpy as np
import scipy

from sparsetoken.models import Model, entry_of
from sparsetoken.problem import SparseTokenProblem, require_problem
from sparsetoken.results import Prediction, Status, StatusCode
from sparsetoken.stages import Readout, TwoSteps, require_readout
from sparsetoken.theory.alignment.two_steps import align
from sparsetoken.theory.predict import predict_readouts
from sparsetoken.validation import LARGEST_LOAD, LARGEST_VALUE, InvalidInput, real
from sparsetoken.values import require_numbers

_SCAN = 9
_NEAR = 0.02  # in logit(share) or log(beta): the test error is flat to second order
LEAST_SHARE = 0.01


@dataclasses.dataclass(frozen=True)
class BestSplit:
    """The best use of a fixed number of samples.

    Attributes
    ----------
    share : float
        alpha0 / (alpha0 + alpha1), in [0.01, 0.99].
    alpha0, alpha1 : float
        The loads of D0 and D1.
    prediction : Prediction
        What the classifier is worth there.
    status : Status
        ``no_limit`` when the test error is least at an end of the range.
    """

    share: float
    alpha0: float
    alpha1: float
    prediction: Prediction
    status: Status


@dataclasses.dataclass(frozen=True)
class BestBeta:
    """The best inverse temperature.

    Attributes
    ----------
    beta : float
    sharpness : float
        k = beta |q2| at that beta; it grows as beta^2, since |q2| grows as beta.
    prediction : Prediction
        What the classifier is worth there.
    status : Status
        ``no_limit`` when the test error is least at an end of the range.
    """

    beta: float
    sharpness: float
    prediction: Prediction
    status: Status


def best_split(
    problem: SparseTokenProblem,
    model: Model,
    readout: Readout,
    total: float,
    *,
    tolerance: float = 1e-4,
) -> BestSplit:
    """Return the split of a total load between D0 and D1 with the least test error.

    Equation: best-split, ``argmin over alpha0 of E(alpha0, total - alpha0)``. Samples of
    D0 turn the query, samples of D1 fit the readout. The sharpness follows alpha0 at the
    given step sizes and beta.

    Parameters
    ----------
    problem : SparseTokenProblem
    model : Model
        With steps that find its query, whose alpha0 is replaced.
    readout : Readout
        Its alpha1 is replaced.
    total : float
        alpha0 + alpha1 in [1e-3, 1e9].
    tolerance : float
        Of the test error, as for `predict`. The least error is then as sharp; the share
        is known only as far as errors differ by more.

    Raises
    ------
    InvalidInput
        If a value is outside its range.

    Examples
    --------
    >>> import sparsetoken as st
    >>> problem = st.SparseTokenProblem(length=10, informative=1, strength=5.0)
    >>> model, readout = st.Attention(st.TwoSteps()), st.Readout("square", ridge=0.1)
    >>> found = st.tuning.best_split(problem, model, readout, total=3.0, tolerance=1e-2)
    >>> 0 < found.alpha0 < 3
    True
    """
    steps = steps_of(problem, model, readout)
    total = real("total (alpha0 + alpha1)", total, 1e-3, LARGEST_LOAD)

    def at(logit: float) -> Prediction:
        alpha0, alpha1 = loads(total, logit)
        trained = dataclasses.replace(steps, alpha0=alpha0)
        fitted = dataclasses.replace(readout, alpha1=alpha1)
        return predicted(problem, model, trained, fitted, tolerance)

    end = math.log(1 / LEAST_SHARE - 1)
    logit, prediction, status = _least(at, -end, end)
    alpha0, alpha1 = loads(total, logit)
    return BestSplit(alpha0 / total, alpha0, alpha1, prediction, status)


def best_beta(
    problem: SparseTokenProblem,
    model: Model,
    readout: Readout,
    *,
    sharpness: tuple[float, float] = (1e-2, 1e2),
    tolerance: float = 1e-4,
) -> BestBeta:
    """Return the inverse temperature with the least test error.

    Equation: best-beta. The cosine of the query does not depend on beta, and k = beta |q2|
    is proportional to beta^2: this is the best sharpness for the query at hand.

    Parameters
    ----------
    problem : SparseTokenProblem
    model : Model
        With steps that find its query, whose beta is replaced.
    readout : Readout
    sharpness : pair of floats
        The range of k that is searched, both > 0.
    tolerance : float
        Of the test error, as for `predict`.

    Raises
    ------
    InvalidInput
        If a value is outside its range, or the query has no length (one token, no step).

    Examples
    --------
    >>> import sparsetoken as st
    >>> problem = st.SparseTokenProblem(length=10, informative=1, strength=5.0)
    >>> model, readout = st.Attention(st.TwoSteps()), st.Readout("square", ridge=0.1)
    >>> found = st.tuning.best_beta(problem, model, readout, tolerance=1e-2)
    >>> found.beta > 0
    True
    """
    steps = steps_of(problem, model, readout)
    low = real("sharpness, low end", sharpness[0], 0.0, LARGEST_VALUE, open_low=True)
    high = real("sharpness, high end", sharpness[1], low, LARGEST_VALUE, open_low=True)
    unit = align(problem, dataclasses.replace(steps, beta=1.0)).sharpness
    remedy = "Take eta_q, eta_w > 0 and more than one token."
    real("length of the query", unit, 0.0, open_low=True, remedy=remedy)

    def at(log_beta: float) -> Prediction:
        trained = dataclasses.replace(steps, beta=math.exp(log_beta))
        return predicted(problem, model, trained, readout, tolerance)

    ends = (0.5 * math.log(k / unit) for k in (low, high))
    log_beta, prediction, status = _least(at, *ends)
    return BestBeta(math.exp(log_beta), unit * math.exp(2 * log_beta), prediction, status)


def steps_of(problem: SparseTokenProblem, model: Model, readout: Readout) -> TwoSteps:
    """Return the steps that find the query of a model, or raise `InvalidInput`."""
    require_problem(problem)
    require_numbers(problem, model, readout)
    entry_of(model)
    require_readout(readout)
    if not isinstance(model.query, TwoSteps):
        legal = "one whose query is found by TwoSteps, such as Attention()"
        raise InvalidInput("model", legal, model)
    return model.query


def predicted(
    problem: SparseTokenProblem, model: Model, steps: TwoSteps, readout: Readout, tolerance: float
) -> Prediction:
    """Return the prediction with the query that these steps find."""
    queried = dataclasses.replace(model, query=steps)  # type: ignore[call-arg]
    (found,) = predict_readouts(problem, queried, [readout], tolerance)
    return found


def loads(total: float, logit: float) -> tuple[float, float]:
    """Return alpha0 and alpha1 from their sum and the logit of the share of alpha0."""
    return total / (1 + math.exp(-logit)), total / (1 + math.exp(logit))


def _least(
    at: Callable[[float], Prediction], low: float, high: float
) -> tuple[float, Prediction, Status]:
    """Scan the range, then narrow around the least: there may be more than one valley."""
    seen: dict[float, Prediction] = {}

    def error(x: float) -> float:
        seen[x] = at(x)
        return seen[x].test_error if math.isfinite(seen[x].test_error) else math.inf

    grid = np.linspace(low, high, _SCAN).tolist()
    least = int(np.argmin([error(x) for x in grid]))
    if 0 < least < _SCAN - 1:
        bounds = (grid[least - 1], grid[least + 1])
        scipy.optimize.minimize_scalar(
            error, bounds=bounds, method="bounded", options={"xatol": _NEAR}
        )
    x = min(seen, key=lambda u: seen[u].test_error if seen[u].status.converged else math.inf)
    return x, seen[x], _status(seen, x, low, high)


def _status(seen: dict[float, Prediction], x: float, low: float, high: float) -> Status:
    if not seen[x].status.converged:
        return seen[x].status
    if x in (low, high):
        return Status(StatusCode.NO_LIMIT, "The test error is least at an end of the range.")
    failed = [p.status for p in seen.values() if not p.status.converged]
    if failed:
        return Status(failed[0].code, f"{len(failed)} predictions failed: {failed[0].remedy}")
    return Status(StatusCode.CONVERGED)
