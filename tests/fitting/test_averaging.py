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


def test_a_share_over_what_is_as_complex_is_one_half_at_no_gain() -> None:
    assert [share(g, half=0) for g in (-2, -1, 0, 1, 2)] == [0, 0.25, 0.5, 0.75, 1]
    assert share(np.nan, half=0) == 0


def three(strengths: tuple[float, float, float]) -> tuple[np.ndarray, Samples, list[LinearFit]]:
    """Return labels and readouts of independent noise and signals of these strengths."""
    rng = np.random.default_rng(0)
    y = np.where(np.arange(80) % 2, 1.0, -1.0)
    fits = [
        readout(k * y + rng.standard_normal(80), y, b)
        for k, b in zip(strengths, [1.0, 2.0, 4.0], strict=True)
    ]
    return y, Samples(y, np.ones(80), np.ones(80)), fits


def test_the_average_has_the_scores_that_its_shares_say() -> None:
    y, samples, (pooled, attention, largest) = three((0.5, 0.5, 0.6))
    found = average(pooled, attention, largest, samples, LOGISTIC)
    a, v, m = (one.left_out for one in (attention, largest, pooled))
    edge = v - a + 0.1 * (m - a)
    part = np.clip(0.5 + edge.mean() / (edge.std() / np.sqrt(80)) / 4, 0, 1)
    every = np.stack([one.left_out_scores for one in (attention, largest, pooled)])
    both = readout(np.array([part, 1 - part]) @ every[:2], y, 0.0)
    total = share(gain(both, pooled, samples))
    assert 0 < part < 1
    assert 0 < total < 1
    assert found.attention == pytest.approx(total * part)
    assert found.largest == pytest.approx(total * (1 - part))
    parts = np.array([found.attention, found.largest, found.mean])
    assert parts.sum() == pytest.approx(1)
    np.testing.assert_allclose(found.fit.left_out_scores, parts @ every, rtol=1e-12)
    np.testing.assert_allclose(found.fit.left_out, np.log1p(np.exp(-y * (parts @ every))))
    assert found.fit.b == pytest.approx(parts @ [2.0, 4.0, 1.0])


@pytest.mark.parametrize("swapped", [False, True])
def test_of_two_readouts_the_clearly_better_one_has_what_both_have(swapped: bool) -> None:
    _, samples, (pooled, one, other) = three((0.2, 0.5, 2.0))
    assert gain(other, one, samples) > 3
    total = share(gain(other, pooled, samples))
    pair = (other, one) if swapped else (one, other)
    found = average(pooled, *pair, samples, LOGISTIC)
    assert total > 0
    assert (found.attention, found.largest) == ((total, 0) if swapped else (0, total))


def test_attention_that_is_nearly_as_good_as_largest_values_keeps_the_score() -> None:
    """Both are far better than the mean, and differ by little that is sure."""
    y = np.where(np.arange(80) % 2, 1.0, -1.0)
    noise = np.random.default_rng(1).standard_normal(80)
    pooled, attention, largest = (readout(k * (y + 0.1 * noise), y, 0.0) for k in (0.1, 4, 5))
    samples = Samples(y, np.ones(80), np.ones(80))
    assert gain(largest, attention, samples) > 10
    found = average(pooled, attention, largest, samples, LOGISTIC)
    assert (found.attention, found.largest) == (1, 0)


def test_a_readout_alone_is_weighed_against_the_mean() -> None:
    _, samples, (pooled, attention, largest) = three((0.5, 0.6, 0.6))
    found = average(pooled, attention, None, samples, LOGISTIC)
    assert (found.attention, found.largest) == (share(gain(attention, pooled, samples)), 0)
    found = average(pooled, None, largest, samples, LOGISTIC)
    assert (found.attention, found.largest) == (0, share(gain(largest, pooled, samples)))
    alone = average(pooled, None, None, samples, LOGISTIC)
    assert alone.fit is pooled
    assert (alone.attention, alone.largest) == (0, 0)


def test_an_infinite_left_out_loss_gives_no_share() -> None:
    _, samples, (pooled, attention, largest) = three((0.1, 2.0, 2.0))
    infinite = LinearFit(np.ones(3), 0.0, 0.1, np.full(80, np.inf), np.full(80, np.inf))
    assert average(pooled, infinite, infinite, samples, LOGISTIC).fit is pooled
    found = average(pooled, infinite, largest, samples, LOGISTIC)
    assert (found.attention, found.largest) == (0, share(gain(largest, pooled, samples)))
    found = average(pooled, attention, infinite, samples, LOGISTIC)
    assert (found.attention, found.largest) == (share(gain(attention, pooled, samples)), 0)


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
    fit = task.largest_fit()
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
    assert task.largest_fit() is None
