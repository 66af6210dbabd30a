"""The best split and the best beta are the least of the predictions.

Equations: best-split, best-beta.
"""

import dataclasses
import math

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from sparsetoken.problem import SparseTokenProblem
from sparsetoken.results import Code, Status
from sparsetoken.theory import design
from sparsetoken.theory.alignment import align
from sparsetoken.theory.design import best_beta, best_split
from sparsetoken.theory.predict import predict
from sparsetoken.training import FourStageTraining, Query
from sparsetoken.validation import InvalidInput

PROBLEM = SparseTokenProblem(6, 1, 3.0, 0.5)
TRAINING = FourStageTraining(alpha0=1.0, eta_q=7.0, loss="square", ridge=1e-1)
TOLERANCE = 2e-3  # few nodes: the same ones in a search and in a scan


def _error(share: float, total: float) -> float:
    training = dataclasses.replace(TRAINING, alpha0=share * total)
    query = align(PROBLEM, training).query
    alpha1 = (1 - share) * total
    found = predict("attention", PROBLEM, training, alpha1, query=query, tolerance=TOLERANCE)
    return found.test_error


@pytest.mark.parametrize("total", [1.5, 6.0])
def test_no_split_of_a_scan_is_better(total):
    best = best_split("attention", PROBLEM, TRAINING, total, tolerance=TOLERANCE)
    assert best.status.converged
    assert best.alpha0 + best.alpha1 == pytest.approx(total)
    assert best.share == pytest.approx(best.alpha0 / total)
    assert best.prediction.test_error == pytest.approx(_error(best.share, total), abs=1e-12)
    shares = np.linspace(0.05, 0.95, 10)
    errors = [_error(share, total) for share in shares]
    # The search stops within 0.02 of the logit, where the error is flat to second order.
    assert best.prediction.test_error <= min(errors) + 1e-5
    assert abs(best.share - shares[np.argmin(errors)]) <= 0.1 + 0.01


def test_without_a_step_of_the_query_all_samples_go_to_the_readout():
    training = dataclasses.replace(TRAINING, eta_q=0.0)
    best = best_split("attention", PROBLEM, training, 2.0)
    assert best.status.code is Code.NO_LIMIT
    assert best.share == pytest.approx(0.01)
    pooled = predict("pooled", PROBLEM, training, 0.99 * 2.0)
    assert best.prediction.test_error == pytest.approx(pooled.test_error, abs=1e-7)


def test_the_best_sharpness_is_that_of_a_search_over_queries():
    best = best_beta("attention", PROBLEM, TRAINING, 2.0, tolerance=TOLERANCE)
    assert best.status.converged
    cosine = align(PROBLEM, TRAINING).cosine

    def error(log_k: float) -> float:
        query = Query(cosine, math.exp(log_k))
        return predict(
            "attention", PROBLEM, TRAINING, 2.0, query=query, tolerance=TOLERANCE
        ).test_error

    found = minimize_scalar(error, bounds=(-2.5, 3.0), method="bounded", options={"xatol": 1e-3})
    assert best.prediction.test_error == pytest.approx(found.fun, abs=1e-5)
    # beta is found within 2 %, k = beta^2 c within 4 %, and the minimum is flat.
    assert math.log(best.sharpness) == pytest.approx(found.x, abs=0.1)
    again = dataclasses.replace(TRAINING, beta=best.beta)
    assert align(PROBLEM, again).sharpness == pytest.approx(best.sharpness, rel=1e-9)


def test_a_step_of_the_query_four_times_as_large_halves_the_best_beta():
    one = best_beta("attention", PROBLEM, TRAINING, 2.0, tolerance=TOLERANCE)
    longer = dataclasses.replace(TRAINING, eta_q=4 * TRAINING.eta_q)
    two = best_beta("attention", PROBLEM, longer, 2.0, tolerance=TOLERANCE)
    # k = eta_q beta^2 c: the search passes the same sharpnesses.
    assert two.beta == pytest.approx(one.beta / 2, rel=1e-6)
    assert two.sharpness == pytest.approx(one.sharpness, rel=1e-6)


def test_a_range_beyond_the_best_is_said():
    best = best_beta(
        "attention", PROBLEM, TRAINING, 2.0, sharpness=(1e-3, 1e-2), tolerance=TOLERANCE
    )
    assert best.status.code is Code.NO_LIMIT
    assert best.sharpness == pytest.approx(1e-2)


@pytest.mark.parametrize("some", [True, False])
def test_predictions_that_fail_are_said(monkeypatch, some):
    good = predict("pooled", PROBLEM, TRAINING, 1.0)
    stuck = Status(Code.MAX_ITERATIONS, "more ridge")

    def fake(model, problem, training, alpha1, **more):
        if some and alpha1 > 0.7:
            return dataclasses.replace(good, test_error=(alpha1 - 1) ** 2)
        return dataclasses.replace(good, test_error=math.nan, status=stuck)

    monkeypatch.setattr(design, "predict", fake)
    best = best_split("attention", PROBLEM, TRAINING, 2.0)
    assert best.status.code is Code.MAX_ITERATIONS
    assert math.isfinite(best.prediction.test_error) == some


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda: best_split("pooled", PROBLEM, TRAINING, 2.0), "model"),
        (lambda: best_split("attention", PROBLEM, TRAINING, 0.0), "total"),
        (lambda: best_split("attention", PROBLEM, TRAINING, math.inf), "total"),
        (lambda: best_beta("vectorized", PROBLEM, TRAINING, 2.0), "model"),
        (lambda: best_beta("attention", PROBLEM, TRAINING, 2.0, sharpness=(0, 1)), "low end"),
        (lambda: best_beta("attention", PROBLEM, TRAINING, 2.0, sharpness=(2, 1)), "high end"),
        (lambda: best_beta("attention", PROBLEM, TRAINING, -1.0), "alpha1"),
        (lambda: best_split("elementwise", PROBLEM, TRAINING, 2.0, activation="no"), "activation"),
        (
            lambda: best_beta("attention", SparseTokenProblem(1, 1, 2.0), TRAINING, 2.0),
            "length of the query",
        ),
    ],
)
def test_illegal_input_is_named(call, name):
    with pytest.raises(InvalidInput, match=name):
        call()
