"""The excess variance of scores in positive bags: known values."""

import numpy as np
import pytest

from sparsetoken.bags import as_bags
from sparsetoken.estimators import PooledLinearClassifier
from sparsetoken.forecasting.measures import excess, excess_of, spreads


@pytest.mark.parametrize("informative", [1, 3, 8])
def test_the_excess_is_that_of_the_informative_tokens(informative):
    """The readout is given: that of the axis of the signal."""
    rng = np.random.default_rng(5)
    y = np.arange(2000) % 2
    bags = rng.standard_normal((2000, 8, 3)) + np.sqrt(0.2) * rng.standard_normal((2000, 1, 3))
    bags[y == 1, :informative, 0] += 2.0
    model = PooledLinearClassifier().fit(bags[:50], y[:50])
    model.coef_ = np.array([[1.0, 0.0, 0.0]])
    found = excess(spreads(model, as_bags(bags[y == 0]), as_bags(bags))[None], y == 1)
    expected = excess_of(np.array([2.0]), np.array([informative]), 8)[0]
    assert found.value == pytest.approx(expected, abs=4 * found.standard_error)
    assert found.standard_error < 0.05


def test_nothing_is_measured_in_bags_of_one_token():
    bags = np.random.default_rng(1).standard_normal((40, 1, 3))
    y = np.arange(40) % 2
    model = PooledLinearClassifier().fit(bags, y)
    found = spreads(model, as_bags(bags[y == 0]), as_bags(bags))
    assert np.isnan(found).all()
    assert excess(found[None], y == 1).standard_error == np.inf


def test_spreads_are_means_over_the_fits_that_know_them():
    nan, positive = np.nan, np.array([True, True, True, False, False])
    spread = np.array([[1.0, 4.0, nan, 1.0, nan], [3.0, nan, nan, 1.0, 2.0]])
    found = excess(spread, positive)  # 2 and 4 against 1 and 2
    assert found.value == pytest.approx(1.5)
    assert found.standard_error == pytest.approx(np.sqrt(2 / 2 + 0.5 / 2))
