"""What held-out scores show: AUCs and their luck, and the excess variance of positive bags."""

import numpy as np
import pytest
from scipy.special import ndtr
from sklearn.metrics import roc_auc_score

from sparsetoken.bags import as_bags
from sparsetoken.estimators import PooledClassifier
from sparsetoken.forecasting.measures import excess, excess_of, spreads
from sparsetoken.numerics.ranks import auc, influences, placements


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


@pytest.mark.parametrize("informative", [1, 3, 8])
def test_the_excess_is_that_of_the_informative_tokens(informative):
    """The readout is given: that of the axis of the signal."""
    rng = np.random.default_rng(5)
    y = np.arange(2000) % 2
    bags = rng.standard_normal((2000, 8, 3)) + np.sqrt(0.2) * rng.standard_normal((2000, 1, 3))
    bags[y == 1, :informative, 0] += 2.0
    model = PooledClassifier().fit(bags[:50], y[:50])
    model.coef_ = np.array([[1.0, 0.0, 0.0]])
    found = excess(spreads(model, as_bags(bags[y == 0]), as_bags(bags))[None], y == 1)
    expected = excess_of(np.array([2.0]), np.array([informative]), 8)[0]
    assert found.value == pytest.approx(expected, abs=4 * found.standard_error)
    assert found.standard_error < 0.05


def test_nothing_is_measured_in_bags_of_one_token():
    bags = np.random.default_rng(1).standard_normal((40, 1, 3))
    y = np.arange(40) % 2
    model = PooledClassifier().fit(bags, y)
    found = spreads(model, as_bags(bags[y == 0]), as_bags(bags))
    assert np.isnan(found).all()
    assert excess(found[None], y == 1).standard_error == np.inf


def test_spreads_are_means_over_the_fits_that_know_them():
    nan, positive = np.nan, np.array([True, True, True, False, False])
    spread = np.array([[1.0, 4.0, nan, 1.0, nan], [3.0, nan, nan, 1.0, 2.0]])
    found = excess(spread, positive)  # 2 and 4 against 1 and 2
    assert found.value == pytest.approx(1.5)
    assert found.standard_error == pytest.approx(np.sqrt(2 / 2 + 0.5 / 2))
