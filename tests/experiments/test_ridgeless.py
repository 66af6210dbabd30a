"""The ridgeless experiment end to end at a tiny size; a wrong number does not pass."""

import itertools

import pytest

from sparsetoken.experiments.core.claims import FAILS, verdict_of
from sparsetoken.experiments.rates import PROBLEM as RATES
from sparsetoken.experiments.rates import simulate_error
from sparsetoken.experiments.ridgeless import EXPERIMENT, RIDGED, SQUARE, line_of_loads

SMALL = dict(
    loads=(0.5, 2.0),
    ridge_loads=(0.5, 2.0),
    vectorized_loads=(0.5,),
    ratios=(0.75, 1.25),
    margin_dimension=30,
    margin_trials=6,
    weights=40,
    trials=3,
    line_points=3,
    ridges=(0.001, 1e-05, 1e-06),
)


def test_every_claim_has_comparisons_and_computed_ones_hold(rows, sizes):
    comparisons = EXPERIMENT.compared(sizes, rows)
    assert {c.claim for c in comparisons} == {c.name for c in EXPERIMENT.claims}
    # Those that compare computed numbers do not depend on the size of the simulation.
    computed = [c for c in comparisons if c.engine == "computed" and c.trials == 0]
    assert computed
    assert not [c for c in computed if c.verdict == FAILS]


def test_words_and_figures(rows, sizes, said_of):
    words = said_of(EXPERIMENT, sizes, rows)
    assert "max-margin" in words["Found"]
    assert "40 weights" in words["Setting"]


LOSS = {"series": "simulated", "quantity": "training_loss"}


@pytest.mark.parametrize(
    ("chosen", "claim"),
    [
        ({"quantity": "above"}, "susceptibility-diverges"),
        ({**LOSS, "ratio": 0.75}, "zero-loss-below-capacity"),
        ({**LOSS, "ratio": 1.25}, "positive-loss-above-capacity"),
        ({**LOSS, "load": 0.5, "ridge": 0.0}, "interpolation-threshold"),
        (
            {"series": "theory", "quantity": "test_error", "ridge": 1e-6},
            "direction-to-max-margin",
        ),
    ],
)
def test_a_wrong_number_fails(rows, sizes, changed, chosen, claim):
    wrong = changed(rows, lambda row: row.but(value=2 * row.value + 1), **chosen)
    comparisons = EXPERIMENT.compared(sizes, wrong)
    assert verdict_of(c for c in comparisons if c.claim == claim) == FAILS


def test_the_susceptibility_is_measured_where_it_is_finite(rows):
    simulated = rows.where("simulated", "susceptibility")
    assert {row["model"] for row in simulated} == {"attention"}
    assert {(row["ridge"], row["load"]) for row in simulated} == {
        (0.0, 2.0),
        (RIDGED, 0.5),
        (RIDGED, 2.0),
    }


def test_the_dimension_of_vectorized_is_that_of_tokens(rows):
    """Shifts of finite dimension are measured in d, not in the L d weights."""
    simulated = rows.where("simulated", model="vectorized")
    assert {row.dimension for row in simulated} == {SMALL["weights"] // SQUARE.length}
    (row,) = simulate_error("simulated", "vectorized", 5.0, weights=40, trials=2, seed=1)
    assert row.dimension == 40 // RATES.length


@pytest.mark.parametrize("profile", EXPERIMENT.sizes.values(), ids=list(EXPERIMENT.sizes))
def test_no_load_stands_twice_but_for_rounding(profile):
    loads = sorted({*profile.loads, *line_of_loads(profile.line_points)})
    assert min(b / a for a, b in itertools.pairwise(loads)) > 1 + 1e-6
