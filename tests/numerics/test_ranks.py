"""The area under the ROC curve, by ranks."""

import math

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from sparsetoken.numerics.ranks import auc_interval, sample_auc


@pytest.mark.parametrize("decimals", [0, 1, 12])
def test_it_is_that_of_scikit_learn_with_and_without_ties(decimals: int) -> None:
    rng = np.random.default_rng(0)
    labels = np.where(rng.random(60) < 0.3, 1.0, -1.0)
    scores = np.round(rng.standard_normal(60) + labels, decimals)
    assert sample_auc(scores, labels) == pytest.approx(roc_auc_score(labels, scores), abs=1e-14)


def test_an_infinite_score_is_the_largest() -> None:
    assert sample_auc(np.array([np.inf, 0.0, -np.inf]), np.array([1.0, -1.0, 1.0])) == 0.5


def test_one_class_or_no_number_has_none() -> None:
    assert math.isnan(sample_auc(np.zeros(3), np.ones(3)))
    assert math.isnan(sample_auc(np.array([0.0, np.nan]), np.array([1.0, -1.0])))


def test_the_interval_of_an_auc_is_that_of_delong() -> None:
    rng = np.random.default_rng(0)
    number = (rng.random(400) < 0.3).astype(int)
    scores = rng.standard_normal(400) + number
    value, low, high = auc_interval(scores[:, None], number)
    assert value == pytest.approx(roc_auc_score(number, scores))
    # 2000 samples of bags, drawn again: their deviation is known to 2%, that of an error to O(1/n).
    drawn = [rng.integers(0, 400, 400) for _ in range(2000)]
    spread = np.std([roc_auc_score(number[rows], scores[rows]) for rows in drawn])
    assert high - value == pytest.approx(value - low)
    assert (high - low) / 2 == pytest.approx(1.645 * spread, rel=0.08)
    copies = np.repeat(np.arange(400), 3)
    grouped = auc_interval(scores[copies, None], number[copies], copies)
    np.testing.assert_allclose(grouped, [value, low, high], rtol=2e-3)  # but for n/(n - 1)


def test_the_interval_of_several_classes_and_of_perfect_order() -> None:
    rng = np.random.default_rng(0)
    number = np.arange(90) % 3
    scores = rng.standard_normal((90, 3)) + np.eye(3)[number]
    areas = [roc_auc_score(number == k, scores[:, k]) for k in range(3)]
    assert auc_interval(scores, number)[0] == pytest.approx(np.mean(areas))
    # Two of two are in order by chance in one of six sets.
    assert auc_interval(np.arange(4.0)[:, None], np.array([0, 0, 1, 1]))[1] < 0.5
    assert auc_interval(np.arange(20.0)[:, None], np.arange(20) // 10)[1] > 0.5
    assert auc_interval(np.ones((20, 1)), np.arange(20) % 2)[1] < 0.5
