"""Predicted errors: those of `predict`, at the best of the settings."""

import math

import pytest

from sparsetoken import (
    Attention,
    Query,
    Readout,
    SparseTokenProblem,
    TwoSteps,
    align,
    predict,
    tuning,
)
from sparsetoken.advice.curves import Forecast, Point, better
from sparsetoken.models import make_model

PROBLEM = SparseTokenProblem(10, 2, 3.0, 0.4)
D = 50.0


@pytest.fixture(scope="module")
def forecast():
    return Forecast(PROBLEM, D, equal_sizes=True)


@pytest.fixture(scope="module")
def point(forecast):
    return forecast.at(400)


def _predicted(model, alpha):
    readout = Readout("square", ridge=(1.0, 0.1, 0.01, 0.001), alpha=alpha)
    return predict(PROBLEM, model, readout).test_error.min()


@pytest.mark.parametrize("model", ["pooled", "vectorized"])
def test_linear_models_are_as_predicted(point, model):
    # Two nodes are the law itself: only the Newton iteration is left.
    assert point.error(model) == pytest.approx(_predicted(make_model(model), 400 / D), abs=1e-6)


def test_attention_is_as_predicted_at_its_setting(point):
    n0 = point.split * 400
    steps = TwoSteps(alpha=n0 / D, loss="square")
    assert point.cosine == pytest.approx(align(PROBLEM, steps).cosine, abs=1e-9)
    query = Query(point.cosine, point.sharpness)
    # 512 nodes for each class know the error to about 0.005.
    expected = _predicted(Attention(query), (400 - n0) / D)
    assert point.attention == pytest.approx(expected, abs=0.01)


def test_sharpness_is_near_the_best_of_the_theory(point):
    n0 = point.split * 400
    model = Attention(TwoSteps(alpha=n0 / D, loss="square"))
    readout = Readout("square", ridge=0.01, alpha=(400 - n0) / D)
    best = tuning.best_beta(PROBLEM, model, readout, tolerance=1e-2)
    assert point.attention <= best.prediction.test_error + 0.01


def test_more_bags_help_and_endless_ones_are_the_limit(forecast, point):
    more = forecast.at(1600)
    for model in ("attention", "pooled", "vectorized"):
        assert more.error(model) < point.error(model)
        assert forecast.infinite(model) < more.error(model)
    # The mean token alone: with endless data its error is that of the best threshold.
    limit = predict(PROBLEM, make_model("pooled"), Readout("square", alpha=math.inf)).test_error
    assert forecast.infinite("pooled") == pytest.approx(limit, abs=2e-3)


def test_bags_of_one_token_have_nothing_to_attend_to():
    forecast = Forecast(SparseTokenProblem(1, 1, 2.0), D, equal_sizes=True)
    found = forecast.at(100)
    assert found.attention == found.pooled
    assert better(found, 0.5) == "pooled"


def test_vectorized_is_left_out_for_bags_of_different_sizes():
    forecast = Forecast(PROBLEM, D, equal_sizes=False)
    assert math.isnan(forecast.at(100).vectorized)


@pytest.mark.parametrize(
    ("errors", "guess", "best"),
    [
        ((0.10, 0.20, 0.30), 0.5, "attention"),
        ((0.198, 0.20, 0.30), 0.5, "pooled"),
        ((0.30, 0.20, 0.10), 0.5, "vectorized"),
        ((0.30, 0.20, math.nan), 0.5, "pooled"),
        ((0.25, 0.28, math.nan), 0.2, "pooled"),
    ],
)
def test_the_model_of_least_error_unless_it_gains_little(errors, guess, best):
    assert better(Point(100, *errors, 0.5, 1.0, 0.9), guess) == best
