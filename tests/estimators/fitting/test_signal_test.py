"""The permutation test of a signal: against a slow one, its level, its power.

Equations: signal-test.
"""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest
from scipy.special import logsumexp, softmax
from sklearn.linear_model import Ridge

from sparsetoken.estimators.fitting import signal_test
from sparsetoken.estimators.fitting.signal_test import (
    FOLDS,
    SHARPNESS,
    SIDES,
    STEPS,
    signal_pvalue,
)
from sparsetoken.estimators.fitting.targets import Samples
from sparsetoken.estimators.fitting.task import Task
from tasks_of_bags import task_of


def ragged(seed: int, n: int, d: int) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    return [rng.standard_t(4, (rng.integers(2, 9), d)) for _ in range(n)]


def slow_statistics(task: Task, orders: np.ndarray) -> np.ndarray:
    """Return the statistics of tokens by a loop over orders, sides, steps and bags."""
    tokens, bags = task.tokens, task.bags
    z = [(bag - tokens.mean) / tokens.scale for bag in bags]
    centre = np.stack([bag.mean(axis=0) for bag in z]).mean(axis=0)
    z = [bag - centre for bag in z]
    n = len(z)
    fold = np.random.RandomState(1).permutation(n) % FOLDS
    counts = [bags.sizes[fold == f].sum() for f in range(FOLDS)]
    first = [bag for bag, f in zip(z, fold, strict=True) if f == np.argmax(counts)]
    found = np.empty((len(orders), STEPS + 1, 2, len(SIDES)))
    for p, t in enumerate(orders):
        for j, side in enumerate(SIDES):
            averages = np.stack([bag.mean(axis=0) for bag in z])
            for step in range(STEPS + 1):
                parts = t[:, None] * (averages - averages.mean(axis=0)) / n
                w = [parts[fold != f].sum(axis=0) for f in range(FOLDS)]
                spread = (np.concatenate(first) @ w[np.argmax(counts)]).std()
                k = side * SHARPNESS / spread
                u = [k * bag @ w[f] for bag, f in zip(z, fold, strict=True)]
                lse = [logsumexp(one, b=1 / len(one)) for one in u]
                for i, m in enumerate(([one.mean() for one in u], lse)):
                    found[p, step, i, j] = side * np.corrcoef(t, m)[0, 1]
                averages = np.stack([softmax(u[i]) @ z[i] for i in range(n)])
    return found[:, [0, STEPS]].reshape(len(orders), -1)


def test_statistics_are_those_of_a_loop_over_bags() -> None:
    n, rng = 24, np.random.default_rng(0)
    y, bags = np.arange(n) % 2, ragged(0, n, 3)
    task = task_of([bag + 100 for bag in bags], 2.0 * y - 1)
    orders = np.stack([rng.permutation(2.0 * y - 1) for _ in range(4)])
    orders -= orders.mean(axis=1, keepdims=True)
    found = signal_test._token_statistics(task, orders)
    # Rounding of values 100 deviations from 0, after three rounds of exponentials.
    np.testing.assert_allclose(found, slow_statistics(task, orders), atol=1e-10)


@pytest.mark.parametrize("columns", [3, 30])  # fewer and more than samples
def test_left_out_predictions_are_those_of_fits_without_the_sample(columns: int) -> None:
    rng, n = np.random.default_rng(0), 12
    F = rng.standard_t(4, (n, columns))
    F[:, 0] = 1.0  # a constant column tells nothing
    orders = np.stack([rng.choice([-1.0, 1.0], n) for _ in range(3)])
    orders -= orders.mean(axis=1, keepdims=True)
    Z = (F[:, 1:] - F[:, 1:].mean(axis=0)) / F[:, 1:].std(axis=0)
    ridge = np.square(Z).sum() / n
    slow = np.empty((3, n))
    for row, target in zip(slow, orders, strict=True):
        for i in range(n):
            rest = np.arange(n) != i
            fit = Ridge(alpha=ridge, fit_intercept=False)
            fit.fit(Z[rest], target[rest])
            row[i] = fit.predict(Z[[i]])[0]
    found = signal_test._left_out_predictions(F, orders)
    np.testing.assert_allclose(found, slow, atol=1e-10)


@pytest.mark.parametrize("law", ["heavy tails", "few directions"])
def test_the_level_is_that_of_an_exact_test(law: str) -> None:
    draws, rng = 100, np.random.default_rng(0)
    pvalues = np.empty(draws)
    for i in range(draws):
        X = rng.standard_t(2, (20, 3, 4))
        if law == "few directions":
            X = rng.standard_normal((20, 3, 4)) * [10, 1, 0.1, 0.01] + rng.standard_normal(
                (20, 1, 4)
            )
        pvalues[i] = signal_pvalue([task_of(X, 2.0 * (np.arange(20) % 4 == 0) - 1)])
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
        assert signal_pvalue([task_of(X, 2.0 * y - 1)]) <= 0.02


def test_parts_of_the_orders_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = np.random.default_rng(0).standard_normal((40, 5, 4)), np.arange(40) % 2
    task = task_of(X, 2.0 * y - 1)
    whole, sides = signal_test._all_statistics(task)
    assert sides.tolist() == [0, 0, *(1, -1) * 4]
    monkeypatch.setattr(signal_test, "VALUES", 4000)  # eight parts, one block for each fold
    parts, _ = signal_test._all_statistics(task)
    np.testing.assert_allclose(parts, whole, atol=1e-12)


@pytest.mark.parametrize("budget", [1e12, 0.0])
def test_big_bags_are_tested_all_of_them(budget: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """All bags of many tokens count; without time for their tokens the pooled features tell."""
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((40, 100, 4)), np.arange(40) % 2
    X[y == 1] += 0.3
    monkeypatch.setattr(signal_test, "WORK", budget)
    monkeypatch.setattr(signal_test, "VALUES", 20_000)  # one bag at a time, and half the orders
    assert signal_pvalue([task_of(X, 2.0 * y - 1)]) == 1 / 100


def test_one_token_of_twenty_is_found_among_few_bags() -> None:
    """The query of the mean tokens alone finds it in two thirds of such draws."""
    found = 0
    for seed in range(5):
        rng = np.random.default_rng(seed)
        X, y = rng.standard_normal((90, 20, 200)), np.arange(90) % 2
        X[y == 1, 0, 0] += 5
        found += signal_pvalue([task_of(X, 2.0 * y - 1)]) < 0.05
    assert found >= 4


def test_weights_play_no_part() -> None:
    rng, n = np.random.default_rng(1), 20
    X, y = rng.standard_normal((n, 3, 4)), np.arange(n) % 2
    X[y == 1] += 0.3
    task = task_of(X, 2.0 * y - 1)
    knows = 1.0 + 8 * y  # the labels: weights of bags, or of classes
    for of_class in (np.ones(n), knows):
        known = Samples(2.0 * y - 1, knows, of_class)
        assert signal_pvalue([dataclasses.replace(task, samples=known)]) == signal_pvalue([task])
