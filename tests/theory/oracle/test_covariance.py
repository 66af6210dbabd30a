"""The Bayes error and the floor among tokens of a covariance, against densities and tensors.

Equations: covariance-bayes-test.
"""

import dataclasses
import math
from itertools import combinations

import numpy as np
import pytest
from scipy.stats import multivariate_normal, norm

import sparsetoken as st
from sparsetoken.base.validation import InvalidInput
from sparsetoken.simulation.message_passing import message_passing
from sparsetoken.theory.oracle import bayes_error, learning_error


def law(d, seed, *, effect):
    """Two covariances that do not commute."""
    rng = np.random.default_rng(seed)
    A, B = rng.standard_normal((2, d, d)) / math.sqrt(d)
    xi = rng.standard_normal(d)
    within = A @ A.T + 0.3 * np.eye(d)
    return st.TokenCovariance(within, 2 * B @ B.T if effect else None, xi / np.linalg.norm(xi))


def by_densities(problem, draws, seed):
    """Return mean and standard error of the smaller posterior, from densities of whole bags."""
    pi, theta, R, L = problem.letters
    tokens = problem.tokens
    d = tokens.dimension
    noise = np.kron(np.eye(L), tokens.within)
    if tokens.between is not None:
        noise += np.kron(np.ones((L, L)), tokens.between)
    null = multivariate_normal(np.zeros(L * d), noise)
    means = []
    for positions in combinations(range(L), R):
        mean = np.zeros((L, d))
        mean[list(positions)] = theta * tokens.signal
        means.append(mean.ravel())
    rng = np.random.default_rng(seed)
    values = np.zeros(draws)
    for share, shift in ((pi, means[0]), (1 - pi, 0.0)):
        bags = null.rvs(draws, random_state=rng) + shift
        ratio = np.mean([np.exp(null.logpdf(bags - m) - null.logpdf(bags)) for m in means], axis=0)
        values += share * np.minimum(pi * ratio, 1 - pi) / (pi * ratio + 1 - pi)
    return values.mean(), values.std() / math.sqrt(draws)


@pytest.mark.parametrize("effect", [False, True])
@pytest.mark.parametrize(
    "letters", [(4, 1, 2.0, 0.5), (3, 2, 1.5, 0.3), (5, 2, 1.6, 0.6), (3, 3, 1.0, 0.4)]
)
def test_bayes_error_by_densities_of_bags(letters, effect):
    """Within 4 standard errors, about 0.0012; effects and covariances move it by 0.03 and more."""
    problem = st.SparseTokenProblem(*letters, tokens=law(3, letters[0], effect=effect))
    found = bayes_error(problem)
    assert found.status.converged
    mean, error = by_densities(problem, 100_000, 1)
    assert found.test_error == pytest.approx(mean, abs=4 * math.hypot(error, found.numerical_error))
    without = bayes_error(dataclasses.replace(problem, tokens=law(3, letters[0], effect=False)))
    assert abs(found.test_error - without.test_error) > (0.03 if effect else -1)


def test_signals_of_all_tokens_need_no_noise_within_bags():
    """The best test is linear in the bag, whose covariance is then singular; signals lie within."""
    within, between, xi = np.array([0.0, 1.0, 2.0]), np.array([1.5, 0.5, 1.0]), np.array([2, 1, 2])
    tokens = st.TokenCovariance(within, between, signal=xi / 3)
    problem = st.SparseTokenProblem(3, 3, 2.0, tokens=tokens)
    noise = np.kron(np.eye(3), np.diag(within)) + np.kron(np.ones((3, 3)), np.diag(between))
    mean = np.tile(2.0 * xi / 3, 3)
    separation = math.sqrt(mean @ np.linalg.pinv(noise, rcond=1e-12) @ mean)
    assert bayes_error(problem).test_error == pytest.approx(norm.cdf(-separation / 2), rel=1e-12)
    with pytest.raises(InvalidInput, match="with an inverse"):
        bayes_error(dataclasses.replace(problem, informative=2))


@pytest.mark.parametrize("theta", [1e-9, 1e-8, 1e-6])
@pytest.mark.parametrize("effect", [None, 0.02 * np.ones(4)], ids=["without", "with"])
def test_a_signal_that_vanishes_in_long_bags_teaches_nothing(theta, effect):
    """Variances over tokens are then differences of rounding."""
    tokens = st.TokenCovariance(np.ones(4), effect, signal=np.eye(4)[0])
    found = bayes_error(st.SparseTokenProblem(200, 2, theta, tokens=tokens))
    assert found.test_error == pytest.approx(0.5, abs=theta)


def test_an_effect_that_vanishes_changes_nothing():
    """Lattice and sample are two routes: an effect of 1e-12 takes the second."""
    xi = np.eye(5)[1]
    least = st.TokenCovariance(np.arange(1.0, 6.0), np.full(5, 1e-12), signal=xi)
    none = dataclasses.replace(least, between=None)
    one, two = (bayes_error(st.SparseTokenProblem(8, tokens=law)) for law in (least, none))
    assert one.test_error == pytest.approx(two.test_error, abs=4 * one.numerical_error + 1e-5)


def test_whitened_message_passing_reaches_the_floor():
    """On real tokens of a steep covariance, within 4 standard errors and a correction of order 1/d.

    The floor at the strength of unwhitened tokens has a cosine lower by 0.04.
    """
    d, trials, alpha = 200, 8, 1.0
    within = (1.0 + np.arange(d)) ** -0.5
    xi = np.cos(1.7 * np.arange(d))
    tokens = st.TokenCovariance(within / within.mean(), signal=xi / np.linalg.norm(xi))
    problem = st.SparseTokenProblem(10, 1, 2.8, tokens=tokens)
    root = np.sqrt(tokens.within)
    whitened = tokens.signal / root
    isotropic = dataclasses.replace(
        problem, strength=2.8 * np.linalg.norm(whitened), tokens=st.model.Isotropic()
    )
    rng, cosines = np.random.default_rng(7), []
    for _ in range(trials):
        n = rng.binomial(int(alpha * d), problem.positive_rate)
        X = tokens.sample_noise(n, 10, d, rng)
        X[np.arange(n), rng.integers(10, size=n)] += 2.8 * tokens.signal
        estimate = message_passing(X / root, isotropic, 200, rng)
        assert estimate.settled
        length = np.linalg.norm(estimate.signal) * np.linalg.norm(whitened)
        cosines.append(estimate.signal @ whitened / length)
    floor = learning_error(problem, alpha)
    assert floor.status.converged
    error = np.std(cosines, ddof=1) / math.sqrt(trials)
    assert np.mean(cosines) == pytest.approx(floor.cosine, abs=4 * error + 2 / d)
    plain = learning_error(dataclasses.replace(problem, tokens=st.model.Isotropic()), alpha)
    assert abs(floor.cosine - plain.cosine) > 4 * error + 2 / d
    assert floor.test_error > floor.oracle_error == bayes_error(problem).test_error
