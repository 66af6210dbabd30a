"""The maps of test error from end to end; a wrong number fails."""

import dataclasses

import numpy as np
import pytest

from sparsetoken.experiments import sensitivity
from sparsetoken.experiments.core.claims import FAILS, HOLDS, NOT_CONVERGED, verdict_of
from sparsetoken.experiments.sensitivity import EXPERIMENT
from sparsetoken.stages import TwoSteps


@pytest.fixture(scope="module")
def sizes(sizes_of):
    grid = {"across": 3, "up": 3, "shares": 3, "totals": (2.0,), "best_alpha0s": (1.0,)}
    spots = {"sharpness": ((0.8, 1.0),), "bias": ((1.0, 0.35),)}
    return sizes_of(EXPERIMENT, spots=spots, dimension=80, trials=4, **grid)


@pytest.fixture(scope="module")
def rows(rows_of, sizes):
    with pytest.MonkeyPatch.context() as patch:
        # The square loss and few nodes are ten times as fast.
        patch.setattr(sensitivity, "STEPS", TwoSteps(alpha0=1.0, eta_q=7.0, loss="square"))
        readout = dataclasses.replace(sensitivity.READOUT, loss="square")
        patch.setattr(sensitivity, "READOUT", readout)
        patch.setattr(sensitivity, "MAP", 5e-3)
        patch.setattr(sensitivity, "SPOT", 5e-3)
        return rows_of(EXPERIMENT, sizes)


@pytest.fixture(scope="module")
def verdict(sizes):
    def judge(rows, claim):
        return verdict_of(c for c in EXPERIMENT.compared(sizes, rows) if c.claim == claim)

    return judge


def test_from_work_to_figures(rows, sizes, said_of):
    comparisons = EXPERIMENT.compared(sizes, rows)
    assert {c.claim for c in comparisons} == {c.name for c in EXPERIMENT.claims}
    words = said_of(EXPERIMENT, sizes, rows)
    assert "best fraction" in words["Found"]
    assert "d = 80, 4 trials" in words["Setting"]


@pytest.mark.parametrize(("panel", "claim"), sensitivity.PANELS.items())
def test_a_simulation_off_the_map_fails(rows, changed, verdict, panel, claim):
    wanted = {"series": "simulated", "quantity": "test_error", "panel": panel}
    moved = changed(rows, lambda row: row.but(value=row.value + 0.5, error=1e-3), **wanted)
    assert verdict(rows, claim) == HOLDS
    assert verdict(moved, claim) == FAILS


@pytest.mark.parametrize(("panel", "claim"), sensitivity.BEST.items())
def test_a_better_neighbour_fails_and_a_worse_one_does_not(rows, changed, verdict, panel, claim):
    """All gains are given, so that nothing hangs on the few trials of this test."""

    def with_gains(below, above):
        def gain(row):
            value = {"below": below, "above": above}[row["side"]]
            return row.but(value=value, error=1e-3)

        return changed(rows, gain, quantity="gain", panel=panel)

    assert verdict(with_gains(-0.5, -0.5), claim) == HOLDS
    assert verdict(with_gains(0.5, -0.5), claim) == FAILS
    assert verdict(with_gains(-0.5, 0.5), claim) == FAILS


def test_a_gain_is_the_mean_of_the_differences_of_trials(rows, sizes):
    measured = rows.where("simulated", "test_error")
    gains = rows.where("simulated", "gain")
    assert [row["side"] for row in gains] == ["below", "above"] * 2
    for row in gains:
        best = measured.one(panel=row["panel"], x=row["best"], y=row["y"])
        beside = measured.one(panel=row["panel"], x=row["x"], y=row["y"])
        assert row.value == pytest.approx(best.value - beside.value, abs=1e-12)
        assert row.trials == sizes.trials
        # Of two means without a common part the error would be at least the larger one's.
        assert 0 < row.error < 2 * np.hypot(best.error, beside.error)


def test_neighbours_are_three_times_the_odds_or_beta_away(rows):
    for row in rows.where(quantity="gain"):
        low, high = sorted((row["best"], row["x"]))
        ratio = high / low
        if row["panel"] == "split":
            ratio *= (1 - low) / (1 - high)
            assert row["y"] == 2.0
        assert ratio == pytest.approx(sensitivity.NEIGHBOUR)
        assert (row["side"] == "above") == (row["x"] > row["best"])


def test_a_map_covers_its_ranges(rows):
    on_map = rows.where("theory", "test_error", panel="sharpness")
    assert len(on_map) == 9
    assert min(on_map.distinct("x")) == pytest.approx(0.22)
    assert max(on_map.distinct("y")) == pytest.approx(5.0)
    _, steps, readout = sensitivity.setting("split", 0.25, 2.0)
    assert (steps.alpha0, readout.alpha1) == (0.5, 1.5)


def test_a_search_that_did_not_converge_never_holds(rows, changed, verdict):
    stuck = changed(rows, lambda row: row.but(search="no_limit"), quantity="gain")
    assert verdict(stuck, "best-split") == NOT_CONVERGED


def test_what_did_not_converge_is_drawn(rows, sizes, changed, said_of):
    fallen = rows[:]
    for row in [row for row in rows if row.quantity == "test_error"][::7]:
        nothing = row.but(status="max_iterations", value=float("nan"))
        place = {"series": row.series, "quantity": row.quantity, **row.at}
        fallen = changed(fallen, lambda _, nothing=nothing: nothing, **place)
    assert said_of(EXPERIMENT, sizes, fallen)
