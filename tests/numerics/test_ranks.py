"""The area under the ROC curve, by ranks."""

import math

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from sparsetoken.numerics.ranks import sample_auc


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
