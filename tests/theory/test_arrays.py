"""Predictions over arrays are those of the single points."""

import itertools
import math

import numpy as np
import pytest

from sparsetoken.base.validation import InvalidInput
from sparsetoken.model.models import Attention, Pooled, Vectorized, make_model
from sparsetoken.model.problem import SparseTokenProblem
from sparsetoken.model.stages import Query, Readout, TwoSteps
from sparsetoken.theory import (
    align,
    capacity,
    predict,
    sign_margin,
    small_step_margin,
)
from sparsetoken.theory.oracle import bayes_error, best_error, critical_strength, learning_error
from sparsetoken.theory.tuning import best_training

LOADS = [0.5, 2.0, 2.1, 8.0, math.inf]
PROBLEM = SparseTokenProblem(6, 1, 3.0, 0.4)
MANY = SparseTokenProblem(6, 1, [2.0, 3.0], 0.4)

# Each point is solved until a Newton step is 1e-6 of the unknowns, whose error is its square,
# wherever the search begins; the saddle point of a hinge is known to 1e-6 in itself.
SAME = {"rel": 1e-8, "abs": 1e-9}


def assert_same(found, expected):
    """Compare all columns but the way on which the solution was reached."""
    assert found.shape == expected.shape == ()
    ours, theirs = found.columns(), expected.columns()
    assert ours.keys() == theirs.keys()
    for name in ours.keys() - {"residual", "iterations"}:
        if ours[name].dtype == object:
            assert ours[name] == theirs[name]
        else:
            assert ours[name] == pytest.approx(theirs[name], nan_ok=True, **SAME)


def pairs(one, other):
    return itertools.product(enumerate(one), enumerate(other))


@pytest.mark.parametrize(
    ("model", "loss"),
    [
        ("attention", "logistic"),
        ("attention", "square"),
        ("hard_attention", "logistic"),
        ("elementwise", "squared_hinge"),
        ("pooled", "hinge"),
        ("vectorized", "logistic"),
    ],
)
def test_a_learning_curve_is_made_of_single_points(model, loss):
    model = make_model(model, Query(0.8, 1.0))
    found = predict(PROBLEM, model, Readout(loss, alpha1=LOADS), tolerance=1e-3)
    assert found.shape == (5,)
    for row, alpha in zip(found, LOADS, strict=True):
        assert_same(row, predict(PROBLEM, model, Readout(loss, alpha1=alpha), tolerance=1e-3))


def test_a_curve_in_the_ridge_is_made_of_single_points():
    """Ridge 0 among them, on both sides of the capacity."""
    ridges = [1.0, 1e-2, 1e-5, 0.0]
    for alpha in (1.0, 20.0):
        found = predict(PROBLEM, Pooled(), Readout(ridge=ridges, alpha1=alpha))
        for row, ridge in zip(found, ridges, strict=True):
            assert_same(row, predict(PROBLEM, Pooled(), Readout(ridge=ridge, alpha1=alpha)))


def test_fields_of_problem_model_and_readout_broadcast_together():
    model = Attention(TwoSteps(alpha0=[[0.5], [2.0]], eta_q=10.0))
    found = predict(PROBLEM, model, Readout(alpha1=[1.0, 4.0, 9.0]), tolerance=1e-2)
    assert found.shape == (2, 3)
    for (i, alpha0), (j, alpha1) in pairs([0.5, 2.0], [1, 4, 9]):
        steps = TwoSteps(alpha0=alpha0, eta_q=10.0)
        alone = predict(PROBLEM, Attention(steps), Readout(alpha1=alpha1), tolerance=1e-2)
        assert_same(found[i, j], alone)
        assert found[i, j].query == align(PROBLEM, steps).query


def test_bayes_optimal_errors_over_arrays():
    problem = SparseTokenProblem(6, 1, strength=[[2.0], [4.0]])
    found = learning_error(problem, [0.5, 2.0, 8.0], points=64)
    assert found.cosine.shape == (2, 3)
    for (i, strength), (j, alpha) in pairs([2.0, 4.0], [0.5, 2.0, 8.0]):
        assert found[i, j] == learning_error(SparseTokenProblem(6, 1, strength), alpha, points=64)


def test_new_data_of_another_law_go_with_arrays():
    shifted = SparseTokenProblem(12, 2, 2.5, 0.3)
    found = predict(MANY, Pooled(), Readout(), test_problem=shifted)
    for row, strength in zip(found, MANY.strength, strict=True):
        problem = SparseTokenProblem(6, 1, strength, 0.4)
        assert_same(row, predict(problem, Pooled(), Readout(), test_problem=shifted))


def test_alignment_over_arrays():
    steps = TwoSteps(alpha0=np.array([0.5, 2.0, 8.0]), eta_b=[[0.1], [0.9]])
    found = align(PROBLEM, steps)
    assert found.cosine.shape == (2, 3)
    for (i, eta_b), (j, alpha) in pairs([0.1, 0.9], [0.5, 2, 8]):
        assert found[i, j] == align(PROBLEM, TwoSteps(alpha0=alpha, eta_b=eta_b))


@pytest.mark.parametrize("model", [Pooled(), Vectorized()])
def test_capacity_over_arrays(model):
    problem = SparseTokenProblem(6, 1, [[1.0], [2.0]], [0.2, 0.5])
    found = capacity(problem, model, tolerance=1e-2)
    assert found.capacity.shape == (2, 2)
    for (i, theta), (j, pi) in pairs([1.0, 2.0], [0.2, 0.5]):
        alone = capacity(SparseTokenProblem(6, 1, theta, pi), model, tolerance=1e-2)
        assert_same(found[i, j], alone)


def test_arrays_of_one_entry_keep_their_dimension():
    found = predict(PROBLEM, Pooled(), Readout(alpha1=[2.0]))
    assert found.shape == (1,)
    assert found[0] == predict(PROBLEM, Pooled(), Readout(alpha1=2.0))


@pytest.mark.parametrize(
    "call",
    [
        lambda: predict(MANY, Pooled(), Readout(alpha1=[1.0, 2.0, 3.0])),
        lambda: predict(MANY, Attention(Query([0.1, 0.2, 0.3], 1.0))),
        lambda: predict(PROBLEM, Attention(Query([0.1, 0.2, 0.3], [1.0, 2.0]))),
        lambda: capacity(MANY, Attention(Query([0.1, 0.2, 0.3], 1.0))),
        lambda: align(MANY, TwoSteps(alpha0=[1.0, 2.0, 3.0])),
    ],
)
def test_arrays_that_do_not_broadcast_are_one_clear_error(call):
    with pytest.raises(InvalidInput, match=r"arrays must be of shapes that broadcast; got \{"):
        call()


@pytest.mark.parametrize(
    ("call", "word"),
    [
        (lambda: sign_margin(MANY, TwoSteps()), "strength"),
        (lambda: small_step_margin(MANY), "strength"),
        (lambda: best_training(PROBLEM, Attention(), Readout(ridge=[0.1, 0.2]), 2.0), "ridge"),
        (lambda: best_error(MANY, Attention()), "strength"),
        (lambda: bayes_error(MANY), "strength"),
        (lambda: critical_strength(Pooled(), 8, positive_rate=[0.2, 0.5]), "positive_rate"),
        (lambda: predict(PROBLEM, Pooled(), test_problem=MANY), "strength"),
    ],
)
def test_where_a_single_point_is_meant_arrays_are_refused(call, word):
    with pytest.raises(InvalidInput, match=word):
        call()
