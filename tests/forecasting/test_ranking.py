"""AUCs of held-out scores and their luck: a slow count, scikit-learn, and drawn pilots."""

import numpy as np
import pytest
from scipy.special import ndtr
from sklearn.metrics import roc_auc_score

from sparsetoken.forecasting.measures import auc, influences, placements


def test_placements_count_pairs_and_halve_ties():
    scores, positive = np.array([2.0, 1.0, 1.0, 0.0]), np.array([True, True, False, False])
    assert placements(scores, positive).tolist() == [1.0, 0.75, 0.75, 1.0]


@pytest.mark.parametrize("digits", [0, 12])
def test_the_mean_placement_is_the_auc(digits):
    """Rounded to whole numbers most scores are tied."""
    rng = np.random.default_rng(0)
    positive = rng.random(90) < 0.3
    scores = np.round(rng.standard_normal(90) + positive, digits)
    placed, expected = placements(scores, positive), roc_auc_score(positive, scores)
    assert auc(placed, positive) == pytest.approx(expected, abs=1e-12)  # rounding of sums
    assert placed[~positive].mean() == pytest.approx(expected, abs=1e-12)
    assert influences(placed, positive).mean() == pytest.approx(0, abs=1e-12)


def test_influences_tell_how_aucs_and_error_shares_scatter_together():
    """Of 2000 pilots of 60 bags, 15 positive: two classifiers that share half of their luck."""
    rng, n, draws = np.random.default_rng(1), 60, 2000
    positive = np.arange(n) < 15
    found, told = [], []
    for _ in range(draws):
        noise = rng.standard_normal((2, n)) + rng.standard_normal(n)
        scores = noise / np.sqrt(2) + np.array([[1.0], [2.0]]) * positive
        placed = np.stack([placements(one, positive) for one in scores])
        wrong = (scores[:1] > 0.5) != positive
        found.append([*auc(placed, positive), wrong.mean()])
        told.append(np.cov(np.concatenate([influences(placed, positive), wrong])) / n)
    assert np.mean(found, axis=0)[:2] == pytest.approx(ndtr([2**-0.5, 2**0.5]), abs=0.005)
    seen, expected = np.cov(np.transpose(found)), np.mean(told, axis=0)
    # Four standard errors: 2000 draws tell covariances of a correlation of one half to 5%.
    assert expected == pytest.approx(seen, rel=0.2)
