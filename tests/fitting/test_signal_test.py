"""The permutation test of a signal: against a slow one, its level, its power.

Equations: signal-test.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.special import logsumexp
from sklearn.linear_model import Ridge

from sparsetoken import AttentionClassifier
from sparsetoken.bags import as_bags
from sparsetoken.fitting import signal_test
from sparsetoken.fitting.features import BagFeatures
from sparsetoken.fitting.samples import Samples
from sparsetoken.fitting.signal_test import SHARPNESSES, either_pvalue, signal_pvalue
from sparsetoken.fitting.standardization import Standardization
from sparsetoken.fitting.task import Task
from sparsetoken.losses import get_loss


def task_of(bags: object, y: np.ndarray, weight: np.ndarray | None = None) -> Task:
    flat, weight = as_bags(bags), np.ones(len(y)) if weight is None else weight
    features = BagFeatures(flat, Standardization.of(flat, weight, True))
    return Task(features, Samples(2.0 * y - 1, weight, np.ones(len(y))), get_loss("logistic"), 0.1)


def ragged(seed: int, n: int, d: int) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    return [rng.standard_t(4, (rng.integers(2, 9), d)) for _ in range(n)]


def test_statistics_are_those_of_a_loop_over_bags() -> None:
    n, d, rng = 12, 3, np.random.default_rng(0)
    bags, weight = ragged(0, n, d), rng.uniform(0.5, 2, n)
    y = np.arange(n) % 2
    task = task_of(bags, y, weight)
    share, scaling = weight / weight.sum(), task.features.standardization
    orders = np.stack([rng.permutation(2.0 * y - 1) for _ in range(4)])
    orders -= (orders @ share)[:, None]
    z = [(bag - scaling.mean) / scaling.scale for bag in bags]
    means = np.stack([one.mean(axis=0) for one in z])
    means -= share @ means
    slow = np.empty((4, len(SHARPNESSES)))
    for row, t in zip(slow, orders, strict=True):
        w = (share * t) @ means
        u = [one @ (w - share[i] * t[i] * means[i]) for i, one in enumerate(z)]
        # What a constant token adds to its own bag drops out only if tokens are centred alike.
        centre = np.concatenate(bags).mean(axis=0)
        moved = (centre - scaling.mean) / scaling.scale
        u = [u[i] + share[i] * t[i] * (moved @ means[i]) for i in range(n)]
        spread = np.concatenate(u).std()
        for place, k in enumerate(SHARPNESSES):
            m = [
                one.mean() if k == 0 else logsumexp(k * one, b=1 / len(one)) / k
                for one in (part / spread for part in u)
            ]
            row[place] = np.cov(t, m, aweights=share)[0, 1] / math.sqrt(
                np.cov(t, aweights=share) * np.cov(m, aweights=share)
            )
    np.testing.assert_allclose(signal_test._statistics(task, orders), slow, atol=1e-12)


@pytest.mark.parametrize("columns", [3, 30])  # fewer and more than samples
def test_left_out_predictions_are_those_of_fits_without_the_sample(columns: int) -> None:
    rng, n = np.random.default_rng(0), 12
    F, weight = rng.standard_t(4, (n, columns)), rng.uniform(0.5, 2, n)
    F[:, 0] = 1.0  # a constant column tells nothing
    share = weight / weight.sum()
    orders = np.stack([rng.choice([-1.0, 1.0], n) for _ in range(3)])
    orders -= (orders @ share)[:, None]
    moved = F - share @ F
    deviation = np.sqrt(share @ np.square(moved))
    Z = moved[:, 1:] / deviation[1:]
    ridge = (weight / weight.mean()) @ np.square(Z).sum(axis=1) / n
    slow = np.empty((3, n))
    for row, target in zip(slow, orders, strict=True):
        for i in range(n):
            rest = np.arange(n) != i
            fit = Ridge(alpha=ridge, fit_intercept=False)
            fit.fit(Z[rest], target[rest], sample_weight=(share * n)[rest])
            row[i] = fit.predict(Z[[i]])[0]
    found = signal_test._left_out_predictions(F, orders, share)
    np.testing.assert_allclose(found, slow, atol=1e-10)


@pytest.mark.parametrize("law", ["heavy tails", "few directions"])
def test_the_level_is_that_of_an_exact_test(law: str) -> None:
    draws, rng = 300, np.random.default_rng(0)
    pvalues = np.empty(draws)
    for i in range(draws):
        X = rng.standard_t(2, (20, 3, 4))
        if law == "few directions":
            X = rng.standard_normal((20, 3, 4)) * [10, 1, 0.1, 0.01] + rng.standard_normal(
                (20, 1, 4)
            )
        pvalues[i] = signal_pvalue([task_of(X, (np.arange(20) % 4 == 0).astype(int))])
    for level in (0.05, 0.2):
        # Three and a half binomial deviations: 1 test in 4000 fails by chance.
        slack = 3.5 * math.sqrt(level * (1 - level) / draws)
        assert np.mean(pvalues <= level) < level + slack
    assert np.mean(pvalues <= 0.5) > 0.5 - 3.5 * math.sqrt(0.25 / draws)


@pytest.mark.parametrize("sign", [1, -1])
def test_tokens_of_either_class_are_found(sign: int) -> None:
    for seed in range(5):
        rng = np.random.default_rng(seed)
        X, y = rng.standard_normal((100, 10, 10)), np.arange(100) % 2
        X[y == (sign > 0), 0, 0] += 4
        assert signal_pvalue([task_of(X, y)]) <= 0.02


def test_attention_is_on_where_mean_pooling_tells_something_too() -> None:
    """With 5 of 10 tokens pooling is good, and attention better by less than the test can see."""
    on, clear = 0, 0
    for seed in range(5):
        rng = np.random.default_rng(seed)
        X, y = rng.standard_normal((150, 10, 50)), np.arange(150) % 2
        X[y == 1, :5, 0] += 1.4
        model = AttentionClassifier("likelihood", random_state=seed).fit(X, y)
        on += model.sharpness_[0] > 0
        clear += model.attention_pvalue_[0] < 0.05
    assert on >= 4 > clear


def test_many_tokens_are_tested_on_some_of_the_bags(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((200, 5, 4)), np.arange(200) % 2
    X[y == 1, 0, 0] += 5
    every = signal_test._statistics(task_of(X, y), signal_test._orders(task_of(X, y)))
    monkeypatch.setattr(signal_test, "WIDTH", 5000)  # several parts give the same
    task = task_of(X, y)
    assert signal_test._parts(task, 200) == 40
    assert signal_pvalue([task]) == 1 / 200
    monkeypatch.setattr(signal_test, "VALUES", 2000)
    assert len(signal_test._some(task).bags) == 99
    assert signal_pvalue([task]) == 1 / 200
    assert every.shape == (200, len(SHARPNESSES))


def test_two_tests_of_one_hypothesis() -> None:
    assert either_pvalue(0.01, 0.3) == 0.02
    assert either_pvalue(0.9, 0.6) == 1
    assert either_pvalue(np.nan, 0.3) == 0.3
