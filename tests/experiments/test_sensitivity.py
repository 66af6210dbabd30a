"""The maps of test error from end to end; a wrong number fails."""

import dataclasses

import numpy as np
import pytest

from sparsetoken.experiments.claims import FAILS, HOLDS, NOT_CONVERGED, verdict_of
from sparsetoken.experiments.rows import one, select
from sparsetoken.experiments.sensitivity import EXPERIMENT, work
from sparsetoken.experiments.sensitivity.rows import Best, Choice, Neighbour, OnMap, Spot
from sparsetoken.stages import TwoSteps

TINY = work.Profile(
    (3, 3), 3, (2.0,), (1.0,), ((0.8, 1.0),), ((1.0, 0.35),), dimension=80, trials=4
)


@pytest.fixture(scope="module")
def rows(rows_of):
    with pytest.MonkeyPatch.context() as patch:
        # The square loss and few nodes are ten times as fast.
        patch.setattr(work, "STEPS", TwoSteps(eta_q=7.0, loss="square"))
        patch.setattr(work, "READOUT", dataclasses.replace(work.READOUT, loss="square"))
        patch.setattr(work, "MAP", 5e-3)
        patch.setattr(work, "SPOT", 5e-3)
        return rows_of(EXPERIMENT, TINY)


def _verdict(rows, claim):
    return verdict_of(c for c in EXPERIMENT.compare(TINY, rows) if c.claim == claim)


def test_from_jobs_to_figures(rows, said_of):
    comparisons = EXPERIMENT.compare(TINY, rows)
    assert {c.claim for c in comparisons} == {c.name for c in EXPERIMENT.claims}
    words = said_of(EXPERIMENT, TINY, rows)
    assert "best share" in words["result"]
    assert "d = 80, 4 trials" in words["setting"]


@pytest.mark.parametrize(
    ("panel", "claim"),
    [
        ("sharpness", "test-error-over-sharpness"),
        ("bias", "test-error-over-bias-step"),
        ("split", "test-error-over-split"),
    ],
)
def test_a_simulation_off_the_map_fails(rows, panel, claim):
    def moved(row):
        if isinstance(row, Spot) and row.choice.panel == panel:
            value = row.measured.value + 0.5
            found = dataclasses.replace(row.measured, value=value, error=1e-3)
            return dataclasses.replace(row, measured=found)
        return row

    assert _verdict(rows, claim) == HOLDS
    assert _verdict([moved(row) for row in rows], claim) == FAILS


@pytest.mark.parametrize(
    ("panel", "claim"), [("split", "best-split"), ("sharpness", "best-sharpness")]
)
def test_a_better_neighbour_fails_and_a_worse_one_does_not(rows, panel, claim):
    """All gains are given, so that nothing hangs on the few trials of this test."""

    def with_gains(below, above):
        def gain(row):
            if isinstance(row, Neighbour) and row.best.panel == panel:
                value = {"below": below, "above": above}[row.side]
                found = dataclasses.replace(row.gain, value=value, error=1e-3)
                return dataclasses.replace(row, gain=found)
            return row

        return [gain(row) for row in rows]

    assert _verdict(with_gains(-0.5, -0.5), claim) == HOLDS
    assert _verdict(with_gains(0.5, -0.5), claim) == FAILS
    assert _verdict(with_gains(-0.5, 0.5), claim) == FAILS


def test_a_gain_is_the_mean_of_the_differences_of_trials(rows):
    found = one(rows, Best, choice=select(rows, Neighbour)[0].best).choice
    neighbours = [row for row in select(rows, Neighbour) if row.best == found]
    spots = {row.choice: row.measured for row in select(rows, Spot)}
    assert [row.side for row in neighbours] == ["below", "above"]
    for row in neighbours:
        difference = spots[row.best].value - spots[row.beside].value
        assert row.gain.value == pytest.approx(difference, abs=1e-12)
        assert row.gain.trials == TINY.trials
        # Of two means without a common part the error would be at least the larger one's.
        apart = np.hypot(spots[row.best].error, spots[row.beside].error)
        assert 0 < row.gain.error < 2 * apart


def test_neighbours_are_three_times_the_odds_or_beta_away(rows):
    for row in select(rows, Neighbour):
        if row.best.panel == "split":
            (low, high) = sorted(c.share / (1 - c.share) for c in (row.best, row.beside))
            assert row.beside.total == row.best.total == 2.0
        else:
            (low, high) = sorted(c.beta for c in (row.best, row.beside))
        assert high / low == pytest.approx(work.NEIGHBOUR)
        assert (row.side == "above") == (row.beside.share > row.best.share) or row.best.panel != (
            "split"
        )


def test_a_map_covers_its_ranges(rows):
    on_map = [row.choice for row in select(rows, OnMap) if row.choice.panel == "sharpness"]
    assert len(on_map) == 9
    assert min(c.beta for c in on_map) == pytest.approx(0.22)
    assert max(c.alpha0 for c in on_map) == pytest.approx(5.0)
    assert Choice("split", alpha0=0.5, alpha1=1.5).share == 0.25


def test_a_search_that_did_not_converge_never_holds(rows):
    def stuck(row):
        known = isinstance(row, (Best, Neighbour))
        return dataclasses.replace(row, status="no_limit") if known else row

    assert _verdict([stuck(row) for row in rows], "best-split") == NOT_CONVERGED


def test_what_did_not_converge_is_drawn(rows, said_of):
    def fail(row):
        nothing = {"status": "max_iterations", "value": float("nan")}
        changed = {
            name: dataclasses.replace(getattr(row, name), **nothing)
            for name in ("test_error", "measured")
            if hasattr(row, name)
        }
        return dataclasses.replace(row, **changed)

    some = [fail(row) if i % 7 == 0 else row for i, row in enumerate(rows)]
    assert said_of(EXPERIMENT, TINY, some)
