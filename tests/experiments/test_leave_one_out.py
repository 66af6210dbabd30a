"""Rows, comparisons, words and figure of a small run; a wrong surrogate fails."""

import dataclasses

import numpy as np
import pytest

from sparsetoken import simulation
from sparsetoken.experiments.claims import FAILS, HOLDS, NOT_CONVERGED, verdict_of
from sparsetoken.experiments.leave_one_out import EXPERIMENT, work
from sparsetoken.experiments.leave_one_out.claims import ESTIMATE, SURROGATE, power_of
from sparsetoken.experiments.leave_one_out.rows import Estimated, Refitted, Theory
from sparsetoken.experiments.rows import Measured, select
from sparsetoken.losses import get_loss
from sparsetoken.numerics.erm import fit_readout

SMALL = work.Profile(((16, 48, 8), (128, 8, 24)), 40, 6, alphas=(1.0, 2.0), lines=0)


@pytest.fixture(scope="module")
def rows(rows_of):
    return rows_of(EXPERIMENT, SMALL)


def verdicts(rows):
    found = EXPERIMENT.compare(SMALL, rows)
    return {name: verdict_of(c for c in found if c.claim == name) for name in (SURROGATE, ESTIMATE)}


def changed(rows, kind, names, *, loss=None, **fields):
    """Change fields of the measured numbers in columns of the rows of one class."""

    def change(row):
        if not isinstance(row, kind) or loss not in (None, row.loss):
            return row
        new = {name: dataclasses.replace(getattr(row, name), **fields) for name in names}
        return dataclasses.replace(row, **new)

    return [change(row) for row in rows]


def test_a_small_run_from_rows_to_figure(rows, said_of):
    comparisons = EXPERIMENT.compare(SMALL, rows)
    assert verdicts(rows) == {SURROGATE: HOLDS, ESTIMATE: HOLDS}
    assert len([c for c in comparisons if c.key]) == 3 + 3 * 2
    words = said_of(EXPERIMENT, SMALL, rows)
    assert "For the square loss the scores are equal to those of refits within" in words["result"]
    assert "for squared hinge loss from" in words["result"]
    assert "d = 128: 8 × 24" in words["setting"]


def test_wrong_numbers_fail(rows):
    exact = changed(rows, Refitted, ["surrogate_error"], loss="square", value=1e-4)
    assert verdicts(exact) == {SURROGATE: FAILS, ESTIMATE: HOLDS}
    flat = changed(rows, Refitted, ["surrogate_error"], value=1e-9, error=1e-10)
    assert verdicts(flat) == {SURROGATE: FAILS, ESTIMATE: HOLDS}
    biased = changed(rows, Estimated, ["test_error"], value=0.5)
    assert verdicts(biased) == {SURROGATE: HOLDS, ESTIMATE: FAILS}


def test_what_did_not_converge_does_not_hold(rows, said_of):
    status = {"status": "max_iterations"}
    stopped = changed(rows, Refitted, ["surrogate_error", "change"], **status)
    stopped = changed(stopped, Estimated, ["test_error", "auc", "spread"], **status)
    assert verdicts(stopped) == {SURROGATE: NOT_CONVERGED, ESTIMATE: NOT_CONVERGED}
    assert said_of(EXPERIMENT, SMALL, stopped)


def test_the_training_error_is_no_estimate(rows):
    """The claim would fail for the share of wrong signs in the fit itself."""
    for row in select(rows, Theory, alpha1=1.0):
        assert row.training_error.value < 0.5 * row.test_error.value


@pytest.mark.parametrize("loss", work.LOSSES)
def test_a_warm_refit_is_the_fit_to_the_others(loss):
    F, y = work.draw(2.0, 30, 0, 0)
    law, others = get_loss(loss), np.arange(len(y)) != 7
    cold = fit_readout(F[others], y[others], law, work.RIDGE * len(y) / (len(y) - 1))
    warm = work.without(7, F, y, law, fit_readout(F, y, law, work.RIDGE))
    assert warm.converged
    # both are within 1e-8 (1 + |w|) of the minimum, and |f| is about 3
    assert warm.score == pytest.approx(F[7] @ cold.w + cold.b, abs=1e-6)


@pytest.mark.parametrize("power", [-1.0, -0.75, 0.5])
def test_the_power_is_the_one_that_made_the_rows(power):
    errors = {d: Measured(3 * d**power, 0.1 * d**power, d, 9) for d in (50, 100, 400)}
    fit = power_of([Refitted("logistic", d, error, error) for d, error in errors.items()])
    assert fit.value == pytest.approx(power)
    x = np.log([50, 100, 400])
    assert fit.error == pytest.approx((0.1 / 3) / np.sqrt(np.sum((x - x.mean()) ** 2)))


def test_estimates_are_means_over_training_sets(monkeypatch):
    drawn, draw = [], simulation.draw_training_set
    monkeypatch.setattr(
        simulation,
        "draw_training_set",
        lambda *a, **k: (drawn.append(k["trial"]), draw(*a, **k))[1],
    )
    (row,) = work.estimate("square", 1.0, 20, 3, 5)
    assert drawn == [0, 1, 2]
    assert row.test_error.trials == 3
    assert row.test_error.value * 60 == pytest.approx(round(row.test_error.value * 60))  # 3 x 20


@pytest.mark.parametrize("work_of", [work.refit, work.estimate])
def test_all_losses_see_the_same_training_sets(work_of):
    seeds = {}
    for job in EXPERIMENT.jobs(SMALL, 0):
        if job.work is work_of:
            seeds.setdefault(job.arguments[1], set()).add(job.arguments[-1])
    assert len(seeds) == 2
    assert [len(found) for found in seeds.values()] == [1, 1]
    assert len(set.union(*seeds.values())) == 2
