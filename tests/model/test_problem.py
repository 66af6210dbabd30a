"""The task as a value: validation, samples."""

import collections

import jax.numpy as jnp
import numpy as np
import pytest
from scipy.stats import chisquare, kstest

from sparsetoken.base.validation import InvalidInput
from sparsetoken.model.problem import SparseTokenProblem
from sparsetoken.model.tokens import Isotropic


def test_there_are_at_most_as_many_informative_tokens_as_tokens():
    with pytest.raises(InvalidInput, match="L = 4"):
        SparseTokenProblem(4, 5, 1.0)


def test_labels_have_the_positive_rate():
    y = SparseTokenProblem(3, 1, 1.0, 0.2).sample_labels(20000, np.random.default_rng(0))
    assert set(y) == {-1, 1}
    # four binomial standard errors
    assert np.mean(y == 1) == pytest.approx(0.2, abs=4 * 0.4 / np.sqrt(20000))


def test_every_set_of_positions_is_equally_likely():
    problem = SparseTokenProblem(5, 2, 1.0)
    v = problem.sample_positions(20000, np.random.default_rng(1))
    counts = collections.Counter(map(tuple, v))
    assert len(counts) == 10
    assert all(sum(row) == 2 for row in counts)
    # fails once in 1000 seeds
    assert chisquare(list(counts.values())).pvalue > 1e-3


def test_tokens_are_noise_plus_signal_at_the_positions():
    problem = SparseTokenProblem(4, 2, 3.0, 0.5)
    xi = np.array([0.6, 0.0, -0.8])
    X, y = problem.sample(4000, xi, np.random.default_rng(3))
    assert X.shape == (4000, 4, 3)
    assert X.dtype == np.float64
    assert kstest(X[y == -1].ravel(), "norm").pvalue > 1e-3
    along = X[y == 1] @ xi
    # two of four projections carry 3: mean 1.5, second moment 1 + 4.5
    n = along.size
    assert along.mean() == pytest.approx(1.5, abs=4.5 * np.sqrt(3.25 / n))
    assert np.mean(along**2) == pytest.approx(5.5, abs=4.5 * np.sqrt(60 / n))
    across = X[y == 1] @ np.array([0.8, 0.0, 0.6])
    assert kstest(across.ravel(), "norm").pvalue > 1e-3


def test_token_type():
    problem = SparseTokenProblem(2, 1, 1.0)
    X, _ = problem.sample(3, np.ones(1), np.random.default_rng(0), np.float32)
    assert X.dtype == np.float32


def test_arrays_are_kept_as_tuples():
    problem = SparseTokenProblem(4, 1, np.array([[1.0, 2.0], [3.0, 4.0]]), [0.2, 0.5])
    assert problem.strength == ((1.0, 2.0), (3.0, 4.0))
    assert problem.positive_rate == (0.2, 0.5)
    assert hash(problem) == hash(SparseTokenProblem(4, 1, [[1, 2], [3, 4]], (0.2, 0.5)))
    assert SparseTokenProblem(4, 1, jnp.array([1.0, 2.0])).strength == (1.0, 2.0)
    assert SparseTokenProblem(4, 1, np.float64(2.0)) == SparseTokenProblem(4, 1, np.array(2.0))
    for strength, word in (
        ([1.0, -1.0], "entry"),
        ([], "one number or more"),
        ([[1], [1, 2]], "array of numbers"),
        (["1", "2"], "array of numbers"),
        ([True, False], "array of numbers"),
    ):
        with pytest.raises(InvalidInput, match=f"strength.*{word}"):
            SparseTokenProblem(4, 1, strength)
    assert SparseTokenProblem(np.array([4, 5]), [1, 2]).length == (4, 5)
    with pytest.raises(InvalidInput, match=r"length.*array of integers"):
        SparseTokenProblem([4.5, 5.0], 1)


@pytest.mark.parametrize("change", [{"strength": [1.0, 2.0]}, {"positive_rate": [0.2, 0.5]}])
def test_samples_are_drawn_of_one_problem_at_a_time(change):
    problem = SparseTokenProblem(4, **change)
    with pytest.raises(InvalidInput, match=next(iter(change))):
        problem.sample(3, np.array([1.0]), np.random.default_rng(0))


def test_the_law_of_the_tokens_is_a_value():
    assert SparseTokenProblem().tokens == Isotropic()
    with pytest.raises(InvalidInput, match="tokens"):
        SparseTokenProblem(tokens="isotropic")
