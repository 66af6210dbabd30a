"""The ridgeless experiment end to end at a tiny size; a wrong number does not pass."""

import itertools

import pytest

from sparsetoken.experiments.rates import PROBLEM as RATES
from sparsetoken.experiments.rates import simulate_error
from sparsetoken.experiments.ridgeless import EXPERIMENT, RIDGED, SQUARE, line_of_loads


def test_the_susceptibility_is_measured_where_it_is_finite(rows):
    simulated = rows.where("simulated", "susceptibility")
    assert {row["model"] for row in simulated} == {"attention"}
    places = {(row["ridge"], row["load"]) for row in simulated}
    assert places == {(0.0, 2.0), (RIDGED, 0.5), (RIDGED, 2.0)}


def test_the_dimension_of_vectorized_is_that_of_tokens(rows):
    """Shifts of finite dimension are measured in d, not in the L d weights."""
    simulated = rows.where("simulated", model="vectorized")
    assert {row.dimension for row in simulated} == {40 // SQUARE.length}
    (row,) = simulate_error("simulated", "vectorized", 5.0, weights=40, trials=2, seed=1)
    assert row.dimension == 40 // RATES.length


@pytest.mark.parametrize("profile", EXPERIMENT.sizes.values(), ids=list(EXPERIMENT.sizes))
def test_no_load_stands_twice_but_for_rounding(profile):
    loads = sorted({*profile.loads, *line_of_loads(profile.line_points)})
    assert min(b / a for a, b in itertools.pairwise(loads)) > 1 + 1e-6
