"""What one would do otherwise: real tensors and scikit-learn; damped fixed-point iteration."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from scipy.special import ndtr
from sklearn.linear_model import LogisticRegression, Ridge

from sparsetoken import Attention, Query, Readout, SparseTokenProblem, TwoSteps, Vectorized
from sparsetoken.losses import Loss
from sparsetoken.losses.gaussian_means import smoothed_at
from sparsetoken.model.models import Model
from sparsetoken.theory import FeatureLaw
from sparsetoken.theory.laws.of_model import feature_law

TEST_SAMPLES = 10_000
MOST_ITERATIONS = 20_000
GRADIENT = 1e-11  # 1e-8 times the ridge of 1e-3, which is what our fits reach


def direct_trial(problem: SparseTokenProblem, model: Model, readout: Readout, d: int) -> float:
    """Return the test error of the four stages with whole tensors in memory, as in a notebook."""
    _, theta, _, L = problem.letters
    rng = np.random.default_rng()
    xi = rng.standard_normal(d)
    xi /= np.linalg.norm(xi)
    steps = model.query if isinstance(model, Attention) else None

    def tensors(n: int) -> tuple[np.ndarray, np.ndarray]:
        y = np.where(rng.random(n) < problem.positive_rate, 1, -1)
        X = rng.standard_normal((n, L, d))
        positive = np.flatnonzero(y == 1)
        X[positive, rng.integers(L, size=len(positive))] += theta * xi
        return X, y

    def features(X: np.ndarray) -> np.ndarray:
        if isinstance(model, Vectorized):
            return X.reshape(len(X), -1)
        if steps is None:
            return X.mean(axis=1)
        scores = steps.beta * (X @ q)
        a = np.exp(scores - scores.max(axis=1, keepdims=True))
        a /= a.sum(axis=1, keepdims=True)
        return np.einsum("nl,nld->nd", a, X)

    if isinstance(steps, TwoSteps):
        X, y = tensors(round(steps.alpha0 * d))
        n, mean = len(y), X.mean(axis=1)
        h = steps.loss.slope(y, np.zeros(n))
        w, b = -steps.eta_w / n * (h @ mean), -steps.eta_b * h.mean()
        h = steps.loss.slope(y, mean @ w + b)
        t = X @ w
        weights = h[:, None] * (t - t.mean(axis=1, keepdims=True))
        q = -steps.eta_q * steps.beta / (n * L) * np.einsum("nl,nld->d", weights, X)
        del X
    X, y = tensors(round(readout.alpha1 * d))
    F = features(X)
    if readout.loss.name == "square":
        fitted = Ridge(alpha=readout.ridge * len(y)).fit(F, y)
    else:
        inverse = 1 / (readout.ridge * len(y))
        fitted = LogisticRegression(C=inverse, tol=GRADIENT, max_iter=10_000).fit(F, y)
    X, y = tensors(TEST_SAMPLES)
    scores = features(X) @ fitted.coef_.ravel() + fitted.intercept_
    return float(np.mean(y * scores < 0))


class State(NamedTuple):
    """Readout and susceptibility of the fixed-point equations."""

    w1: float
    w2: float
    b: float
    nu: float
    chi: float


def damped_point(
    problem: SparseTokenProblem,
    query: Query,
    readout: Readout,
    *,
    points: int = 512,
    damping: float = 0.5,
    tolerance: float = 1e-7,
    start: State | None = None,
    our_means: bool = False,
) -> tuple[float, State]:
    """Iterate the stationarity conditions of stage 4, on our nodes, until they change no more.

    They are ``r^2 = E[C^2 p^2]``, ``K = E[C^2 D]``, ``chi = 1 / (alpha (ridge + K))``,
    ``nu = r sqrt(alpha) chi``, ``w_2 = -E[p X_2] / (ridge + K)``,
    ``w_1 = -E[p X_1] / (ridge + v E[D])`` and ``E[p] = 0`` for b. Means over the normal
    are taken in NumPy with 64 Gauss-Hermite nodes, or as the library takes them.

    Returns
    -------
    test_error, state
    """
    law = feature_law(Attention(query), problem, query, points)
    x = np.array(start or State(0.0, 0.0, 0.0, 1.0, 1.0))
    for _ in range(MOST_ITERATIONS):
        new = _fixed_point(law, readout, State(*x), our_means)
        change = np.max(np.abs(new - x) / (1e-3 + np.abs(x)))
        x = damping * x + (1 - damping) * new
        if not change > tolerance:  # converged, or lost (nan)
            break
    state = State(*(float(value) for value in x))
    m, T = _scores(law, state)
    wrong = np.sum(law.weight * ndtr(-law.y * m / T)) / len(law.C)
    return float(wrong), state


def _scores(law: FeatureLaw, s: State) -> tuple[np.ndarray, np.ndarray]:
    m = law.a @ [s.w1, s.w2] + s.b
    variance = law.covariance[0, 0] * s.w1**2 + law.C[..., 0] ** 2 * (s.w2**2 + s.nu**2)
    return m, np.sqrt(variance)


def _fixed_point(law: FeatureLaw, readout: Readout, s: State, our_means: bool) -> np.ndarray:
    alpha, ridge = readout.alpha1, readout.ridge
    m, T = _scores(law, s)
    squares, (along, across) = law.C[..., 0] ** 2, np.moveaxis(law.a, -1, 0)
    if our_means:
        means = smoothed_at(readout.loss, law.y, m, T, s.chi * squares)
        p, pp, slope = means.p, means.pp, means.D
    else:
        p, pp, slope = _hermite_means(readout.loss, law.y, m, T, s.chi * squares)
    weight = law.weight / len(law.C)
    r = math.sqrt(np.sum(weight * squares * pp))
    K, D = np.sum(weight * squares * slope), np.sum(weight * slope)
    chi = 1 / (alpha * (ridge + K))
    return np.array(
        [
            -np.sum(weight * p * along) / (ridge + law.covariance[0, 0] * D),
            -np.sum(weight * p * across) / (ridge + K),
            s.b - np.sum(weight * p) / D,
            r * math.sqrt(alpha) * chi,
            chi,
        ]
    )


def _hermite_means(
    loss: Loss, y: np.ndarray, m: np.ndarray, T: np.ndarray, v: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return E[p], E[p^2], E[D] by plain NumPy."""
    g, weight = np.polynomial.hermite_e.hermegauss(64)
    weight = weight / weight.sum()
    y, m, T, v = (a[..., None] for a in (y, m, T, v))
    omega = m + T * g
    p, D = loss.dual(y, omega, v), loss.dual_slope(y, omega, v)
    return p @ weight, p**2 @ weight, D @ weight
