"""Bayes-optimal errors among tokens of a covariance, against densities and tensors.

Equations: covariance-bayes-test.
"""

import dataclasses
import math
from itertools import combinations

import numpy as np
import pytest
from scipy.stats import multivariate_normal

import sparsetoken as st
from sparsetoken.base.validation import InvalidInput
from sparsetoken.simulation.message_passing import message_passing
from sparsetoken.theory.oracle import bayes_error, learning_error


def law(d, seed):
    """Return tokens of a covariance with eigenvectors of its own."""
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((d, d)) / math.sqrt(d)
    xi = rng.standard_normal(d)
    within = A @ A.T + 0.3 * np.eye(d)
    return st.TokenCovariance(within, signal=xi / np.linalg.norm(xi))


def by_densities(problem, draws, seed):
    """Return mean and standard error of the smaller posterior, from densities of whole bags."""
    pi, theta, R, L = problem.letters
    tokens = problem.tokens
    d = tokens.dimension
    noise = np.kron(np.eye(L), tokens.within)
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


@pytest.mark.parametrize(
    "letters", [(4, 1, 2.0, 0.5), (3, 2, 1.5, 0.3), (5, 2, 1.6, 0.6), (3, 3, 1.0, 0.4)]
)
def test_bayes_error_by_densities_of_bags(letters):
    """Within 4 standard errors, about 0.0012."""
    problem = st.SparseTokenProblem(*letters, tokens=law(3, letters[0]))
    found = bayes_error(problem)
    assert found.status.converged
    mean, error = by_densities(problem, 100_000, 1)
    assert found.test_error == pytest.approx(mean, abs=4 * math.hypot(error, found.numerical_error))
    isotropic = bayes_error(st.SparseTokenProblem(*letters))
    assert abs(found.test_error - isotropic.test_error) > 0.01


@pytest.mark.parametrize("informative", [1, 2, 3])
def test_a_shared_effect_is_refused(informative):
    """In one message, also where all tokens are informative."""
    tokens = st.TokenCovariance(np.ones(3), [0.0, 0.0, 1e-9], signal=np.eye(3)[0])
    problem = st.SparseTokenProblem(3, informative, 2.0, tokens=tokens)
    messages = set()
    for run in (bayes_error, lambda problem: learning_error(problem, 1.0)):
        with pytest.raises(InvalidInput, match=r"between=None.* with a between .* simulate") as got:
            run(problem)
        messages.add(str(got.value))
    assert len(messages) == 1


def test_almost_no_noise_along_the_signal_is_refused_by_its_own_name():
    tokens = st.TokenCovariance([1e-14, 1e-14, 1e-14], signal=np.eye(3)[0])
    with pytest.raises(InvalidInput, match="signal among whitened tokens must be of a strength"):
        bayes_error(st.SparseTokenProblem(3, 1, 3.0, tokens=tokens))


@pytest.mark.parametrize("informative", [2, 3])
def test_a_covariance_without_an_inverse_is_refused(informative):
    tokens = st.TokenCovariance([0.0, 1.0, 2.0], signal=np.eye(3)[1])
    problem = st.SparseTokenProblem(3, informative, 2.0, tokens=tokens)
    with pytest.raises(InvalidInput, match="with an inverse"):
        bayes_error(problem)


@pytest.mark.parametrize("theta", [1e-9, 1e-8, 1e-6])
def test_a_signal_that_vanishes_in_long_bags_teaches_nothing(theta):
    """Variances over tokens are then differences of rounding."""
    found = bayes_error(st.SparseTokenProblem(200, 2, theta))
    assert found.test_error == pytest.approx(0.5, abs=theta)


def test_whitened_message_passing_reaches_the_bayes_error():
    """On real tokens of a steep covariance, within 4 standard errors and a correction of order 1/d.

    The Bayes-optimal learner at the strength of unwhitened tokens has a cosine lower by 0.04.
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
    bayes = learning_error(problem, alpha)
    assert bayes.status.converged
    error = np.std(cosines, ddof=1) / math.sqrt(trials)
    assert np.mean(cosines) == pytest.approx(bayes.cosine, abs=4 * error + 2 / d)
    plain = learning_error(dataclasses.replace(problem, tokens=st.model.Isotropic()), alpha)
    assert abs(bayes.cosine - plain.cosine) > 4 * error + 2 / d
    assert bayes.test_error > bayes.oracle_error == bayes_error(problem).test_error
