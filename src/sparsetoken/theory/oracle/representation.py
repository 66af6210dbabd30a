"""The best test error over the weights of each model, with the signal direction known."""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Callable, Iterable

import numpy as np
import scipy
from scipy.special import log_ndtr, ndtr

from sparsetoken.base.validation import InvalidInput, real
from sparsetoken.model.architectures import networks
from sparsetoken.model.models import (
    Attention,
    Elementwise,
    HardAttention,
    Model,
    Pooled,
    Vectorized,
)
from sparsetoken.model.problem import SparseTokenProblem, require_problem
from sparsetoken.model.tokens import isotropic_only
from sparsetoken.model.values import require_numbers
from sparsetoken.results import CONVERGED, Record, Status
from sparsetoken.results.record import Numbers, quantity, record
from sparsetoken.theory.oracle.bayes import accuracy_status, normal_error
from sparsetoken.theory.oracle.score_tests import OracleTests, oracle_tests
from sparsetoken.theory.oracle.token_sums import (
    TokenFunction,
    chance_of_rest,
    check_length,
    error_of_sum,
    mean_of_sum,
)

_SEARCH, _CHECK, _FINAL = 10, 12, 13  # log2 of lattice points
_ACCURACY = 0.01  # relative; a larger numerical error is not called converged
_NEAR = 0.05  # of the logarithm of a sharpness: the error is flat to second order
_STEP = 1.6  # between best sharpnesses of similar problems
_SPREADS = 48  # numbers of positions tried for a vectorized readout


@record
class Representation(Record):
    """The best test error over the weights of a model, and where it is attained."""

    test_error: Numbers = quantity("Of the best weights.")
    sharpness: Numbers = quantity(
        "k of the query: inf where only the largest token counts, 0 where all count alike, nan for "
        "``pooled`` and ``vectorized``, which have none."
    )
    threshold: Numbers = quantity(
        "c: the classifier calls positive where its score exceeds c. The score is <w, f_q(X)> with "
        "w = xi; for ``vectorized`` the sum of <x_l, xi> over `positions` tokens, divided by the "
        "square root of their number."
    )
    positions: Numbers = quantity(
        "Positions the readout is spread over: L, or fewer for ``vectorized``."
    )
    numerical_error: Numbers = quantity(
        "Change of the test error from half the lattice; 0 in closed form."
    )
    status: Status = quantity("How the computation ended.", objects=True)


@np.errstate(under="ignore")
def best_error(
    problem: SparseTokenProblem, model: Model, *, sharpness: float | None = None
) -> Representation:
    """Return the smallest test error over weights with q = k xi / beta and w = xi.

    Equation: representation-error.

    Parameters
    ----------
    problem : SparseTokenProblem
        Positions are uniform.
    model : Model
        One of this package; its query is ignored.
    sharpness : float, optional
        k >= 0 of attention and elementwise. By default the best one.

    Raises
    ------
    InvalidInput
        If the best weights of the model are not known, k or L (at most 2^20) is out of range, or k
        is given for another model.

    See Also
    --------
    bayes_error : The least test error with a known signal.
    critical_strength : The strength at which the best error falls to a level.

    Examples
    --------
    >>> import sparsetoken as st
    >>> problem = st.SparseTokenProblem(length=10, informative=1, strength=5.0)
    >>> st.oracle.best_error(problem, st.Attention()).test_error.round(4).item()
    0.0178
    """
    require_problem(problem)
    require_numbers(problem)
    isotropic_only(problem.tokens, "What the best weights can do")
    check_model(model)
    check_length(problem.length)
    check_sharpness(model, sharpness)
    if sharpness is not None:
        model.network.check_sharpness(sharpness, problem.strength)
    return best_test(model, problem, sharpness)


def check_model(model: Model) -> None:
    """Raise `InvalidInput` unless the best weights of the model are known."""
    known = (Attention, Elementwise, HardAttention, Pooled, Vectorized)
    if not isinstance(model, known):
        legal = "one of " + ", ".join(kind.name for kind in known)
        remedy = "Its best weights are not known."
        if isinstance(model, str):
            remedy = "Write a model, st.Attention() for example."
        raise InvalidInput("model", legal, model, remedy)


def check_sharpness(model: Model | None, sharpness: float | None) -> None:
    """Raise `InvalidInput` unless a fixed k is >= 0, and that of a model whose errors depend on it.

    The model None is the Bayes test.
    """
    if sharpness is None:
        return
    if not isinstance(model, (Attention, Elementwise)):
        name = "the Bayes test" if model is None else model.name
        remedy = "Only attention and elementwise have one to fix."
        raise InvalidInput(f"sharpness of {name}", "None", sharpness, remedy)
    real("sharpness", sharpness, 0.0)


def best_test(
    model: Model,
    problem: SparseTokenProblem,
    sharpness: float | None = None,
    near: float | None = None,
) -> Representation:
    """Return the best test of a model; a best sharpness of a similar problem saves the search."""
    if isinstance(model, Pooled):
        return dataclasses.replace(_mean_test(problem), sharpness=math.nan)
    if isinstance(model, Vectorized):
        return _vectorized(problem)
    network = model.network
    if network == networks.Softmax() and problem.length == 1 and sharpness is None:
        sharpness = 0.0  # all are alike
    free, hard = sharpness is None, network == networks.Hardmax()
    exponential = network in (networks.Softmax(), networks.Elementwise("exp"))
    alike = network.weights(np.zeros(1))[0] > 0  # k = 0 is pooling
    tests = []
    if problem.strength > 0 and sharpness != 0 and not hard:
        sums = oracle_tests(model, problem)
        k = _best_sharpness(sums, problem, near) if sharpness is None else sharpness
        tests.append(_best_level(sums, problem, k))
    if (sharpness == 0 or (free and not hard)) and alike:
        tests.append(_mean_test(problem))
    if problem.strength > 0 and sharpness != 0 and (hard or (free and exponential)):
        tests.append(_largest_token_test(problem))
    tests.append(_always(problem, math.inf if hard else sharpness or 0.0))
    return min(tests, key=lambda test: test.test_error)


@np.errstate(under="ignore")
def error_of_test(model: Model, problem: SparseTokenProblem, test: Representation) -> float:
    """Return the error of a given test, found at another strength, in `problem`."""
    k, c = test.sharpness, test.threshold
    if abs(c) == math.inf:
        return problem.positive_rate if c > 0 else 1 - problem.positive_rate
    if isinstance(model, Vectorized):
        return _spread_error(problem, int(test.positions), c)
    if isinstance(model, Pooled) or k == 0:
        return _spread_error(problem, problem.length, math.sqrt(problem.length) * c)
    if k == math.inf:
        return _largest_token_error(problem, c)
    return error_of_sum(oracle_tests(model, problem).token(k, c), problem, _FINAL)


def _exact(
    problem: SparseTokenProblem, error: float, sharpness: float, threshold: float
) -> Representation:
    return Representation(error, sharpness, threshold, problem.length, 0.0, CONVERGED)


def _always(problem: SparseTokenProblem, sharpness: float) -> Representation:
    """Return the test that always answers with the larger class."""
    pi = problem.positive_rate
    return _exact(problem, min(pi, 1 - pi), sharpness, -math.inf if pi > 0.5 else math.inf)


def _mean_test(problem: SparseTokenProblem) -> Representation:
    """Return the best test of the mean token: normal in both classes.

    Equation: pooled-representation.
    """
    pi, theta, R, L = problem.letters
    snr = theta * R / math.sqrt(L)
    if snr == 0:
        return _always(problem, 0.0)
    threshold = (snr / 2 - math.log(pi / (1 - pi)) / snr) / math.sqrt(L)
    return _exact(problem, normal_error(pi, snr), 0.0, threshold)


def _largest_token_test(problem: SparseTokenProblem) -> Representation:
    """Return the best test max_l t_l > c, the limit of infinite sharpness.

    Equation: largest-token-test.
    """

    def error(c: float) -> float:
        return _largest_token_error(problem, c)

    c = _least(error, np.linspace(-3.0, max(problem.strength, 6.0) + 3.0, 33), 1e-5)
    return _exact(problem, error(c), math.inf, c)


def _largest_token_error(problem: SparseTokenProblem, c: float) -> float:
    pi, theta, R, L = problem.letters
    miss = np.exp((L - R) * log_ndtr(c) + R * log_ndtr(c - theta))
    return float(pi * miss - (1 - pi) * np.expm1(L * log_ndtr(c)))


def _least(error: Callable[[float], float], grid: Iterable[float], xatol: float) -> float:
    """Return the minimum of a function with one valley, flat outside it."""
    points = [float(x) for x in grid]
    at = int(np.argmin([error(x) for x in points]))
    return _least_between(
        error, points[max(at - 1, 0)], points[min(at + 1, len(points) - 1)], xatol
    )


def _least_between(error: Callable[[float], float], low: float, high: float, xatol: float) -> float:
    options = {"xatol": xatol}
    found = scipy.optimize.minimize_scalar(
        error, bounds=(low, high), method="bounded", options=options
    )
    return float(found.x)


def _best_level(tests: OracleTests, problem: SparseTokenProblem, k: float) -> Representation:
    """Return the best test of sharpness k."""
    # A coarse lattice is uneven where k is large: a final level is not chosen by it.
    c = _threshold(tests, problem, k, _CHECK, 2e-3)
    token = tests.token(k, c)
    error, check = (error_of_sum(token, problem, finest) for finest in (_FINAL, _CHECK))
    numerical = abs(error - check)
    remedy = "The sum over tokens is too uneven for its lattice; use a smaller sharpness."
    status = accuracy_status(error, numerical, _ACCURACY, remedy)
    return Representation(error, k, c, problem.length, numerical, status)


def _threshold(
    tests: OracleTests, problem: SparseTokenProblem, k: float, finest: int, tolerance: float
) -> float:
    """Return the best threshold on 2^finest points; levels that matter lie around the medians."""
    low, high = tests.levels(k)

    def token(u: float) -> TokenFunction:
        return tests.token(k, tests.threshold(k, u))

    def median(positive: bool) -> float:
        def above_median(u: float) -> float:
            below = chance_of_rest(token(u), problem, positive=positive, finest=finest)
            return 0.0 if 0.3 < below < 0.7 else below - 0.5  # near enough

        def below_mean(u: float) -> float:
            return -mean_of_sum(token(u), problem, positive=positive, finest=_SEARCH)

        # Sums of many tokens are near normal: where their mean is 0, their median almost is.
        start = _rising_root(below_mean, low, high, 1e-4)
        side = above_median(start)
        if side == 0:
            return start
        return _rising_root(above_median, *((low, start) if side > 0 else (start, high)), 1e-7)

    first, last = sorted(median(positive) for positive in (False, True))
    gap = max(last - first, 1e-6)

    def log_error(u: float) -> float:  # nearer to a parabola
        return math.log(error_of_sum(token(u), problem, finest) + 1e-15)

    ends = max(low, first - gap), min(high, last + gap)
    return tests.threshold(k, _least_between(log_error, *ends, tolerance * gap))


def _rising_root(function: Callable[[float], float], low: float, high: float, xtol: float) -> float:
    """Return where a rising function changes sign, or the end next to it."""
    if function(low) >= 0:
        return low
    if function(high) <= 0:
        return high
    return float(scipy.optimize.brentq(function, low, high, xtol=xtol))


def _best_sharpness(tests: OracleTests, problem: SparseTokenProblem, near: float | None) -> float:
    low, high = np.log(tests.sharpness)
    if low == high:
        return math.exp(low)

    def error(log_k: float) -> float:
        k = math.exp(log_k)
        token = tests.token(k, _threshold(tests, problem, k, _SEARCH, 2e-2))
        return math.log(error_of_sum(token, problem, _CHECK) + 1e-15)

    if near is None or not low < math.log(max(near, 1e-300)) < high:  # at an end: 0 or infinity
        grid = np.linspace(low, high, 2 + math.ceil((high - low) / 1.1))
        return math.exp(_least(error, grid, _NEAR))
    ends = max(low, math.log(near / _STEP)), min(high, math.log(near * _STEP))
    return math.exp(_least_between(error, *ends, _NEAR))


def _vectorized(problem: SparseTokenProblem) -> Representation:
    """Return the best readout spread evenly over some of the positions.

    The number of informative tokens among m positions is hypergeometric.

    Equation: vectorized-representation.
    """
    L = problem.length
    spreads = np.unique(np.round(np.geomspace(1, L, min(L, _SPREADS))).astype(int))
    tests = [(*_spread_test(problem, int(m)), int(m)) for m in spreads]
    error, threshold, m = min([*tests, (_always(problem, 0.0).test_error, math.inf, L)])
    return Representation(error, math.nan, threshold, m, 0.0, CONVERGED)


@functools.lru_cache(maxsize=1024)
def _counts_among(L: int, R: int, m: int) -> tuple[np.ndarray, np.ndarray]:
    """Return numbers of informative tokens among m positions, and their chances."""
    counts = np.arange(min(R, m) + 1)
    return counts, scipy.stats.hypergeom(L, R, m).pmf(counts)


def _spread_test(problem: SparseTokenProblem, m: int) -> tuple[float, float]:
    """Return (error, threshold) of the best test of the sum over m positions / sqrt(m)."""
    pi, theta, R, L = problem.letters
    counts, chance = _counts_among(L, R, m)
    snr = theta * counts / math.sqrt(m)
    odds = math.log((1 - pi) / pi)
    with np.errstate(divide="ignore"):
        log_chance = np.log(chance) - snr**2 / 2

    def log_ratio(b: float) -> float:
        return float(np.logaddexp.reduce(log_chance + b * snr)) - odds

    b = _rising_root(log_ratio, -40.0, float(snr[-1]) + 40.0, 1e-12)
    return _spread_error(problem, m, b), b


def _spread_error(problem: SparseTokenProblem, m: int, b: float) -> float:
    """Return the error of the test that the sum over m positions / sqrt(m) exceeds b."""
    pi, theta, R, L = problem.letters
    counts, chance = _counts_among(L, R, m)
    return float(pi * chance @ ndtr(b - theta * counts / math.sqrt(m)) + (1 - pi) * ndtr(-b))
