"""The Bayes-optimal error.

Equations: bayes-learner, position-overlap.
"""

import dataclasses
import math
from itertools import combinations

import numpy as np
import pytest
from scipy.special import softmax

from sparsetoken.base.validation import InvalidInput
from sparsetoken.model.descent import Descent
from sparsetoken.model.problem import SparseTokenProblem
from sparsetoken.theory import descend
from sparsetoken.theory.oracle import bayes, bayes_error, learning_error
from sparsetoken.theory.oracle.bayes import token_nodes
from sparsetoken.theory.oracle.learning import position_overlap


@pytest.mark.parametrize(
    ("letters", "alpha", "cosine", "error", "oracle"),
    [
        ((10, 1, 3.0, 0.5), 1.0, 0.88103, 0.20490, 0.15744),
        ((10, 1, 5.0, 0.5), 0.5, 0.92808, 0.028639, 0.017821),
        ((8, 2, 2.5, 0.2), 2.0, 0.8881, 0.09345, 0.06940),
    ],
)
def test_reference_points(letters, alpha, cosine, error, oracle):
    found = learning_error(SparseTokenProblem(*letters), alpha)
    assert found.status.converged
    # The references were sampled; two units of the last digit given but one.
    assert found.cosine == pytest.approx(cosine, abs=1e-4)
    assert found.test_error == pytest.approx(error, rel=1e-3)
    assert found.oracle_error == pytest.approx(oracle, rel=1e-3)


@pytest.mark.parametrize(("L", "R", "snr"), [(4, 1, 2.0), (5, 2, 1.0), (6, 4, 3.0), (3, 3, 1.0)])
def test_overlaps_by_all_sets_of_positions(L, R, snr):
    rng = np.random.default_rng(2)
    draws = 200_000
    scores = math.sqrt(snr) * rng.standard_normal((draws, L))
    scores[:, :R] += snr
    sets = np.array([np.isin(range(L), s) for s in combinations(range(L), R)], dtype=float)
    values = (softmax(scores @ sets.T, axis=1) @ sets)[:, :R].sum(axis=1)
    problem = SparseTokenProblem(L, R, 1.0)
    nodes = token_nodes(L, R, 4096, rng)
    allowance = 4 * values.std() / math.sqrt(draws) + 2e-3 * R
    assert position_overlap(problem, snr, nodes) == pytest.approx(values.mean(), abs=allowance)


def test_the_bayes_error_falls_to_the_oracle():
    problem = SparseTokenProblem(6, 1, 3.0)
    found = [learning_error(problem, alpha) for alpha in (0.1, 1.0, 10.0, 1e4)]
    errors = [one.test_error for one in found]
    assert errors == sorted(errors, reverse=True)
    assert errors[-1] == pytest.approx(found[0].oracle_error, rel=1e-3)
    assert learning_error(dataclasses.replace(problem, strength=0.0), 1.0).cosine == 0


@pytest.mark.parametrize("alpha", [0.4, 3.0])
def test_all_tokens_informative_is_a_mean_in_noise(alpha):
    """All positions are known: gamma = theta^2 alpha pi L."""
    problem = SparseTokenProblem(4, 4, 1.2, 0.4)
    known = 1 - 1 / (1 + 1.2**2 * alpha * 0.4 * 4)
    found = learning_error(problem, alpha)
    assert found.cosine**2 == pytest.approx(known)
    weaker = dataclasses.replace(problem, strength=1.2 * math.sqrt(known))
    assert found.test_error == pytest.approx(bayes_error(weaker).test_error)


def test_descent_stays_above_the_bayes_error():
    problem = SparseTokenProblem(10, 1, 5.0)
    found = descend(problem, Descent(alpha=2.0, steps=4, rates=[4, 1], start=0), replicas=2)
    bayes = learning_error(problem, 2.0).test_error
    assert found.test_error.min() > bayes + 2 * found.numerical_error


def test_of_several_solutions_the_posterior_takes_the_likeliest():
    """A weak signal in long bags: message passing ends where nearly nothing is known."""
    problem = SparseTokenProblem(300, 1, 5.0)
    found = learning_error(problem, 0.3, points=256)
    assert found.reachable_cosine < 0.2
    assert found.cosine > 0.8
    few = learning_error(problem, 0.06, points=256)
    assert few.cosine == few.reachable_cosine < 0.2


@pytest.mark.parametrize("alpha", [0.12, 0.13])
def test_the_free_energy_decides_between_two_solutions(alpha):
    """Its difference is the integral of (gamma(Q) - Q/(1 - Q))/2, here on a grid in Q."""
    problem, nodes = (
        SparseTokenProblem(300, 1, 5.0),
        token_nodes(300, 1, 2048, np.random.default_rng(0)),
    )
    Q = np.concatenate([np.geomspace(1e-4, 0.05, 60), np.linspace(0.051, 0.9, 200)])
    overlap = np.array([position_overlap(problem, 25 * one, nodes) for one in Q])
    slope = 0.5 * (25 * alpha * 0.5 * overlap - Q / (1 - Q))
    low, _, high = np.flatnonzero(np.diff(np.sign(slope)))
    gain = np.trapezoid(slope[low:high], Q[low:high])
    assert (gain > 0) == (alpha == 0.13)
    found = learning_error(problem, alpha, points=256)
    # Within the grid, which is 11% wide at the lower solution.
    assert found.reachable_cosine**2 == pytest.approx(Q[low], rel=0.15)
    assert found.cosine**2 == pytest.approx(Q[high if gain > 0 else low], rel=0.15)


def test_the_stated_error_is_the_spread_of_seeds(monkeypatch):
    found = []
    for seed in range(12):
        monkeypatch.setattr(bayes, "_SEED", seed)
        found.append(learning_error(SparseTokenProblem(10, 2, 3.0), 0.6, points=64))
    errors = np.array([one.test_error for one in found])
    stated = np.array([one.numerical_error for one in found])
    # Half of a 95% interval of Student's t is 1/0.85 standard deviations; 12 seeds know it to 20%.
    assert 0.5 < errors.std(ddof=1) / np.sqrt(np.mean(stated**2)) < 1.4


@pytest.mark.parametrize("alpha", [0.0, -1.0, math.nan, math.inf])
def test_bad_loads(alpha):
    with pytest.raises(InvalidInput, match="alpha"):
        learning_error(SparseTokenProblem(), alpha)


def test_bad_problems():
    with pytest.raises(InvalidInput, match="points"):
        learning_error(SparseTokenProblem(), 1.0, points=0)


def test_a_strength_whose_square_is_0_to_rounding_teaches_nothing():
    found = learning_error(SparseTokenProblem(length=4, strength=1e-300), 1.0, points=64)
    assert found.cosine == 0
    assert found.test_error == pytest.approx(0.5)
