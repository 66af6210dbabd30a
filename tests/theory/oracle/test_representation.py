"""Best errors and critical strengths.

Equations: representation-error, pooled-representation, largest-token-test,
vectorized-representation, critical-strength.
"""

import math

import numpy as np
import pytest
from scipy.stats import hypergeom, norm

from sparsetoken.base.validation import InvalidInput
from sparsetoken.model.architectures.weights import ACTIVATIONS
from sparsetoken.model.models import Attention, Elementwise, HardAttention, Pooled, Vectorized
from sparsetoken.model.problem import SparseTokenProblem
from sparsetoken.theory.oracle import bayes_error, best_error, critical_strength

MODELS = [Pooled(), Vectorized(), Attention(), *(Elementwise(activation=a) for a in ACTIVATIONS)]


def sampled_error(model, problem, draws, k):
    """Return the least error over thresholds on a plain sample, by sorting."""
    pi, theta, R, L = problem.letters
    rng = np.random.default_rng(7)
    scores = []
    for shift in (theta, 0.0):
        t = rng.standard_normal((draws, L))
        t[:, :R] += shift
        if isinstance(model, Attention):
            a = np.exp(k * (t - t.max(axis=1, keepdims=True)))
            scores.append((a * t).sum(axis=1) / a.sum(axis=1))
        else:
            scores.append((ACTIVATIONS[model.activation](k * t) * t).mean(axis=1))
    values = np.concatenate(scores)
    label = np.repeat([1.0, 0.0], draws)[np.argsort(values)]
    miss, alarm = np.cumsum(label) / draws, 1 - np.cumsum(1 - label) / draws
    return float(np.min(pi * miss + (1 - pi) * alarm))


@pytest.mark.parametrize(
    ("model", "length", "informative", "rate"),
    [
        (Attention(), 4, 1, 0.5),
        (Attention(), 6, 3, 0.3),
        *((Elementwise(activation=name), 6, 3, 0.3) for name in ("relu", "exp")),
        *(
            pytest.param(Elementwise(activation=name), 6, 3, 0.3, marks=pytest.mark.slow)
            for name in ("erf", "tanh")
        ),
    ],
)
def test_no_sharpness_and_threshold_do_better_on_a_sample(model, length, informative, rate):
    problem = SparseTokenProblem(length, informative, 2.0, rate)
    draws = 60_000
    found = best_error(problem, model)
    grid = [0.01, 0.1, 0.3, 0.6, 1.0, 2.0, 4.0, 8.0, 15.0]
    best = min(sampled_error(model, problem, draws, k) for k in grid)
    error = math.sqrt(found.test_error / draws)
    assert found.status.converged
    # The least of a sample lies below its mean by about one standard error, and the grid
    # of k misses the best by less than 3 percent.
    assert -4 * error < best - found.test_error < 3 * error + 0.03 * found.test_error


@pytest.mark.parametrize("model", [*MODELS[:4], MODELS[-1]])
@pytest.mark.parametrize(
    ("length", "informative", "strength", "rate"),
    [(2, 1, 3.0, 0.5), (8, 3, 2.0, 0.2), (65536, 1, 7.0, 0.5)],
)
def test_bayes_is_never_above(model, length, informative, strength, rate):
    problem = SparseTokenProblem(length, informative, strength, rate)
    bayes = bayes_error(problem, points=1024)
    found = best_error(problem, model)
    slack = 3 * math.hypot(bayes.numerical_error, found.numerical_error)
    assert bayes.test_error <= found.test_error + slack + 1e-4 * found.test_error


@pytest.mark.parametrize("length", [1, 5])
def test_with_all_tokens_informative_all_are_pooled(length):
    problem = SparseTokenProblem(length, length, 1.1, 0.3)
    expected = bayes_error(problem).test_error
    for model in (Pooled(), Vectorized(), Attention()):
        # Attention finds k = 0, or with one token any k: the lattice is good to 1e-4.
        assert best_error(problem, model).test_error == pytest.approx(expected, rel=1e-4)


def test_a_query_of_low_sharpness_pools():
    problem = SparseTokenProblem(20, 4, 2.0, 0.4)
    pooled = best_error(problem, Pooled())
    assert best_error(problem, Attention(), sharpness=0.0).test_error == pooled.test_error
    almost = best_error(problem, Attention(), sharpness=1e-3)
    # k = 1e-3 changes the error in its third digit.
    assert almost.test_error == pytest.approx(pooled.test_error, rel=5e-3)
    tanh = best_error(problem, Elementwise(activation="tanh"), sharpness=0.0)
    assert tanh.test_error == 0.4  # all weights are 0


def test_pooled_matches_a_search_over_the_bias():
    pi, theta, R, L = 0.2, 3.0, 2, 9
    b = np.linspace(-5, 10, 200_001)
    snr = theta * R / math.sqrt(L)
    expected = np.min(pi * norm.cdf(b - snr) + (1 - pi) * norm.sf(b))
    found = best_error(SparseTokenProblem(L, R, theta, pi), Pooled())
    assert found.test_error == pytest.approx(expected, rel=1e-9)
    miss = norm.cdf(math.sqrt(L) * (found.threshold - theta * R / L))
    alarm = norm.sf(math.sqrt(L) * found.threshold)
    assert pi * miss + (1 - pi) * alarm == pytest.approx(found.test_error, rel=1e-12)


@pytest.mark.parametrize(
    ("L", "informative", "strength", "rate"),
    # In the last two the best readout sees two or three positions, of which some are informative.
    [(6, 1, 4.0, 0.5), (6, 3, 2.0, 0.8), (64, 2, 6.0, 0.02), (64, 2, 8.0, 0.002)],
)
def test_vectorized_matches_all_spreads(L, informative, strength, rate):
    b = np.linspace(-20, 20, 40_001)[:, None]
    errors = []
    for m in range(1, L + 1):
        j = np.arange(min(informative, m) + 1)
        chance = hypergeom(L, informative, m).pmf(j)
        miss = (chance * norm.cdf(b - strength * j / math.sqrt(m))).sum(axis=1)
        errors.append(np.min(rate * miss + (1 - rate) * norm.sf(b[:, 0])))
    found = best_error(SparseTokenProblem(L, informative, strength, rate), Vectorized())
    assert found.positions == 1 + int(np.argmin(errors))
    assert found.test_error == pytest.approx(min(errors), rel=1e-6)  # of the grid of b


def test_the_largest_token_is_the_limit_of_sharp_queries():
    problem = SparseTokenProblem(64, 1, 5.0)
    c = np.linspace(1, 6, 20_001)
    largest = np.min(0.5 * norm.cdf(c) ** 63 * norm.cdf(c - 5) + 0.5 * (1 - norm.cdf(c) ** 64))
    sharp = best_error(problem, Attention(), sharpness=100.0)
    assert sharp.test_error == pytest.approx(largest, rel=0.02)  # k is not infinite
    assert best_error(problem, Attention()).test_error <= largest * (1 + 1e-9)
    hard = best_error(problem, HardAttention())
    assert hard.test_error == pytest.approx(largest, rel=1e-6)  # of the grid of c


@pytest.mark.parametrize(("length", "informative"), [(8, 1), (512, 4), (65536, 1)])
def test_pooled_critical_strength_is_closed_form(length, informative):
    found = critical_strength(Pooled(), length, informative=informative, error_level=0.02)
    expected = -2 * norm.ppf(0.02) * math.sqrt(length) / informative
    assert found.strength == pytest.approx(expected, rel=2e-4)  # of the root


@pytest.mark.parametrize(
    ("model", "sharpness"),
    [
        (Vectorized(), None),
        (Attention(), None),
        pytest.param(Elementwise(activation="exp"), None, marks=pytest.mark.slow),
    ],
)
def test_at_the_critical_strength_the_error_is_the_level(model, sharpness):
    options = {"informative": 2, "positive_rate": 0.3, "error_level": 0.05}
    found = critical_strength(model, 100, sharpness=sharpness, **options)
    assert found.status.converged
    problem = SparseTokenProblem(100, 2, found.strength, 0.3)
    at = best_error(problem, model, sharpness=sharpness)
    assert at.test_error == pytest.approx(0.05, rel=5e-3)  # 1e-3 in the strength


PROBLEM = SparseTokenProblem(4, 1, 1.0)


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda: best_error(PROBLEM, "mean"), "model"),
        (lambda: best_error(SparseTokenProblem(4, 1, [1.0, 2.0]), Pooled()), "strength"),
        (lambda: best_error(PROBLEM, Attention(), sharpness=-1.0), "sharpness"),
        (lambda: best_error(PROBLEM, Elementwise(activation="exp"), sharpness=60.0), "exp"),
        (lambda: critical_strength("mean", 4), "model"),
        (lambda: critical_strength(Pooled(), 1), "length"),
        (lambda: critical_strength(Pooled(), 4, informative=5), "length"),
        (lambda: critical_strength(Pooled(), 4, error_level=0.5), "error_level"),
        (lambda: critical_strength(Pooled(), 4, positive_rate=0.1, error_level=0.2), "error_level"),
        (lambda: critical_strength(Pooled(), 4, error_level=0.0), "error_level"),
        (lambda: critical_strength(Attention(), 4, sharpness=-1.0), "sharpness"),
        (lambda: critical_strength("attention", 4), r"Write a model, st\.Attention\(\)"),
        (lambda: critical_strength(None, 2**20 + 1), "length"),
        (lambda: critical_strength(None, 16, sharpness=2.0), "sharpness of the Bayes test"),
        (lambda: critical_strength(Pooled(), 16, sharpness=2.0), "sharpness of pooled"),
        (lambda: best_error(PROBLEM, Vectorized(), sharpness=2.0), "sharpness of vectorized"),
        (lambda: best_error(PROBLEM, HardAttention(), sharpness=2.0), "sharpness of hard"),
        (lambda: best_error(SparseTokenProblem(2**20 + 1, 1, 1.0), Attention()), "length"),
        (lambda: bayes_error(SparseTokenProblem(2**20 + 1, 1, 1.0)), "length"),
    ],
)
def test_bad_input_is_refused(call, name):
    with pytest.raises(InvalidInput, match=name):
        call()
