"""The squared separation and the excess variance: known values, without flattery."""

import numpy as np
import pytest

from sparsetoken import PooledLinearClassifier
from sparsetoken.bags import as_bags
from sparsetoken.forecasting.excess import Spreads, excess_of
from sparsetoken.forecasting.inputs import read_labelled
from sparsetoken.forecasting.law import bag_law
from sparsetoken.forecasting.separation import UNKNOWN, squared_separation


def _bags(shift, informative, between, rng, n=60, L=8, d=40):
    """Return bags with d near n, whose first tokens are shifted along the first axis."""
    y = np.arange(n) % 2
    bags = rng.standard_normal((n, L, d)) + np.sqrt(between) * rng.standard_normal((n, 1, d))
    bags[y == 1, :informative, 0] += shift
    return bags, y


@pytest.mark.parametrize(("shift", "between"), [(0.0, 0.0), (1.0, 0.0), (1.0, 0.3)])
def test_the_squared_separation_is_without_bias(shift, between):
    """Mean over 60 pilots; a plug-in value would be tr V = 40 * 4 / 60 larger, about 2.7."""
    found = []
    for seed in range(60):
        rng = np.random.default_rng(seed)
        data = read_labelled(*_bags(shift, 8, between, rng))
        found.append(bag_law(data, np.random.RandomState(0)).squared)
    values = np.array([one.value for one in found])
    truth = shift**2 / (between + 1 / 8)
    error = values.std(ddof=1) / np.sqrt(60)
    # Covariances and effects of bags that are estimated leave a few percent.
    assert abs(values.mean() - truth) < 3 * error + 0.1 * truth
    told = np.mean([one.standard_error(np.array(truth)) for one in found])
    assert told == pytest.approx(values.std(ddof=1), rel=0.35)  # 60 draws know it to 9%


def test_bags_of_one_token_and_many_columns_have_no_separation():
    rng = np.random.default_rng(0)
    y = np.arange(40) % 2
    assert (
        bag_law(read_labelled(rng.standard_normal((40, 1, 5)), y), np.random.RandomState(0)).squared
        == UNKNOWN
    )
    wide = rng.standard_normal((20, 601))
    assert squared_separation(wide, 1.0, wide, y[:20] == 1) == UNKNOWN
    assert squared_separation(np.zeros((20, 3)), 1.0, wide[:, :3], y[:20] == 1) == UNKNOWN


@pytest.mark.parametrize("informative", [1, 3, 8])
def test_the_excess_is_that_of_the_informative_tokens(informative):
    """The readout is given: that of the axis of the signal."""
    rng = np.random.default_rng(5)
    bags, y = _bags(2.0, informative, 0.2, rng, n=2000, d=3)
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
