"""The best test error over the weights of each model, with the signal direction known."""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import scipy
from scipy.special import log_ndtr, ndtr

from sparsetoken.base.validation import InvalidInput, real
from sparsetoken.model.models import (
    Attention,
    Elementwise,
    HardAttention,
    Model,
    Pooled,
    QueriedModel,
    Vectorized,
)
from sparsetoken.model.problem import SparseTokenProblem, require_problem
from sparsetoken.model.tokens import isotropic_only
from sparsetoken.model.values import require_numbers
from sparsetoken.results import CONVERGED, Status
from sparsetoken.theory.oracle.bayes import accuracy_status, normal_error
from sparsetoken.theory.oracle.score_tests import OracleTests, oracle_tests
from sparsetoken.theory.oracle.token_sums import (
    chance_of_rest,
    check_length,
    mean_of_sum,
    mistake_chances,
)

_SEARCH, _CHECK, _FINAL = 10, 12, 13  # log2 of lattice points
_ACCURACY = 0.01  # relative; a larger numerical error is not called converged
_NEAR = 0.05  # of the logarithm of a sharpness: the error is flat to second order
_SPREADS = 48  # numbers of positions tried for a vectorized readout


@dataclasses.dataclass(frozen=True)
class Representation:
    """The best test error over the weights of a model, and where it is attained.

    Attributes
    ----------
    test_error : float
    sharpness : float
        k of the query: inf where only the largest token counts, 0 where all count
        alike, nan for ``pooled`` and ``vectorized``, which have none.
    threshold : float
        c: the classifier calls positive where its score exceeds c. The score is
        <w, f_q(X)> with w = xi; for ``vectorized`` the sum of <x_l, xi> over
        `positions` tokens, divided by the square root of their number.
    positions : int
        Positions the readout is spread over: L, or fewer for ``vectorized``.
    numerical_error : float
        Change of the test error from half the lattice; 0 in closed form.
    status : Status
    """

    test_error: float
    sharpness: float
    threshold: float
    positions: int
    numerical_error: float
    status: Status


class Candidate(NamedTuple):
    """A test: its error, sharpness, level and threshold, and the error of a check."""

    error: float
    sharpness: float
    level: float
    threshold: float
    check: float


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
        If the best weights of the model are not known, or k or L (at most 2^20) is out of range.

    See Also
    --------
    bayes_error : The least test error with a known signal.
    critical_strength : The strength at which the best error falls to a level.

    Examples
    --------
    >>> import sparsetoken as st
    >>> problem = st.SparseTokenProblem(length=10, informative=1, strength=5.0)
    >>> round(st.oracle.best_error(problem, st.Attention()).test_error, 4)
    0.0178
    """
    require_problem(problem)
    require_numbers(problem)
    isotropic_only(problem.tokens, "What the best weights can do")
    check_model(model)
    check_length(problem.length)
    if sharpness is not None:
        sharpness = real("sharpness", sharpness, 0.0)
        if isinstance(model, QueriedModel):
            model.check_sharpness(sharpness, problem.strength)
    if isinstance(model, Vectorized):
        return _vectorized(problem)
    best = best_test(model, problem, sharpness)
    numerical = abs(best.error - best.check)
    remedy = "The sum over tokens is too uneven for its lattice; use a smaller sharpness."
    status = accuracy_status(best.error, numerical, _ACCURACY, remedy)
    k = math.nan if isinstance(model, Pooled) else best.sharpness
    return Representation(best.error, k, best.threshold, problem.length, numerical, status)


def check_model(model: Model) -> None:
    """Raise `InvalidInput` unless the best weights of the model are known."""
    known = (Attention, Elementwise, HardAttention, Pooled, Vectorized)
    if not isinstance(model, known):
        legal = "one of " + ", ".join(kind.name for kind in known)
        raise InvalidInput("model", legal, model, "Its best weights are not known.")


def best_test(
    model: Model,
    problem: SparseTokenProblem,
    sharpness: float | None = None,
    near: float | None = None,
    *,
    rough: bool = False,
) -> Candidate:
    """Return the best test of a model other than ``vectorized``.

    A sharpness within a factor 1.6 of the best one saves the search. A rough test is the best one
    of few sharpnesses.
    """
    one_token = isinstance(model, Attention) and problem.length == 1 and sharpness is None
    if isinstance(model, Pooled) or one_token or (sharpness == 0 and _weighs_alike(model)):
        return _mean_test(problem)
    if isinstance(model, HardAttention) and problem.strength > 0:
        largest, constant = _largest_token_test(problem), _always(problem, math.inf)
        return largest if largest.error < constant.error else constant
    if problem.strength == 0 or sharpness == 0:
        return _always(problem, sharpness or 0.0)
    tests = oracle_tests(model, problem)
    if sharpness is not None:
        candidates = [_best_level(tests, problem, sharpness)]
    else:
        candidates = [_best_level(tests, problem, _best_sharpness(tests, problem, near, rough))]
        if _weighs_alike(model):
            candidates.append(_mean_test(problem))
        if isinstance(model, Attention) or _is_exponential(model):
            candidates.append(_largest_token_test(problem))
    return min([*candidates, _always(problem, sharpness or 0.0)], key=lambda test: test.error)


@np.errstate(under="ignore")
def error_of_test(model: Model, problem: SparseTokenProblem, test: Candidate) -> float:
    """Return the error of a given test, found at another strength, in `problem`."""
    pi, theta, R, L = problem.letters
    k, c = test.sharpness, test.threshold
    if abs(c) == math.inf:
        return pi if c > 0 else 1 - pi
    if k == 0:
        root = math.sqrt(L)
        return float(pi * ndtr(root * c - theta * R / root) + (1 - pi) * ndtr(-root * c))
    if k == math.inf:
        return _largest_token_error(problem, c)
    tests = oracle_tests(model, problem)
    return mistake_chances(tests.token(k, test.level), problem, _FINAL).error(pi)


def _weighs_alike(model: Model) -> bool:
    """Return whether k = 0 is pooling: scores of 0 give a weight > 0."""
    return isinstance(model, QueriedModel) and bool(model.weights(np.zeros(1))[0] > 0)


def _is_exponential(model: Model) -> bool:
    return isinstance(model, Elementwise) and model.activation == "exp"


def _always(problem: SparseTokenProblem, sharpness: float) -> Candidate:
    """Return the test that always answers with the larger class."""
    pi = problem.positive_rate
    threshold = -math.inf if pi > 0.5 else math.inf
    return Candidate(min(pi, 1 - pi), sharpness, threshold, threshold, min(pi, 1 - pi))


def _mean_test(problem: SparseTokenProblem) -> Candidate:
    """Return the best test of the mean token: normal in both classes.

    Equation: pooled-representation.
    """
    pi, theta, R, L = problem.letters
    snr = theta * R / math.sqrt(L)
    if snr == 0:
        return _always(problem, 0.0)
    error = normal_error(pi, snr)
    threshold = (snr / 2 - math.log(pi / (1 - pi)) / snr) / math.sqrt(L)
    return Candidate(error, 0.0, threshold, threshold, error)


def _largest_token_test(problem: SparseTokenProblem) -> Candidate:
    """Return the best test max_l t_l > c, the limit of infinite sharpness.

    Equation: largest-token-test.
    """

    def error(c: float) -> float:
        return _largest_token_error(problem, c)

    c = _least(error, np.linspace(-3.0, max(problem.strength, 6.0) + 3.0, 33))
    return Candidate(error(c), math.inf, c, c, error(c))


def _largest_token_error(problem: SparseTokenProblem, c: float) -> float:
    pi, theta, R, L = problem.letters
    miss = np.exp((L - R) * log_ndtr(c) + R * log_ndtr(c - theta))
    return float(pi * miss - (1 - pi) * np.expm1(L * log_ndtr(c)))


def _least(error: Callable[[float], float], grid: np.ndarray) -> float:
    """Return the minimum of a function with one valley, flat outside it."""
    at = int(np.argmin([error(float(x)) for x in grid]))
    ends = float(grid[max(at - 1, 0)]), float(grid[min(at + 1, len(grid) - 1)])
    return _least_between(error, ends, 1e-5)


def _least_between(
    error: Callable[[float], float], ends: tuple[float, float], xatol: float
) -> float:
    minimum = scipy.optimize.minimize_scalar(
        error, bounds=ends, method="bounded", options={"xatol": xatol}
    )
    return float(minimum.x)


def _best_level(
    tests: OracleTests, problem: SparseTokenProblem, k: float, finest: int = _FINAL
) -> Candidate:
    """Return the best test of sharpness k, its error on 2^finest lattice points.

    The useful levels lie around the medians of the two classes.
    """
    low, high = tests.levels(k)
    # A coarse lattice is uneven where k is large: a final level is not chosen by it.
    search = _CHECK if finest == _FINAL else _SEARCH

    def median(positive: bool) -> float:
        def above_median(u: float) -> float:
            below = chance_of_rest(tests.token(k, u), problem, positive=positive, finest=search)
            return 0.0 if 0.3 < below < 0.7 else below - 0.5  # near enough

        def below_mean(u: float) -> float:
            return -mean_of_sum(tests.token(k, u), problem, positive=positive, finest=_SEARCH)

        # Sums of many tokens are near normal: where their mean is 0, their median almost is.
        start = _rising_root(below_mean, low, high, 1e-4)
        side = above_median(start)
        if side == 0:
            return start
        return _rising_root(above_median, *((low, start) if side > 0 else (start, high)), 1e-7)

    medians = [median(positive) for positive in (False, True)]
    gap = max(abs(medians[1] - medians[0]), 1e-6)
    pi = problem.positive_rate

    def error(u: float, finest: int) -> float:
        return mistake_chances(tests.token(k, u), problem, finest).error(pi)

    def log_error(u: float) -> float:  # nearer to a parabola
        return math.log(error(u, search) + 1e-15)

    ends = (max(low, min(medians) - gap), min(high, max(medians) + gap))
    u = _least_between(log_error, ends, (2e-3 if finest == _FINAL else 2e-2) * gap)
    least = error(u, finest)
    check = error(u, _CHECK) if finest == _FINAL else least
    return Candidate(least, k, u, tests.threshold(k, u), check)


def _rising_root(function: Callable[[float], float], low: float, high: float, xtol: float) -> float:
    """Return where a rising function changes sign, or the end next to it."""
    if function(low) >= 0:
        return low
    if function(high) <= 0:
        return high
    return float(scipy.optimize.brentq(function, low, high, xtol=xtol))


def _best_sharpness(
    tests: OracleTests, problem: SparseTokenProblem, near: float | None, rough: bool
) -> float:
    low, high = np.log(tests.sharpness)
    if low == high:
        return math.exp(low)

    def error(log_k: float, finest: int = _CHECK) -> float:
        return math.log(_best_level(tests, problem, math.exp(log_k), finest).error + 1e-15)

    if near is None or not low < math.log(max(near, 1e-300)) < high:  # at an end: 0 or infinity
        grid = np.linspace(low, high, 2 + math.ceil((high - low) / (2.2 if rough else 1.1)))
        at = int(np.argmin([error(float(x), _SEARCH if rough else _CHECK) for x in grid]))
        if rough:
            return math.exp(grid[at])
        ends = float(grid[max(at - 1, 0)]), float(grid[min(at + 1, len(grid) - 1)])
    else:
        middle = math.log(near)
        ends = max(low, middle - math.log(1.6)), min(high, middle + math.log(1.6))
    return math.exp(_least_between(error, ends, _NEAR))


def _vectorized(problem: SparseTokenProblem) -> Representation:
    """Return the best readout spread evenly over some of the positions.

    The number of informative tokens among m positions is hypergeometric.

    Equation: vectorized-representation.
    """
    L = problem.length
    spreads = np.unique(np.round(np.geomspace(1, L, min(L, _SPREADS))).astype(int))
    tests = [(*_spread_test(problem, int(m)), int(m)) for m in spreads]
    error, threshold, m = min([*tests, (*_always(problem, 0.0)[:1], math.inf, L)])
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

    low, high = -40.0, float(snr[-1]) + 40.0
    if log_ratio(low) >= 0 or log_ratio(high) <= 0:
        b = low if log_ratio(low) >= 0 else high
    else:
        b = scipy.optimize.brentq(log_ratio, low, high, xtol=1e-12)
    return float(pi * chance @ ndtr(b - snr) + (1 - pi) * ndtr(-b)), float(b)
