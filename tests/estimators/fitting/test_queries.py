"""Two gradient steps against differences, and folds that have their share of each class."""

from __future__ import annotations

import numpy as np
import pytest

from sparsetoken.bags import as_bags
from sparsetoken.estimators.fitting.queries import STEP, two_steps
from sparsetoken.estimators.fitting.stacking import fold_numbers
from sparsetoken.estimators.fitting.standard_tokens import StandardTokens
from sparsetoken.estimators.fitting.targets import Samples
from sparsetoken.estimators.fitting.task import Task
from sparsetoken.losses import get_loss

OFFSET = np.array([0.3, -0.5, 0.1])


def differences(function, x: np.ndarray, h: float = 1e-5) -> np.ndarray:
    """Return the gradient by central differences; their error is about 1e-10."""
    return np.array([(function(x + h * e) - function(x - h * e)) / (2 * h) for e in np.eye(len(x))])


def slow_query(bags: list, y: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Return the query of two gradient steps from 0, all gradients by differences."""
    zero = np.zeros(bags[0].shape[1])

    def loss_of(w: np.ndarray, b: float, q: np.ndarray) -> float:
        a = [np.exp(bag @ q) for bag in bags]
        z = np.array([one @ bag @ w / one.sum() + b for one, bag in zip(a, bags, strict=True)])
        return float(weight @ np.log1p(np.exp(-y * z)) / weight.sum())

    w = -STEP * differences(lambda w: loss_of(w, 0.0, zero), zero)
    b = -STEP * differences(lambda b: loss_of(zero, b[0], zero), np.zeros(1))[0]
    return -differences(lambda q: loss_of(w, b, q), zero)


@pytest.mark.parametrize("standardize", [False, True])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_two_steps_are_gradient_steps_of_each_subset(seed: int, standardize: bool) -> None:
    rng, y = np.random.default_rng(seed), np.where(np.arange(12) % 2, 1.0, -1.0)
    bags = [rng.standard_normal((rng.integers(2, 7), 3)) + OFFSET for _ in y]
    for bag, label in zip(bags, y, strict=True):
        bag[0] += 2 * (label > 0)
    weight = rng.uniform(0.5, 2.0, 12)
    tokens = StandardTokens.of(as_bags(bags), weight, standardize)
    task = Task(tokens, Samples(y, weight, np.ones(12)), get_loss("logistic"), "auto")
    subsets = [rng.random(12) < 0.7, np.ones(12, dtype=bool)]
    scaled = [(bag - tokens.mean) / tokens.scale for bag in bags]
    for q, rows in zip(two_steps(task, subsets).T, subsets, strict=True):
        chosen = [bag for bag, row in zip(scaled, rows, strict=True) if row]
        # Differences err by 1e-10 each.
        np.testing.assert_allclose(q, slow_query(chosen, y[rows], weight[rows]), atol=1e-9)


@pytest.mark.parametrize(("n_folds", "expected"), [(4, 4), (8, 8), (30, 12)])
def test_folds_have_their_share_of_each_class(n_folds: int, expected: int) -> None:
    y = np.random.default_rng(0).permutation(np.repeat([0, 1], [50, 12]))
    folds = fold_numbers(y, n_folds, np.random.RandomState(0))
    assert np.unique(folds).tolist() == list(range(expected))
    for count in (np.bincount(folds), np.bincount(folds[y == 1]), np.bincount(folds[y == 0])):
        assert np.ptp(count) <= 1
    assert np.array_equal(folds, fold_numbers(y, n_folds, np.random.RandomState(0)))
    assert not np.array_equal(folds, fold_numbers(y, n_folds, np.random.RandomState(1)))
