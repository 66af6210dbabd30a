"""What a prediction says of its query: that it turns away, or has a low sharpness."""

import dataclasses

import numpy as np
import pytest

from sparsetoken.model.models import (
    Attention,
    Elementwise,
    HardAttention,
    Pooled,
    Vectorized,
)
from sparsetoken.model.problem import SparseTokenProblem
from sparsetoken.model.stages import Query, Readout, TwoSteps
from sparsetoken.theory import align, capacity, predict
from sparsetoken.theory.query.working import advice_on, working_query

RARE = SparseTokenProblem(10, 1, 1.5, 0.1)
GOOD = SparseTokenProblem(10, 1, 5.0, 0.5)
STEPS = TwoSteps(loss="square")
READOUT = Readout("square")


def advice(problem, query=STEPS, kind=Attention, readout=READOUT, tolerance=0.1):
    return predict(problem, kind(query), readout, tolerance=tolerance).advice


@pytest.mark.parametrize("kind", [Attention, Elementwise, HardAttention])
def test_prediction_and_capacity_say_that_a_query_turns_away(kind):
    sharp = dataclasses.replace(STEPS, eta_q=1e3)
    (text,) = advice(RARE, sharp, kind)
    assert "turns away" in text
    (text,) = capacity(RARE, kind(sharp), tolerance=0.1).advice
    assert "eta_b" in text


def test_the_remedies_for_rare_positives_turn_the_query_back():
    assert advice(RARE)[0].endswith("a larger eta_b, positive_rate or strength can turn it back.")
    assert align(RARE, dataclasses.replace(STEPS, eta_b=30.0)).cosine > 0
    for change in ({"positive_rate": 0.5}, {"strength": 9.0}):
        assert align(dataclasses.replace(RARE, **change), STEPS).cosine > 0


@pytest.mark.parametrize(
    ("pi", "strength", "given", "remedy"),
    [(0.8, 1.5, {"eta_b": 5.0}, {"eta_b": 0.5}), (0.5, 8.0, {"eta_w": 50.0}, {"eta_w": 0.5})],
)
def test_steps_that_are_too_large_are_to_be_lowered(pi, strength, given, remedy):
    problem, steps = SparseTokenProblem(10, 1, strength, pi), dataclasses.replace(STEPS, **given)
    assert "Lower eta_b or eta_w" in advice(problem, steps)[0]
    assert align(problem, dataclasses.replace(steps, **remedy)).cosine > 0


@pytest.mark.parametrize(("query", "remedy"), [(Query(0.9, 0.05), "sharpness"), (None, "eta_q")])
def test_a_low_sharpness_is_said(query, remedy):
    query = dataclasses.replace(STEPS, eta_q=1.0) if query is None else query
    found = predict(GOOD, Attention(query), READOUT, tolerance=0.1)
    (text,) = found.advice
    assert found.query.sharpness < 0.2
    assert f"{found.query.sharpness:.3g}" in text
    assert "close to mean pooling" in text
    assert f"Raise {remedy}" in text or f"Raise the {remedy}" in text


def test_the_remedy_of_a_low_sharpness_names_what_the_query_has():
    query = Query(vector=[1.0, 0.0], sharpness=0.1)
    (text,) = advice_on(GOOD, Attention(query), Query(0.9, 0.1))
    assert text.endswith("Raise the sharpness.")


def test_nothing_is_said_of_good_given_or_unused_queries():
    good = dataclasses.replace(STEPS, eta_q=10.0)
    assert advice(GOOD, good) == ()
    assert advice(RARE, Query(-0.5, 1.0)) == ()
    assert predict(RARE, Pooled(), READOUT).advice == ()
    assert predict(RARE, Vectorized(), READOUT).advice == ()
    assert advice(GOOD, Query(0.9, 0.05), HardAttention) == ()
    assert capacity(GOOD, Attention(good), tolerance=0.1).advice == ()


def test_a_table_says_the_same_of_many_points_once():
    flat, sharp = dataclasses.replace(STEPS, eta_q=1.0), dataclasses.replace(STEPS, eta_q=10.0)
    readout = Readout("square", alpha1=[1.0, 2.0, 4.0])
    (first,) = advice(GOOD, flat)
    assert advice(GOOD, flat, readout=readout) == (f"At 3 of 3 points, first: {first}",)
    assert advice(GOOD, sharp, readout=readout) == ()
    steps = dataclasses.replace(STEPS, eta_q=np.array([1.0, 1.1, 10.0]))
    assert advice(GOOD, steps) == (f"At 2 of 3 points, first: {first}",)
    steps = dataclasses.replace(STEPS, eta_q=np.array([1.0, 10.0]))
    assert advice(GOOD, steps) == (first,)


def test_the_working_query_is_the_given_or_the_found_one():
    query = Query(0.3, 2.0)
    assert working_query(GOOD, Attention(query)) == query
    assert working_query(GOOD, Elementwise(STEPS)) == align(GOOD, STEPS).query
    assert working_query(GOOD, Pooled()) is None
    assert predict(GOOD, Attention(STEPS), READOUT, tolerance=0.1).query == align(GOOD, STEPS).query
    assert predict(GOOD, Pooled(), READOUT).query is None
