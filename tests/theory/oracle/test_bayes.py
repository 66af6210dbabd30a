"""The Bayes error against closed forms, plain sampling and direct integration.

Equations: bayes-test.
"""

import math
from itertools import combinations

import numpy as np
import pytest
from scipy.stats import norm

from sparsetoken.base.validation import InvalidInput
from sparsetoken.model.problem import SparseTokenProblem
from sparsetoken.results import StatusCode
from sparsetoken.theory.oracle import bayes, bayes_error


def brute(problem, draws, seed):
    """Return mean and standard error of the smaller posterior, by all sets of positions."""
    pi, theta, R, L = problem.letters
    rng = np.random.default_rng(seed)
    sets = np.array(list(combinations(range(L), R)))
    values = np.zeros(draws)
    for share, shift in ((pi, theta), (1 - pi, 0.0)):
        t = rng.standard_normal((draws, L))
        t[:, :R] += shift
        ratio = np.exp(theta * t[:, sets].sum(axis=2) - theta**2 * R / 2).mean(axis=1)
        values += share * np.minimum(pi * ratio, 1 - pi) / (pi * ratio + 1 - pi)
    return values.mean(), values.std() / math.sqrt(draws)


@pytest.mark.parametrize(
    ("length", "informative", "strength", "rate"),
    [(2, 1, 2.0, 0.5), (6, 1, 2.5, 0.2), (5, 2, 1.5, 0.7), (8, 4, 1.6, 0.2), (6, 5, 1.0, 0.5)],
)
def test_short_sequences_by_all_sets_of_positions(length, informative, strength, rate):
    problem = SparseTokenProblem(length, informative, strength, rate)
    found = bayes_error(problem)
    mean, error = brute(problem, 100_000, 1)
    assert found.status.converged
    # 4 standard errors: five comparisons
    assert abs(found.test_error - mean) < 4 * math.hypot(error, found.numerical_error)


@pytest.mark.parametrize(("length", "informative", "strength"), [(200, 3, 2.6), (400, 8, 1.7)])
def test_the_rest_enters_through_its_sums(length, informative, strength, monkeypatch):
    """With all tokens drawn one by one nothing is approximated."""
    problem = SparseTokenProblem(length, informative, strength)
    found = bayes_error(problem)
    monkeypatch.setattr(bayes, "_LARGEST_TOKENS", length)
    exact = bayes_error(problem, points=512)
    error = math.hypot(found.numerical_error, exact.numerical_error)
    assert found.test_error == pytest.approx(exact.test_error, abs=4 * error)


@pytest.mark.parametrize(("length", "strength"), [(8, 3.0), (1024, 5.0), (65536, 6.5)])
def test_lattice_and_sample_agree_for_one_token(length, strength):
    problem = SparseTokenProblem(length, 1, strength)
    found = bayes_error(problem)
    sampled = bayes._sampled(problem, 512)
    error = sampled.std(ddof=1) / math.sqrt(len(sampled))
    # The lattice is within 3e-4, relative; see the numerical error.
    assert abs(found.test_error - sampled.mean()) < 5 * error + 3e-4 * found.test_error


@pytest.mark.parametrize("length", [1, 4, 8])
@pytest.mark.parametrize("rate", [0.5, 0.1])
def test_all_tokens_informative_is_a_normal_test(length, rate):
    theta = 1.2
    d = theta * math.sqrt(length)
    b = d / 2 + math.log((1 - rate) / rate) / d
    expected = rate * norm.cdf(b - d) + (1 - rate) * norm.sf(b)
    found = bayes_error(SparseTokenProblem(length, length, theta, rate))
    assert found.test_error == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("strength", [40.0, 1e3, 1e6])
@pytest.mark.parametrize(("length", "informative"), [(4, 1), (65536, 1), (4, 2), (4096, 3)])
def test_nothing_overflows(length, informative, strength):
    found = bayes_error(SparseTokenProblem(length, informative, strength), points=64)
    assert found.test_error == pytest.approx(0.0, abs=1e-6)


def test_no_points_are_refused():
    with pytest.raises(InvalidInput, match="points"):
        bayes_error(SparseTokenProblem(4, 2, 1.0), points=0)


def test_too_few_points_are_not_called_converged():
    found = bayes_error(SparseTokenProblem(20, 4, 3.0), points=1)
    assert found.status.code is StatusCode.TOLERANCE_NOT_REACHED
    assert found.status.remedy


@pytest.mark.parametrize(("length", "informative"), [(330, 260), (100_000, 100)])
def test_many_informative_tokens_of_a_weak_signal_are_seen_by_the_mean(length, informative):
    """Few others have no more products than there are; of many others products are large."""
    problem = SparseTokenProblem(length, informative, 0.05)
    found = bayes_error(problem, points=32)
    expected = bayes.normal_error(0.5, 0.05 * informative / math.sqrt(length))
    assert found.test_error == pytest.approx(expected, abs=0.01)


def test_more_informative_tokens_are_refused_unless_all_are():
    with pytest.raises(InvalidInput, match=r"\(R\) must be an integer in \[1, 512\]"):
        bayes_error(SparseTokenProblem(514, 513, 1.0), points=1)
    assert bayes_error(SparseTokenProblem(513, 513, 0.05)).status.converged
