"""The excess variance of scores in positive bags: known values."""

import numpy as np
import pytest

from sparsetoken.bags import as_bags
from sparsetoken.estimators import PooledLinearClassifier
from sparsetoken.forecasting.measures import Spreads, excess_of


@pytest.mark.parametrize("informative", [1, 3, 8])
def test_the_excess_is_that_of_the_informative_tokens(informative):
    """The readout is given: that of the axis of the signal."""
    rng = np.random.default_rng(5)
    y = np.arange(2000) % 2
    bags = rng.standard_normal((2000, 8, 3)) + np.sqrt(0.2) * rng.standard_normal((2000, 1, 3))
    bags[y == 1, :informative, 0] += 2.0
    model = PooledLinearClassifier().fit(bags[:50], y[:50])
    model.coef_ = np.array([[1.0, 0.0, 0.0]])
    spreads, rest = Spreads(2000), np.ones(2000, dtype=bool)
    spreads.add(model, as_bags(bags[y == 0]), as_bags(bags), rest)
    found = spreads.excess(y == 1)
    expected = excess_of(np.array([2.0]), np.array([informative]), 8)[0]
    assert found.value == pytest.approx(expected, abs=4 * found.standard_error)
    assert found.standard_error < 0.05


def test_nothing_is_measured_in_bags_of_one_token():
    bags = np.random.default_rng(1).standard_normal((40, 1, 3))
    y = np.arange(40) % 2
    model = PooledLinearClassifier().fit(bags, y)
    spreads = Spreads(40)
    spreads.add(model, as_bags(bags[y == 0]), as_bags(bags), np.ones(40, dtype=bool))
    assert spreads.excess(y == 1).standard_error == np.inf
