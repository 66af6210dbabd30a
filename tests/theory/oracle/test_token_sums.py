"""Laws of sums over tokens against closed forms and plain sampling.

Equations: token-sum-law, oracle-tests.
"""

import math

import numpy as np
import pytest
from scipy.stats import chi2, ncx2, norm

from sparsetoken.model.models import Attention, Elementwise
from sparsetoken.model.problem import SparseTokenProblem
from sparsetoken.theory.oracle.score_tests import oracle_tests
from sparsetoken.theory.oracle.token_sums import chance_of_rest, error_of_sum

SIZES = [(2, 1), (8, 3), (8, 8), (1024, 1), (65536, 1), (65536, 8)]
# Measured: the lattice of 2^13 points is within 1e-3 of these tails, relative.
LATTICE = {"rel": 2e-3, "abs": 1e-6}


def mistakes(token, problem):
    """Return the chances of a miss and of a false alarm."""
    miss, rest = (chance_of_rest(token, problem, positive=one) for one in (True, False))
    pi = problem.positive_rate
    error = error_of_sum(token, problem)
    assert error == pytest.approx(pi * miss + (1 - pi) * (1 - rest), rel=1e-12)
    return miss, 1 - rest


@pytest.mark.parametrize(("length", "informative"), SIZES)
@pytest.mark.parametrize("level", [0.3, 0.01])
def test_a_mean_is_normal(length, informative, level):
    theta = 2.5 * math.sqrt(length) / informative
    problem = SparseTokenProblem(length, informative, theta, 0.3)
    c = norm.isf(level) / math.sqrt(length)
    miss, alarm = mistakes(lambda t: t - c, problem)
    assert alarm == pytest.approx(level, **LATTICE)
    assert miss == pytest.approx(norm.cdf(norm.isf(level) - 2.5), **LATTICE)


@pytest.mark.parametrize(("length", "informative"), SIZES)
def test_a_sum_of_squares_is_chi_squared(length, informative):
    theta = 2 * length**0.25 / math.sqrt(informative)
    problem = SparseTokenProblem(length, informative, theta, 0.3)
    level = chi2.isf(0.02, length)
    miss, alarm = mistakes(lambda t: t**2 - level / length, problem)
    assert alarm == pytest.approx(0.02, **LATTICE)
    expected = ncx2.cdf(level, length, informative * theta**2)
    assert miss == pytest.approx(expected, **LATTICE)


@pytest.mark.parametrize("model", [Attention(), Elementwise(activation="exp")])
@pytest.mark.parametrize(
    ("length", "informative", "sharpness"),
    [(2, 1, 1.0), (8, 3, 0.3), (64, 2, 2.0), (256, 1, 3.0), (1024, 4, 1.0)],
)
def test_sums_meet_plain_sampling(model, length, informative, sharpness):
    problem = SparseTokenProblem(length, informative, 3.5)
    tests = oracle_tests(model, problem)
    rng = np.random.default_rng(length)
    t = rng.standard_normal((2_000_000 // max(length, 40), length))
    scores = np.exp(sharpness * t)
    T = np.sum(t * scores, axis=1)
    T = T / (scores.sum(axis=1) if isinstance(model, Attention) else length)
    c = float(np.quantile(T, 0.9))
    t[:, :informative] += 3.5
    signal = np.exp(sharpness * t)
    shifted = np.sum(t * signal, axis=1)
    shifted /= signal.sum(axis=1) if isinstance(model, Attention) else length
    miss, alarm = mistakes(tests.token(sharpness, c), problem)
    for predicted, sampled in ((alarm, c < T), (miss, shifted <= c)):
        share = sampled.mean()
        error = math.sqrt(max(share * (1 - share), 1 / len(t)) / len(t))
        assert abs(predicted - share) < 4 * error  # 4 standard errors: 20 comparisons


@pytest.mark.parametrize(("length", "c"), [(2, 1.5), (65536, 4.6)])
def test_the_sharpest_weights_leave_the_largest_token(length, c):
    problem = SparseTokenProblem(length, 1, 5.0)
    miss, alarm = mistakes(oracle_tests(Attention(), problem).token(300.0, c), problem)
    # At k = 300 the sum still differs from the largest token by about log(2) / k.
    assert alarm == pytest.approx(1 - norm.cdf(c) ** length, rel=0.02)
    assert miss == pytest.approx(norm.cdf(c) ** (length - 1) * norm.cdf(c - 5), rel=0.02, abs=1e-5)
