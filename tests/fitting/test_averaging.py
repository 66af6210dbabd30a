"""Averages of mean pooling, attention and largest values: the shares, and what they are made of."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from sparsetoken.bags import as_bags
from sparsetoken.fitting import task as tasks
from sparsetoken.fitting.averaging import average, share
from sparsetoken.fitting.features import BagFeatures
from sparsetoken.fitting.linear_fit import LinearFit, gain
from sparsetoken.fitting.samples import Samples
from sparsetoken.fitting.standardization import Standardization
from sparsetoken.fitting.task import Task
from sparsetoken.losses import get_loss

LOGISTIC = get_loss("logistic")


@pytest.mark.parametrize(
    ("standard_errors", "expected"),
    [(-np.inf, 0), (-1, 0), (0, 0.25), (1, 0.5), (2, 0.75), (3, 1), (np.inf, 1), (np.nan, 0)],
)
def test_a_share_is_one_half_at_one_standard_error(standard_errors: float, expected: float) -> None:
    assert share(standard_errors) == expected


def readout(scores: np.ndarray, y: np.ndarray, b: float) -> LinearFit:
    losses = np.log1p(np.exp(-y * scores))
    return LinearFit(np.full(3, b), b, 0.1, losses, scores)


def test_the_average_has_the_scores_that_its_shares_say() -> None:
    rng = np.random.default_rng(0)
    y = np.where(np.arange(80) % 2, 1.0, -1.0)
    pooled, better, best = (
        readout(k * y + rng.standard_normal(80), y, b)
        for k, b in [(0.5, 1.0), (0.7, 2.0), (0.6, 4.0)]
    )
    samples = Samples(y, np.ones(80), np.ones(80))
    found = average(pooled, better, best, samples, LOGISTIC)
    a, v = (share(gain(one, pooled, samples)) for one in (better, best))
    assert 0 < a < 1
    assert 0 < v < 1
    assert (found.attention, found.largest) == (a, (1 - a) * v)
    parts = np.array([found.attention, found.largest, found.mean])
    assert parts.sum() == pytest.approx(1)
    every = np.stack([better.left_out_scores, best.left_out_scores, pooled.left_out_scores])
    np.testing.assert_allclose(found.fit.left_out_scores, parts @ every, rtol=1e-12)
    np.testing.assert_allclose(found.fit.left_out, np.log1p(np.exp(-y * (parts @ every))))
    assert found.fit.b == pytest.approx(parts @ [2.0, 4.0, 1.0])
    # Largest values take nothing from attention.
    assert average(pooled, better, None, samples, LOGISTIC).attention == a
    alone = average(pooled, None, None, samples, LOGISTIC)
    assert alone.fit is pooled
    assert (alone.attention, alone.largest) == (0, 0)


def test_an_infinite_left_out_loss_gives_no_share() -> None:
    y = np.where(np.arange(20) % 2, 1.0, -1.0)
    pooled = readout(0.1 * y, y, 0.0)
    alone = LinearFit(np.ones(3), 0.0, 0.1, np.full(20, np.inf), np.full(20, np.inf))
    samples = Samples(y, np.ones(20), np.ones(20))
    found = average(pooled, alone, alone, samples, LOGISTIC)
    assert found.fit is pooled


def drawn(n: int = 60) -> tuple[list, np.ndarray, Task]:
    rng = np.random.default_rng(3)
    y = np.arange(n) % 2
    bags = [rng.standard_normal((rng.integers(2, 7), 4)) * [1, 5, 1, 0.2] + 3 for _ in range(n)]
    for bag, label in zip(bags, y, strict=True):
        bag[0, 1] += 10 * label
    flat = as_bags(bags)
    features = BagFeatures(flat, Standardization.of(flat, np.ones(n), True))
    samples = Samples(2.0 * y - 1, np.ones(n), np.ones(n))
    return bags, y, Task(features, samples, LOGISTIC, "auto", rescale=True)


def test_largest_values_are_fitted_as_logistic_regression_on_means_and_maxima() -> None:
    bags, y, task = drawn()
    scaling = task.features.standardization
    z = [(bag - scaling.mean) / scaling.scale for bag in bags]
    F = np.array([np.concatenate([bag.mean(axis=0), bag.max(axis=0)]) for bag in z])
    deviations = np.maximum(F.std(axis=0), 1 / np.sqrt(6))  # of bags of up to 6 tokens
    fit = task.largest_fit
    assert fit is not None
    oracle = LogisticRegression(C=1 / (60 * fit.ridge), tol=1e-10, solver="newton-cholesky")
    expected = oracle.fit(F / deviations, y).decision_function(F / deviations)
    # The search of the ridge ends at a relative gradient of 1e-5.
    np.testing.assert_allclose(F @ fit.w + fit.b, expected, atol=1e-3 * np.abs(expected).max())


def test_largest_values_are_left_out_where_there_are_too_many(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(tasks, "MOST", 60 * 4 - 1)
    _, _, task = drawn()
    assert task.largest_fit is None
