"""The boundary of anti-alignment, and the warnings.

Equations: sign-boundary, small-step-condition.
"""

import dataclasses
import math
import warnings

import pytest

from sparsetoken import (
    FourStageTraining,
    InvalidInput,
    Query,
    SparseTokenProblem,
    align,
    capacity,
    predict,
)
from sparsetoken.results import Code
from sparsetoken.theory import QueryWarning, check_query, sign_boundary, small_step_margin

RARE = SparseTokenProblem(10, 1, 1.5, 0.1)
GOOD = SparseTokenProblem(10, 1, 5.0, 0.5)
TRAINING = FourStageTraining(loss="square")


@pytest.mark.parametrize(
    ("name", "low", "high", "rising"),
    [("strength", 0.1, 50.0, True), ("positive_rate", 0.01, 0.6, True), ("eta_b", 0.0, 90.0, True)],
)
def test_the_cosine_changes_sign_at_the_boundary(name, low, high, rising):
    found = sign_boundary(RARE, TRAINING, name, low, high)
    assert found.status.converged
    assert abs(found.residual) < 1e-8
    cosines = []
    for factor in (0.99, 1.01):
        change = {name: factor * found.value}
        if name == "eta_b":
            cosines.append(align(RARE, dataclasses.replace(TRAINING, **change)).cosine)
        else:
            cosines.append(align(dataclasses.replace(RARE, **change), TRAINING).cosine)
    assert (cosines[0] < 0 < cosines[1]) == rising


@pytest.mark.parametrize(("pi", "R"), [(0.05, 1), (0.2, 3), (0.4, 9)])
@pytest.mark.parametrize("loss", ["square", "logistic"])
def test_small_steps_have_a_closed_form(pi, R, loss):
    training = FourStageTraining(loss=loss, eta_w=1e-6, eta_b=1e-6)
    problem = SparseTokenProblem(10, R, 1.0, pi)
    found = sign_boundary(problem, training, "strength", 0.1, 50.0)
    V = R * (1 - R / 10)
    # Steps of 1e-6 move scores by about 1e-6, times theta^2 at most.
    assert found.value == pytest.approx(math.sqrt((1 - 2 * pi) * 9 / (pi * V)), rel=1e-4)
    margin = small_step_margin(dataclasses.replace(problem, strength=found.value))
    assert abs(margin) < 1e-3


def test_no_change_of_sign_is_said():
    found = sign_boundary(GOOD, TRAINING, "strength", 1.0, 5.0)
    assert found.status.code is Code.NO_LIMIT
    assert "towards the signal" in found.status.remedy
    assert math.isnan(found.value)


@pytest.mark.parametrize(
    ("name", "low", "high", "word"),
    [
        ("beta", 0.1, 1.0, "name"),
        ("strength", 2.0, 1.0, "high"),
        ("strength", math.nan, 1.0, "low"),
        ("positive_rate", 0.5, 2.0, "positive_rate"),
    ],
)
def test_bad_input(name, low, high, word):
    with pytest.raises(InvalidInput, match=word):
        sign_boundary(GOOD, TRAINING, name, low, high)


@pytest.mark.parametrize("model", ["attention", "elementwise"])
def test_prediction_and_capacity_warn_of_a_query_that_turns_away(model):
    with pytest.warns(QueryWarning, match="turns away") as caught:
        predict(model, RARE, TRAINING, 2.0, tolerance=0.1)
    assert len(caught) == 1
    assert caught[0].filename == __file__
    with pytest.warns(QueryWarning, match="eta_b"):
        capacity(model, RARE, TRAINING, tolerance=0.1)


def test_the_bias_step_of_the_remedy_turns_the_query_back():
    with pytest.warns(QueryWarning) as caught:
        predict("attention", RARE, TRAINING, 2.0, tolerance=0.1)
    step = float(str(caught[0].message).split("eta_b above ")[1].split(" ")[0])
    assert align(RARE, dataclasses.replace(TRAINING, eta_b=1.02 * step)).cosine > 0
    assert align(RARE, dataclasses.replace(TRAINING, eta_b=0.98 * step)).cosine < 0


def test_too_large_a_bias_step_is_to_be_lowered():
    common = dataclasses.replace(RARE, positive_rate=0.8)
    training = dataclasses.replace(TRAINING, eta_b=5.0)
    with pytest.warns(QueryWarning, match="eta_b below") as caught:
        predict("attention", common, training, 2.0, tolerance=0.1)
    step = float(str(caught[0].message).split("eta_b below ")[1].split(" ")[0])
    assert align(common, dataclasses.replace(training, eta_b=0.98 * step)).cosine > 0


def test_equal_classes_get_a_remedy_without_a_bias_step():
    even, large = dataclasses.replace(GOOD, strength=8.0), dataclasses.replace(TRAINING, eta_w=50.0)
    assert align(even, large).cosine < 0
    with pytest.warns(QueryWarning, match="Lower eta_w"):
        predict("attention", even, large, 2.0, tolerance=0.1)


def test_attention_that_loses_is_warned_of():
    training = dataclasses.replace(TRAINING, alpha0=0.08, eta_q=40.0)
    with pytest.warns(QueryWarning, match="loses to mean pooling") as caught:
        predict("attention", GOOD, training, 4.0)
    assert len(caught) == 1
    assert caught[0].filename == __file__


def test_nothing_is_said_of_good_given_or_unused_queries():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        predict("attention", GOOD, TRAINING, 2.0, tolerance=0.1)
        predict("attention", RARE, TRAINING, 2.0, query=Query(-0.5, 1.0), tolerance=0.1)
        predict("pooled", RARE, TRAINING, 2.0)
        check_query(RARE, TRAINING, 2.0, tolerance=0.1)


def test_warnings_can_be_silenced():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", QueryWarning)
        predict("attention", RARE, TRAINING, 2.0, tolerance=0.1)
