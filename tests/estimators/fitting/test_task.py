"""The scale in which the readout of the mean token is fitted."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from sparsetoken.estimators.fitting.linear_fit import choose_ridge
from sparsetoken.estimators.fitting.queries import tied
from sparsetoken.estimators.fitting.task import Task
from tasks_of_bags import task_of


def drawn(seed: int, effect: float, n: int = 60) -> tuple[np.ndarray, np.ndarray]:
    """Return bags of 10 tokens in 30 columns; bags have effects of this size on half of these.

    The columns without an effect tell the classes.
    """
    rng = np.random.default_rng(seed)
    X, y = rng.standard_normal((n, 10, 30)), np.arange(n) % 2
    X[:, :, :15] += effect * rng.standard_normal((n, 1, 15))
    X[y == 1, :, 15:] += 0.15
    return X, y


def task(X: np.ndarray, y: np.ndarray, rescale: bool = True) -> Task:
    return task_of(X, 2.0 * y - 1, rescale=rescale)


def test_effects_of_bags_on_columns_without_a_signal_do_not_drown_it() -> None:
    errors = {True: [], False: []}
    for seed in range(4):
        (X, y), (test, truth) = drawn(seed, 3.0), drawn(100 + seed, 3.0, 500)
        for rescale, found in errors.items():
            one = task(X, y, rescale)
            fit, z = one.mean_fit, task(X, y).tokens
            means = (test.mean(axis=1) - z.mean) / z.scale
            found.append(np.mean((means @ fit.w + fit.b > 0) != truth))
            assert np.ndim(fit.scale) == rescale
    # Here 0.18 and 0.29, in every draw the first is less; the error of each mean is 0.01.
    assert np.mean(errors[True]) < np.mean(errors[False]) - 0.05


def _divisor(X: np.ndarray) -> np.ndarray:
    """Return what mean tokens given are divided by: their deviations, but for alike bags."""
    least = X.std(axis=(0, 1)) / np.sqrt(X.shape[1])
    return np.maximum(X.mean(axis=1).std(axis=0), least)


def test_weights_act_on_the_features_given() -> None:
    one = task(*drawn(0, 3.0))
    F = one.tokens.means
    scales = one.mean_fit.scale
    least = 1 / np.sqrt(10)  # of the mean of ten independent tokens
    np.testing.assert_allclose(scales, np.maximum(F.std(axis=0), least), rtol=1e-12)
    without = [_divisor(np.delete(one.bags.to_array()[0], i, axis=0)) for i in range(60)]
    growth = np.square(_divisor(one.bags.to_array()[0]) / without)
    slow = choose_ridge(F / scales, one.samples, one.loss, 0.1, F / scales * (growth - 1))
    given = dataclasses.replace(one, ridge=0.1).mean_fit
    np.testing.assert_allclose(given.w, slow.w / scales, rtol=1e-9)
    np.testing.assert_allclose(given.left_out, slow.left_out, rtol=1e-9)
    direction = tied(one, [np.ones(60, dtype=bool)])[:, 0]
    slow = choose_ridge(F / scales, one.samples, one.loss, one.mean_fit.ridge)
    # The searched fits end at a relative gradient of 1e-5.
    np.testing.assert_allclose(direction, slow.w / scales, rtol=1e-4, atol=1e-6)


def test_columns_that_hardly_differ_between_bags_are_not_blown_up() -> None:
    X, y = drawn(0, 3.0)
    X[:, :, 0] = np.tile([-1.0, 1.0], 5) + 1e-6 * X[:, :, 0]  # every bag has the same mean
    one = task(X, y)
    assert one.mean_fit.scale.min() == pytest.approx(1 / np.sqrt(10))
