"""The rate of the test error towards infinite data, and the cosine at which attention wins.

Equations: infinite-data-rate, critical-cosine.
"""

import math

import pytest

from sparsetoken.experiments import misalignment, rates


@pytest.mark.parametrize("model", list(rates.MODELS))
def test_the_rate_of_infinite_data_is_that_of_the_solutions(model):
    """alpha (E(alpha) - E(inf)), extrapolated to 1/alpha = 0."""
    loads = tuple(x * rates.WEIGHTS[model] for x in (1e3, 2e3))
    rows = list(rates.predict_excess(model, 2, loads))
    near, far = (
        load * next(r.value for r in rows if r.quantity == "excess" and r["load"] == load)
        for load in loads
    )
    (rate,) = (row.value for row in rows if row.quantity == "rate")
    # Extrapolation leaves a second order of 1e-6; the nodes of the rate are others.
    assert 2 * far - near == pytest.approx(rate, rel=3e-3)


@pytest.mark.parametrize("alpha1", [2.0, math.inf])
def test_at_the_critical_cosine_both_errors_agree(alpha1):
    cosine, pooled, attention = misalignment.find_crossing(10, alpha1)
    assert 0.1 < cosine.value < 0.4
    assert attention.value == pytest.approx(pooled.value, abs=misalignment.TOLERANCE)
