"""The best split and the best sharpness are the least of the predictions.

Equations: best-split, best-sharpness.
"""

import dataclasses
import math

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from sparsetoken.base.validation import InvalidInput
from sparsetoken.model.models import Attention, Pooled, Vectorized
from sparsetoken.model.problem import SparseTokenProblem
from sparsetoken.model.stages import Query, Readout, TwoSteps
from sparsetoken.results import Status, StatusCode
from sparsetoken.theory import align, predict, tuning
from sparsetoken.theory.tuning import best_training

PROBLEM = SparseTokenProblem(6, 1, 3.0, 0.5)
STEPS = TwoSteps(alpha0=1.0, eta_q=7.0, loss="square")
ATTENTION, READOUT = Attention(STEPS), Readout("square", ridge=1e-1, alpha1=2.0)
TOLERANCE = 2e-3  # few nodes: the same ones in a search and in a scan


def best_split(problem, model, readout, total, **options):
    return best_training(problem, model, readout, total, free=["share"], **options)


def best_sharpness(problem, model, readout, **options):
    return best_training(problem, model, readout, free=["sharpness"], **options)


def _error(share: float, total: float) -> float:
    query = align(PROBLEM, dataclasses.replace(STEPS, alpha0=share * total)).query
    readout = dataclasses.replace(READOUT, alpha1=(1 - share) * total)
    return predict(PROBLEM, Attention(query), readout, tolerance=TOLERANCE).test_error


@pytest.mark.parametrize("total", [1.5, 6.0])
def test_no_split_of_a_scan_is_better(total):
    best = best_split(PROBLEM, ATTENTION, READOUT, total, tolerance=TOLERANCE)
    assert best.status.converged
    assert best.steps.alpha0 + best.readout.alpha1 == pytest.approx(total)
    assert best.share == pytest.approx(best.steps.alpha0 / total)
    assert best.prediction.test_error == pytest.approx(_error(best.share, total), abs=1e-12)
    shares = np.linspace(0.05, 0.95, 10)
    errors = [_error(share, total) for share in shares]
    # The search stops within 0.02 of the logit, where the error is flat to second order.
    assert best.prediction.test_error <= min(errors) + 1e-5
    assert abs(best.share - shares[np.argmin(errors)]) <= 0.1 + 0.01


def test_no_ridge_of_a_scan_is_better():
    """The ridge given is far too small."""
    readout = dataclasses.replace(READOUT, ridge=1e-4)
    options = {"free": ["ridge"], "tolerance": TOLERANCE}
    best = best_training(PROBLEM, ATTENTION, readout, 2.0, **options)
    loads = dataclasses.replace(best.readout, ridge=np.geomspace(1e-6, 1.0, 13))
    scan = predict(PROBLEM, Attention(best.steps), loads, tolerance=TOLERANCE).test_error
    # The search stops within 0.02 of the logarithm, where the error is flat to second order.
    assert best.prediction.test_error <= scan.min() + 1e-5
    assert best.prediction.test_error < scan[4] - 0.01  # of the ridge given


def test_without_a_step_of_the_query_all_samples_go_to_the_readout():
    still = Attention(dataclasses.replace(STEPS, eta_q=0.0))
    best = best_split(PROBLEM, still, READOUT, 2.0)
    assert best.status.code is StatusCode.NO_LIMIT
    assert best.share == pytest.approx(0.01)
    pooled = predict(PROBLEM, Pooled(), dataclasses.replace(READOUT, alpha1=0.99 * 2.0))
    assert best.prediction.test_error == pytest.approx(pooled.test_error, abs=1e-7)


@pytest.mark.parametrize(("length", "eta_q"), [(6, 0.0), (1, 25.0)])
def test_a_query_that_is_zero_has_a_best_split_and_ridge(length, eta_q):
    model = Attention(TwoSteps(1.0, eta_q=eta_q))
    options = {"free": ["share", "ridge"], "evaluations": 3, "tolerance": TOLERANCE}
    best = best_training(SparseTokenProblem(length, 1, 2.0), model, READOUT, 2.0, **options)
    assert best.share < 0.02  # samples for the query are of no use


def test_the_best_sharpness_is_that_of_a_search_over_queries():
    best = best_sharpness(PROBLEM, ATTENTION, READOUT, tolerance=TOLERANCE)
    assert best.status.converged
    cosine = align(PROBLEM, STEPS).cosine

    def error(log_k: float) -> float:
        model = Attention(Query(cosine, math.exp(log_k)))
        return predict(PROBLEM, model, READOUT, tolerance=TOLERANCE).test_error

    found = minimize_scalar(error, bounds=(-2.5, 3.0), method="bounded", options={"xatol": 1e-3})
    assert best.prediction.test_error == pytest.approx(found.fun, abs=1e-5)
    # The logarithm of k is found within 0.02, and the minimum is flat.
    assert math.log(best.prediction.sharpness) == pytest.approx(found.x, abs=0.1)
    assert align(PROBLEM, best.steps).sharpness == pytest.approx(
        best.prediction.sharpness, rel=1e-9
    )
    kept = dataclasses.replace(best.steps, eta_q=STEPS.eta_q)
    assert (kept, best.readout) == (STEPS, READOUT)


@pytest.mark.parametrize("some", [True, False])
def test_predictions_that_fail_are_said(monkeypatch, some):
    good = predict(PROBLEM, Pooled(), READOUT)
    stuck = Status(StatusCode.MAX_ITERATIONS, "more ridge")

    def fake(problem, model, readouts, tolerance):
        (readout,) = readouts
        if some and readout.alpha1 > 0.7:
            return [dataclasses.replace(good, test_error=(readout.alpha1 - 1) ** 2)]
        return [dataclasses.replace(good, test_error=math.nan, status=stuck)]

    monkeypatch.setattr(tuning, "predict_readouts", fake)
    best = best_split(PROBLEM, ATTENTION, READOUT, 2.0)
    assert best.status.code is StatusCode.MAX_ITERATIONS
    assert math.isfinite(best.prediction.test_error) == some


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda: best_split(PROBLEM, Pooled(), READOUT, 2.0), "model"),
        (lambda: best_split(PROBLEM, Attention(Query(0.5, 1.0)), READOUT, 2.0), "model"),
        (lambda: best_split(PROBLEM, "attention", READOUT, 2.0), "model"),
        (lambda: best_split(PROBLEM, ATTENTION, READOUT, 0.0), "total"),
        (lambda: best_split(PROBLEM, ATTENTION, READOUT, math.inf), "total"),
        (lambda: best_split(PROBLEM, ATTENTION, Readout(ridge=[0.1, 0.2]), 2.0), "ridge"),
        (lambda: best_sharpness(PROBLEM, Vectorized(), READOUT), "model"),
        (lambda: best_training(PROBLEM, ATTENTION, READOUT, free=["beta"]), "free"),
        (lambda: best_training(PROBLEM, ATTENTION, READOUT, free=[]), "free"),
        (lambda: best_sharpness(PROBLEM, Attention(TwoSteps(beta=[1.0, 2.0])), READOUT), "beta"),
        (
            lambda: best_sharpness(SparseTokenProblem(1, 1, 2.0), ATTENTION, READOUT),
            "norm of the query",
        ),
    ],
)
def test_illegal_input_is_named(call, name):
    with pytest.raises(InvalidInput, match=name):
        call()
