"""The maps of test error from end to end; a wrong number fails."""

import dataclasses

import pytest

from sparsetoken.experiments import sensitivity
from sparsetoken.experiments.core.claims import FAILS, HOLDS
from sparsetoken.experiments.sensitivity import EXPERIMENT
from sparsetoken.model.stages import TwoSteps

SMALL = dict(
    spots={"sharpness": ((0.8, 1.0),), "bias": ((1.0, 0.35),)},
    dimension=80,
    trials=4,
    across=3,
    up=3,
    shares=3,
    totals=(2.0,),
    best_alpha0s=(1.0,),
)


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
