"""The floor under learners where samples have an effect of their own.

Equations: signal-prior, covariance-learning-floor.
"""

import dataclasses
import math
from itertools import combinations

import numpy as np
import pytest
from scipy import linalg
from scipy.optimize import minimize
from scipy.stats import norm

import sparsetoken as st
from sparsetoken.base.validation import InvalidInput
from sparsetoken.theory.oracle import learning, learning_error
from sparsetoken.theory.oracle.learning import SignalPrior, signal_prior


@dataclasses.dataclass(frozen=True)
class Halves:
    """An effect of two sizes, each in half of the whitened directions.

    A signal whose squared length has the share `first` in the first half, and is of any
    direction within each half, has in the limit the prior that is uniform given both strengths.
    """

    length: int
    informative: int
    whitened: float
    positive_rate: float
    effects: tuple[float, float]
    first: float
    d: int = 200

    def draw(self, rng):
        """Return a problem of covariances that do not commute, and that of its signal."""
        d = self.d
        A = rng.standard_normal((d, d)) / math.sqrt(d) + 0.5 * np.eye(d)
        halves = rng.standard_normal((2, d // 2))
        halves /= np.linalg.norm(halves, axis=1, keepdims=True)
        u = (halves * np.sqrt([[self.first], [1 - self.first]])).ravel()
        mu = self.whitened * A @ u
        theta = float(np.linalg.norm(mu))
        between = (A * np.repeat(self.effects, d // 2)) @ A.T
        tokens = st.TokenCovariance(A @ A.T, between, mu / theta)
        letters = (self.length, self.informative, theta, self.positive_rate)
        problem = st.SparseTokenProblem(*letters, tokens=tokens)
        share = np.repeat([2 * self.first, 2 - 2 * self.first], d // 2)
        return problem, self.whitened**2 * (A * share) @ A.T / d


def sample(problem, labels, rng):
    L, R, d = problem.length, problem.informative, problem.tokens.dimension
    X = problem.tokens.sample_noise(len(labels), L, d, rng)
    for bag in np.flatnonzero(labels):
        X[bag, rng.choice(L, R, replace=False)] += problem.strength * problem.tokens.signal
    return X


def best_learner(positives, fresh, problem, covariance, rng, sweeps=300, burn=100):
    """Return the posterior mean of the signal and the log likelihood ratios of fresh bags.

    Gibbs: the signal given the positions of all positives is normal, positions given the signal
    are drawn among all sets. It starts from the signal, which is itself a draw of the posterior:
    from elsewhere some chains stay long with wrong positions.
    """
    L, R, tokens = problem.length, problem.informative, problem.tokens
    sets = np.array([np.isin(range(L), s) for s in combinations(range(L), R)], dtype=float)
    within = np.linalg.inv(tokens.within)
    mean = np.linalg.inv(tokens.within + L * tokens.between)
    info = R * (1 - R / L) * within + R**2 / L * mean
    factor = linalg.cholesky(np.linalg.inv(covariance) + len(positives) * info, lower=True)

    def parts(X):
        middle = X.mean(axis=1)
        return (X - middle[:, None]) @ within, R * middle @ mean

    (apart, middle), (new_apart, new_middle) = parts(positives), parts(fresh)
    mu, total, ratios = problem.strength * tokens.signal, np.zeros(len(mean)), []
    for sweep in range(sweeps):
        noise = rng.gumbel(size=(len(positives), len(sets)))
        picked = sets[np.argmax(apart @ mu @ sets.T + noise, axis=1)]
        field = middle.sum(axis=0) + np.einsum("nl,nld->d", picked, apart)
        centre = linalg.cho_solve((factor, True), field)
        normal = rng.standard_normal(len(mu))
        mu = centre + linalg.solve_triangular(factor, normal, lower=True, trans="T")
        if sweep >= burn:
            total += centre
            if sweep % 5 == 0:
                each = np.logaddexp.reduce(new_apart @ mu @ sets.T, axis=1) - math.log(len(sets))
                ratios.append(each + new_middle @ mu - mu @ info @ mu / 2)
    return total / (sweeps - burn), np.logaddexp.reduce(ratios, axis=0) - math.log(len(ratios))


def test_the_posterior_by_gibbs_reaches_the_floor(monkeypatch):
    """Within 4 standard errors and a correction of order 1/d, over signals of the same strengths.

    Off by more are the floor without the effect, and that of learners to which all whitened
    directions are alike, where the signal has 19 times its share in one half.
    """
    halves, alpha = Halves(6, 2, 2.5, 0.4, (0.5, 4.0), 0.95), 0.5
    trials, found = 8, []
    for trial in range(trials):
        rng = np.random.default_rng([20, trial])
        problem, covariance = halves.draw(rng)
        pi = problem.positive_rate
        positives = sample(problem, np.ones(round(alpha * halves.d * pi)), rng)
        labels = rng.random(2000) < pi
        fresh = sample(problem, labels, rng)
        estimate, log_ratios = best_learner(positives, fresh, problem, covariance, rng)
        seen = estimate @ np.linalg.solve(problem.tokens.within, problem.tokens.signal)
        wrong = (log_ratios + math.log(pi / (1 - pi)) > 0) != labels
        found.append((seen * problem.strength / halves.whitened**2, wrong.mean()))
    spread = np.std(found, axis=0, ddof=1) / math.sqrt(trials)
    allowance = 4 * spread + 2 / halves.d

    def apart(problem):
        floor = learning_error(problem, alpha)
        assert floor.status.converged
        return np.abs(np.mean(found, axis=0) - (floor.cosine**2, floor.test_error)) / allowance

    assert apart(problem).max() < 1
    alone = dataclasses.replace(problem.tokens, between=None)
    assert apart(dataclasses.replace(problem, tokens=alone)).max() > 1
    alike = lambda kept, share: SignalPrior(kept, np.ones_like(kept))  # noqa: E731
    monkeypatch.setattr(learning, "signal_prior", alike)
    assert apart(problem).max() > 1


@pytest.mark.parametrize("share", [0.11, 0.2, 0.45, 0.6, 0.88])
def test_of_all_priors_of_two_strengths_it_has_the_largest_entropy(share):
    kept = np.array([0.1, 0.2, 0.25, 0.5, 0.75, 0.9])
    prior = signal_prior(kept, share)
    given = [
        {"type": "eq", "fun": lambda tau: tau.mean() - 1},
        {"type": "eq", "fun": lambda tau: (kept * tau).mean() - share},
    ]
    largest = minimize(
        lambda tau: -np.log(tau).mean(),
        np.ones(6),
        bounds=[(1e-6, 6.0)] * 6,
        constraints=given,
        options={"ftol": 1e-14, "maxiter": 1000},
    )
    np.testing.assert_allclose(prior.variance, largest.x, rtol=2e-3)
    assert prior.variance.mean() == pytest.approx(1, rel=1e-12)
    assert (kept * prior.variance).mean() == pytest.approx(share, rel=1e-9)


def test_priors_at_the_ends():
    """All of a signal of the least strength in means lies where the effect is largest."""
    kept = np.array([0.5, 0.1, 0.1, 0.9])
    np.testing.assert_allclose(signal_prior(kept, 0.1).variance, [0, 2, 2, 0], atol=1e-12)
    np.testing.assert_allclose(signal_prior(kept, 0.9 + 1e-15).variance, [0, 0, 0, 4], atol=1e-12)
    np.testing.assert_array_equal(signal_prior(np.full(3, 0.4), 0.4).variance, 1.0)


def test_what_is_known_of_each_direction():
    """Of u ~ N(0, tau) seen in noise of a variance 1/g, by drawing both."""
    prior, gamma, chance = signal_prior(np.array([0.2, 0.7, 0.9]), 0.5), 3.0, 1.2
    rng = np.random.default_rng(4)
    gain = gamma - chance * (1 - prior.kept)
    u = np.sqrt(prior.variance) * rng.standard_normal((400_000, 3))
    seen = u + rng.standard_normal(u.shape) / np.sqrt(gain)
    slopes = (u * seen).mean(axis=0) / (seen**2).mean(axis=0)
    known = (u * seen * slopes).mean(axis=0)
    share = prior.gain(gamma, chance) / (1 + prior.gain(gamma, chance))
    np.testing.assert_allclose(prior.variance * share, known, rtol=0.02)  # 5 standard errors


def diagonal(letters, effect, seed=0):
    """Return a problem of many whitened directions, its signal like the others."""
    rng = np.random.default_rng(seed)
    within = rng.uniform(0.5, 2.0, len(effect))
    signal = np.sqrt(within) * rng.choice([-1, 1], len(effect))
    length = np.linalg.norm(signal)
    L, R, whitened, pi = letters
    theta = whitened * length / math.sqrt(len(effect))
    tokens = st.TokenCovariance(within, within * effect, signal / length)
    return st.SparseTokenProblem(L, R, theta, pi, tokens=tokens)


@pytest.mark.parametrize("letters", [(10, 1, 3.5, 0.5), (6, 3, 1.5, 0.3), (4, 4, 1.0, 0.4)])
def test_a_vanishing_effect_leaves_the_floor_without_one(letters):
    problem = diagonal(letters, np.linspace(1e-9, 3e-9, 20))
    alone = st.SparseTokenProblem(*letters)
    one, two = learning_error(problem, 0.8), learning_error(alone, 0.8)
    assert one.cosine == pytest.approx(two.cosine, rel=1e-6)
    assert one.test_error == pytest.approx(two.test_error, abs=4 * one.numerical_error + 1e-5)


@pytest.mark.parametrize("alpha", [0.4, 3.0])
def test_all_tokens_informative_is_a_mean_in_noise(alpha):
    """Along w_j only the mean token speaks: gamma_j = theta^2 alpha pi L w_j."""
    effect = np.linspace(0.1, 2.0, 30)
    problem = diagonal((4, 4, 1.2, 0.4), effect)
    w = 1 / (1 + 4 * effect)
    known = 1 - 1 / (1 + 1.2**2 * alpha * 0.4 * 4 * w)
    found = learning_error(problem, alpha)
    assert found.cosine**2 == pytest.approx(known.mean())
    separation = 1.2 * math.sqrt(4 * (w * known).mean())
    tilt = math.log(0.4 / 0.6) / separation
    error = 0.4 * norm.cdf(-separation / 2 - tilt) + 0.6 * norm.cdf(-separation / 2 + tilt)
    assert found.test_error == pytest.approx(error)


def test_the_floor_falls_to_the_oracle():
    problem = diagonal((8, 2, 2.5, 0.4), np.geomspace(0.05, 20, 40))
    found = [learning_error(problem, alpha, points=256) for alpha in (0.1, 1.0, 10.0, 1e5)]
    errors = [one.test_error for one in found]
    assert errors == sorted(errors, reverse=True)
    assert errors[-1] == pytest.approx(found[0].oracle_error, rel=1e-3)


def test_an_effect_without_bound_leaves_differences_alone():
    """They teach nothing up to a load at which the start ceases to be stable.

    Near no knowledge ``q_v(S) - R^2/L = S V``, V = R^2 (L - R)^2 / (L^2 (L - 1)) the sum of
    squares of the covariance of positions: the start is left where theta^4 alpha pi V > 1.
    """
    L, R, theta, pi = 6, 2, 2.0, 0.5
    critical = L**2 * (L - 1) / (R**2 * (L - R) ** 2) / (pi * theta**4)
    problem = diagonal((L, R, theta, pi), np.full(10, 1e7))
    below, above = (learning_error(problem, share * critical) for share in (0.9, 1.2))
    assert below.cosine < 0.01
    assert below.test_error == pytest.approx(0.5, abs=1e-4)
    assert above.cosine > 0.3
    assert above.test_error < 0.48
    mean_alone = learning_error(diagonal((4, 4, 1.0, 0.4), np.full(10, 1e9)), 2.0)
    assert mean_alone.test_error == pytest.approx(0.4, abs=1e-6)


def test_only_the_two_strengths_of_the_signal_count():
    """Signals of one whitened length, in other directions of the same effects, in any basis."""
    floors = []
    for seed in (1, 2):
        problem, _ = Halves(5, 1, 3.0, 0.4, (0.2, 2.0), 0.8, d=20).draw(np.random.default_rng(seed))
        floors.append(learning_error(problem, 0.7, points=256))
    assert floors[0].cosine == pytest.approx(floors[1].cosine, rel=1e-6)
    assert floors[0].test_error == pytest.approx(floors[1].test_error, rel=1e-6)


@pytest.mark.parametrize(("share", "cosine"), [(0.12, 0.0), (0.3, 0.87)])
def test_to_know_nothing_is_a_solution_where_the_effect_is_large(share, cosine):
    """Below the load at which it ceases to be stable; rounding must not lose it."""
    critical = 300**2 * 299 / 299**2 / (0.5 * 5.0**4)
    found = learning_error(
        diagonal((300, 1, 5.0, 0.5), np.full(10, 1e4)), share * critical, points=128
    )
    assert found.status.converged
    assert found.reachable_cosine < 0.01
    # .872 with 4096 nodes a scramble.
    assert found.cosine == pytest.approx(cosine, abs=0.01)


def test_a_floor_with_an_effect_needs_the_inverse_of_s_w() -> None:
    """Also where R = L: the prior is of directions whitened by S_w."""
    tokens = st.TokenCovariance([0.0, 1.0, 1.0], [1.0, 1.0, 2.0], np.ones(3) / math.sqrt(3))
    problem = st.SparseTokenProblem(4, 4, 1.0, tokens=tokens)
    assert st.oracle.bayes_error(problem).test_error < 0.5
    with pytest.raises(InvalidInput, match="covariance of the tokens must be with an inverse"):
        learning_error(problem, 1.0)
