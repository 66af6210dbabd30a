"""The ridgeless experiment end to end at a tiny size; a wrong number does not pass."""

import dataclasses
import itertools

import pytest

from sparsetoken.experiments.claims import FAILS, verdict_of
from sparsetoken.experiments.ridgeless import EXPERIMENT, work
from sparsetoken.experiments.ridgeless.jobs import PROFILES, Profile
from sparsetoken.experiments.ridgeless.rows import (
    Divergence,
    Margin,
    SimulatedLoad,
    SimulatedMargin,
    SimulatedSusceptibility,
)
from sparsetoken.experiments.rows import select

TINY = Profile(
    features=40,
    trials=3,
    loads=(0.5, 2.0),
    ridge_loads=(0.5, 2.0),
    vectorized_loads=(0.5,),
    line_points=3,
    ratios=(0.75, 1.25),
    margin_dimension=30,
    margin_trials=6,
    ridges=(1e-3, 1e-5, 1e-6),
)


@pytest.fixture(scope="module")
def rows(rows_of):
    return rows_of(EXPERIMENT, TINY)


def test_every_claim_has_comparisons_and_computed_ones_hold(rows):
    comparisons = EXPERIMENT.compare(TINY, rows)
    assert {c.claim for c in comparisons} == {c.name for c in EXPERIMENT.claims}
    # Those that compare computed numbers do not depend on the size of the simulation.
    computed = [c for c in comparisons if c.engine == "computed" and c.trials == 0]
    assert computed
    assert not [c for c in computed if c.verdict == FAILS]


def test_words_and_figures(rows, said_of):
    words = said_of(EXPERIMENT, TINY, rows)
    assert "largest margin" in words["result"]
    assert "40 weights" in words["setting"]


@pytest.mark.parametrize(
    ("kind", "place", "column", "claim"),
    [
        (Divergence, {}, "above", "susceptibility-diverges"),
        (SimulatedMargin, {"ratio": 0.75}, "training_loss", "zero-loss-below-capacity"),
        (SimulatedMargin, {"ratio": 1.25}, "training_loss", "positive-loss-above-capacity"),
        (SimulatedLoad, {"load": 0.5, "ridge": 0.0}, "training_loss", "interpolation-threshold"),
        (Margin, {"ridge": 1e-6}, "test_error", "direction-to-max-margin"),
    ],
)
def test_a_wrong_number_fails(rows, kind, place, column, claim):
    chosen = select(rows, kind, **place)

    def wrong(row):
        if row not in chosen:
            return row
        number = getattr(row, column)
        number = dataclasses.replace(number, value=2 * number.value + 1)
        return dataclasses.replace(row, **{column: number})

    comparisons = EXPERIMENT.compare(TINY, [wrong(row) for row in rows])
    assert chosen
    assert verdict_of(c for c in comparisons if c.claim == claim) == FAILS


def test_the_susceptibility_is_measured_where_it_is_finite(rows):
    found = {(r.model, r.ridge, r.load) for r in select(rows, SimulatedSusceptibility)}
    ridged = {("attention", work.RIDGED, load) for load in (0.5, 2.0)}
    assert found == {("attention", 0.0, 2.0), *ridged}


def test_ratios_are_multiples_of_the_solved_capacity(rows):
    assert {row.capacity for row in select(rows, Margin)} == {work.capacity()}
    assert work.capacity().converged


def test_the_line_avoids_the_threshold():
    assert 1.0 not in work.line_of_loads(20)
    assert min(abs(x - 1) for x in work.line_of_loads(20)) > 1e-3


@pytest.mark.parametrize("profile", PROFILES.values(), ids=PROFILES)
def test_no_load_stands_twice_but_for_rounding(profile):
    loads = sorted({*profile.loads, *work.line_of_loads(profile.line_points)})
    assert min(b / a for a, b in itertools.pairwise(loads)) > 1 + 1e-6
