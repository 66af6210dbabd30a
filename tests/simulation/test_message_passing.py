"""Message passing against its definitions, and against the Bayes-optimal error that it reaches.

Equations: bayes-learner, position-overlap.
"""

import math
from itertools import combinations

import numpy as np
import pytest
from scipy.special import softmax

from sparsetoken.model.problem import SparseTokenProblem
from sparsetoken.simulation import pass_messages
from sparsetoken.simulation.message_passing import position_chances
from sparsetoken.theory.oracle import learning_error


@pytest.mark.parametrize(("L", "R"), [(1, 1), (4, 1), (5, 2), (5, 4), (3, 3)])
def test_chances_by_all_sets_of_positions(L, R):
    scores = 3 * np.random.default_rng(1).standard_normal((6, L))
    sets = np.array([np.isin(range(L), s) for s in combinations(range(L), R)], dtype=float)
    expected = softmax(scores @ sets.T, axis=1) @ sets
    np.testing.assert_allclose(position_chances(scores, R), expected, atol=1e-12)


@pytest.mark.parametrize(
    ("letters", "alpha"),
    [((10, 1, 3.0, 0.5), 1.0), ((8, 2, 2.5, 0.2), 2.0), ((4, 4, 1.0, 0.5), 2.0)],
)
def test_message_passing_reaches_the_bayes_error(letters, alpha):
    """Within 4 standard errors and the finite-size correction, of order 1/d."""
    problem, d = SparseTokenProblem(*letters), 200
    bayes = learning_error(problem, alpha)
    found = pass_messages(problem, alpha, dimension=d, trials=8, seed=3)
    assert found.status.converged
    for name in ("cosine", "test_error"):
        allowance = 4 * getattr(found.standard_error, name) + 2 / d
        assert getattr(found.mean, name) == pytest.approx(getattr(bayes, name), abs=allowance)
    assert found.trials.iterations.shape == (8,)


def test_without_a_signal_nothing_is_learned():
    problem = SparseTokenProblem(4, 1, 0.0, 0.3)
    found = pass_messages(problem, 1.0, dimension=20, trials=1)
    assert (found.mean.cosine, found.mean.test_error) == (0.0, 0.3)
    assert math.isnan(found.standard_error.cosine)


def test_too_few_rounds_are_said():
    problem = SparseTokenProblem(4, 1, 3.0)
    found = pass_messages(problem, 1.0, dimension=50, trials=2, iterations=2)
    assert not found.status.converged
    assert "more iterations" in found.status.remedy
