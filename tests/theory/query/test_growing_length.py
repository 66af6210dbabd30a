"""The query where the length grows with the dimension.

Equations: growing-length-alignment.
"""

import dataclasses
import math

import numpy as np
import pytest
from scipy import stats

import sparsetoken as st
from sparsetoken.base.validation import InvalidInput
from sparsetoken.theory import growing_length_cosine

# Quantiles of the imbalance, whose mean over them is that over a standard normal to 1e-3.
IMBALANCE = stats.norm.ppf((np.arange(1000) + 0.5) / 1000)


def setting(L=100, informative=1, strength=2.0, rate=0.5, samples=0.2, **steps):
    problem = st.SparseTokenProblem(L, informative, strength, positive_rate=rate)
    return problem, st.TwoSteps(alpha0=samples * L, **{"eta_w": 1.0} | steps)


@pytest.mark.parametrize(
    ("c", "changed", "mean", "spread"),
    [
        (0.1, {"samples": 0.1, "eta_b": 0.5}, 0.1802, 0.073),
        (0.5, {"samples": 0.5, "strength": 1.5, "eta_b": 0.5}, 0.301, 0.196),
        (1.0, {"informative": 2, "eta_b": 2.0}, 0.726, 0.117),
        (2.0, {"samples": 0.3, "eta_b": 0.5}, 0.336, 0.289),
    ],
)
def test_reference_points(c, changed, mean, spread):
    problem, steps = setting(**changed)
    found = growing_length_cosine(problem, steps, round(100 / c), IMBALANCE)
    assert found.mean() == pytest.approx(mean, abs=1e-3)
    assert found.std() == pytest.approx(spread, abs=1e-3)


@pytest.mark.parametrize("loss", ["logistic", "square"])
def test_the_distribution_at_a_dimension_tends_to_it(loss):
    gaps = []
    for L in (25, 100):
        problem, steps = setting(L, informative=2, loss=loss, eta_b=2.0)
        found = st.align(problem, steps, dimension=L)
        limit = growing_length_cosine(problem, steps, L, IMBALANCE)
        gaps.append([found.cosine - limit.mean(), found.spread - limit.std()])
    # Means over 2048 draws are known to 0.003; what is left at a dimension falls as 1/L.
    assert np.all(np.abs(gaps[1]) < np.abs(gaps[0]) / 4 + 0.01)


def test_simulated_cosines_follow_their_own_imbalance():
    # With eta_b = 1/l'' or equal classes nothing is random: the spread of trials is small beside
    # that of the same data sets at eta_b = 0.5.
    spreads = {}
    for eta_b in (0.5, 4.0):
        problem, steps = setting(100, informative=2, eta_b=eta_b)
        found = st.simulation.align(problem, steps, dimension=100, trials=60, seed=1)
        spreads[eta_b] = float(np.std(found.trials.cosine))
    assert spreads[4.0] < 0.5 * spreads[0.5]


def test_other_rates_point_along_the_readout():
    for rate, eta_b in ((0.3, 0.5), (0.7, 0.5), (0.7, 6.0), (0.9, 4.5)):
        problem, steps = setting(200, rate=rate, informative=4, eta_b=eta_b)
        found = st.align(problem, steps, dimension=50)
        limit = growing_length_cosine(problem, steps, 50)
        m = rate * 2.0 * 4
        assert abs(limit) == pytest.approx(m / math.hypot(m, 5**0.5))
        # At L = 200 the rest is of order 1/L times the slopes; the other sign is 1.4 away at least.
        assert float(found.cosine) == pytest.approx(float(limit), abs=0.05)


def test_without_imbalance_the_cosine_does_not_depend_on_the_length_over_the_dimension():
    problem, steps = setting()
    assert growing_length_cosine(problem, steps, 50) == growing_length_cosine(problem, steps, 500)
    exact = setting(eta_b=4.0)  # where the bias balances any classes
    assert np.ptp(growing_length_cosine(*exact, 50, IMBALANCE)) < 1e-12


def test_illegal_settings_are_refused():
    with pytest.raises(InvalidInput, match="dimension"):
        growing_length_cosine(*setting(), 1)
    uneven = st.losses.CustomLoss("uneven", lambda y, z: (2 + y) * (y - z) ** 2)
    with pytest.raises(InvalidInput, match="loss of the limit"):
        growing_length_cosine(*setting(loss=uneven), 50)
    problem, steps = setting()
    with pytest.raises(InvalidInput, match="strength"):
        growing_length_cosine(dataclasses.replace(problem, strength=[1.0, 2.0]), steps, 50)
