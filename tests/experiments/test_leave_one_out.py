"""Points, claims, text and figure of a small run; a wrong surrogate fails."""

import dataclasses

import numpy as np
import pytest

from sparsetoken import simulation
from sparsetoken.experiments import leave_one_out as experiment
from sparsetoken.experiments.claims import FAILS, HOLDS, NOT_CONVERGED, verdict_of
from sparsetoken.experiments.leave_one_out import ESTIMATE, LEAVE_ONE_OUT, SURROGATE
from sparsetoken.experiments.points import Point, select
from sparsetoken.figures.leave_one_out import PICTURES
from sparsetoken.losses import get_loss
from sparsetoken.numerics.erm import fit_readout
from sparsetoken.report.pictures import png

SMALL = experiment.LeaveOneOutProfile(((16, 24, 8), (96, 4, 12)), 40, 6, alphas=(1.0, 2.0), lines=0)


@pytest.fixture(scope="module")
def points():
    return [point for job in LEAVE_ONE_OUT.jobs(SMALL, 0) for point in job.run()]


def verdicts(points):
    claims = LEAVE_ONE_OUT.claims(SMALL, points)
    return {
        name: verdict_of(c for c in claims if c.statement == name) for name in (SURROGATE, ESTIMATE)
    }


def changed(points, wanted, **fields):
    return [dataclasses.replace(p, **fields) if wanted(p) else p for p in points]


def test_a_small_run_from_points_to_figure(points):
    claims = LEAVE_ONE_OUT.claims(SMALL, points)
    assert verdicts(points) == {SURROGATE: HOLDS, ESTIMATE: HOLDS}
    assert len([c for c in claims if c.key]) == 3 + 3 * 2
    text = LEAVE_ONE_OUT.result(points, claims)
    assert "Square loss: equal to refits within" in text
    assert "squared hinge loss: from" in text
    assert "d = 96: 4 × 12" in LEAVE_ONE_OUT.setting(SMALL)
    assert png(PICTURES[0], points).startswith(b"\x89PNG")


def test_wrong_numbers_fail(points):
    exact = changed(
        points, lambda p: (p.curve, p.quantity) == ("square", "surrogate_error"), value=1e-4
    )
    assert verdicts(exact) == {SURROGATE: FAILS, ESTIMATE: HOLDS}
    flat = changed(points, lambda p: p.quantity == "surrogate_error", value=1e-9, error=1e-10)
    assert verdicts(flat) == {SURROGATE: FAILS, ESTIMATE: HOLDS}
    biased = changed(
        points, lambda p: p.quantity == "test_error" and p.source == "reduced", value=0.5
    )
    assert verdicts(biased) == {SURROGATE: HOLDS, ESTIMATE: FAILS}


def test_what_did_not_converge_does_not_hold(points):
    stopped = changed(points, lambda p: p.source == "reduced", status="max_iterations")
    assert verdicts(stopped) == {SURROGATE: NOT_CONVERGED, ESTIMATE: NOT_CONVERGED}
    assert png(PICTURES[0], stopped).startswith(b"\x89PNG")


def test_the_training_error_is_no_estimate(points):
    """The claim would fail for the share of wrong signs in the fit itself."""
    for point in select(points, quantity="training_error", x=1.0):
        (test,) = select(points, curve=point.curve, quantity="test_error", x=1.0, source="theory")
        assert point.value < 0.5 * test.value


@pytest.mark.parametrize("loss", experiment.LOSSES)
def test_a_warm_refit_is_the_fit_to_the_others(loss):
    F, y = experiment._drawn(2.0, 30, 0, 0)
    law, others = get_loss(loss), np.arange(len(y)) != 7
    cold = fit_readout(F[others], y[others], law, experiment.RIDGE * len(y) / (len(y) - 1))
    warm = experiment._without(7, F, y, law, fit_readout(F, y, law, experiment.RIDGE))
    assert warm.converged
    # both are within 1e-8 (1 + |w|) of the minimum, and |f| is about 3
    assert warm.score == pytest.approx(F[7] @ cold.w + cold.b, abs=1e-6)


@pytest.mark.parametrize("power", [-1.0, -0.75, 0.5])
def test_the_slope_is_the_power_that_made_the_points(power):
    made = [
        Point("logistic", "surrogate_error", d, 3 * d**power, 0.1 * d**power, "reduced")
        for d in (50.0, 100.0, 400.0)
    ]
    fit = experiment.slope(made, "logistic")
    assert fit.power == pytest.approx(power)
    x = np.log([50, 100, 400])
    assert fit.standard_error == pytest.approx((0.1 / 3) / np.sqrt(np.sum((x - x.mean()) ** 2)))


def test_estimates_are_means_over_training_sets(monkeypatch):
    drawn, draw = [], simulation.draw_training_set
    monkeypatch.setattr(
        simulation,
        "draw_training_set",
        lambda *a, **k: (drawn.append(k["trial"]), draw(*a, **k))[1],
    )
    error, auc, spread = experiment._estimated("square", 1.0, 20, 3, 5)
    assert drawn == [0, 1, 2]
    assert (error.quantity, auc.quantity, spread.quantity) == ("test_error", "auc", "spread")
    assert error.trials == 3
    assert error.value * 60 == pytest.approx(round(error.value * 60))  # 3 sets of 20 samples
