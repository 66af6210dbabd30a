"""What the functions of simulation refuse: one table of illegal values, for all that take them."""

import dataclasses
import inspect
import math

import numpy as np
import pytest

import sparsetoken as st
from sparsetoken import simulation
from sparsetoken.base.validation import InvalidInput
from sparsetoken.simulation import align, descend, draw_training_set, pass_messages, simulate, trial

PROBLEM = st.SparseTokenProblem(4, 1, 3.0)
MANY = st.SparseTokenProblem(4, 1, [2.0, 3.0])
SHIFTED = st.SparseTokenProblem(9, 2, 2.5)
GIVEN = {
    simulate: {"problem": PROBLEM, "model": st.Pooled()},
    align: {"problem": PROBLEM},
    descend: {"problem": PROBLEM},
    pass_messages: {"problem": PROBLEM, "alpha": 1.0},
    draw_training_set: {"problem": PROBLEM, "model": st.Pooled(), "alpha": 1.0},
}
ILLEGAL = {
    "problem": [None, "problem"],
    "model": [3, "pooled"],
    "readout": [0.1, st.Readout(alpha1=math.inf), st.Readout(alpha1=[1.0, math.inf])],
    "steps": [3],
    "descent": [3, st.Attention()],
    "alpha": [0.0, math.inf, [1.0, 2.0], "1"],
    "dimension": [0, 2.5, 10**400],
    "trials": [0, 1.5, 10**9],
    "trial": [-1, 0.5],
    "seed": [-1, 0.5],
    "engine": ["fast"],
    "iterations": [0],
    "test_samples": [0, 1.5],
    "test_problem": [math.pi],
    "workers": [0, 1.5],
    "keep": [__file__],
    "at": [(99,), 2, []],
}
"""Values that are illegal wherever they are taken."""
NAMES = {"readout": "readout|alpha1", "alpha": "alpha", "at": "step in at|at"}
CALLS = [
    (call, name, value)
    for call in GIVEN
    for name in inspect.signature(call).parameters
    for value in ILLEGAL.get(name, ())
]


def test_every_option_is_in_the_table():
    taken = {name for call in GIVEN for name in inspect.signature(call).parameters}
    assert taken - ILLEGAL.keys() == {"progress"}


@pytest.fixture(autouse=True)
def _no_work(monkeypatch):
    monkeypatch.setattr(trial.TrialPlan, "run", lambda *_: pytest.fail("work"))


@pytest.mark.parametrize(
    ("call", "name", "value"), CALLS, ids=[f"{c.__name__}-{n}-{str(v)[:9]}" for c, n, v in CALLS]
)
def test_illegal_values_are_refused_before_any_work(call, name, value):
    sizes = {"dimension": 20, "trials": 2}
    sizes = {key: sizes[key] for key in sizes if key in inspect.signature(call).parameters}
    with pytest.raises(InvalidInput) as caught:
        call(**GIVEN[call] | sizes | {name: value})
    words = NAMES.get(name, name).split("|")
    assert any(caught.value.args[0].startswith(word) for word in words)


EXP = st.Elementwise(st.Query(-1.0, 20.0), "exp")
HUGE = dataclasses.replace(SHIFTED, length=10**9)


@pytest.mark.parametrize(
    ("call", "word"),
    [
        (lambda: simulate(PROBLEM, st.Pooled(), dimension=2), "use the engine tensors"),
        (lambda: simulate(MANY, st.Pooled(), st.Readout(alpha1=[1.0, 2.0, 3.0])), "arrays"),
        (lambda: simulate(PROBLEM, st.Pooled(), test_problem=MANY), "strength"),
        (lambda: simulate(PROBLEM, st.Vectorized(), test_problem=SHIFTED), "length"),
        (lambda: simulate(st.SparseTokenProblem(4, 1, 20.0), EXP), "sharpness"),
        (
            lambda: simulate(
                PROBLEM,
                st.Elementwise(st.Query(0.7, 1.0), "exp"),
                test_problem=st.SparseTokenProblem(4, 1, 500.0),
            ),
            "sharpness",
        ),
        (lambda: align(MANY, st.TwoSteps(beta=[1.0, 2.0, 3.0])), "arrays"),
        (lambda: pass_messages(MANY, 1.0), "strength"),
        (lambda: descend(PROBLEM, dimension=2), "dimension"),
        (lambda: draw_training_set(MANY, st.Pooled(), 1.0), "strength"),
        (
            lambda: draw_training_set(PROBLEM, st.Attention(st.Query([0.1, 0.2], 1)), 1.0),
            "cosine",
        ),
        (lambda: draw_training_set(PROBLEM, st.Attention(), 1.0, dimension=10), "query"),
    ],
)
def test_values_that_do_not_go_together_are_refused_before_any_work(call, word):
    with pytest.raises(InvalidInput, match=word):
        call()


@pytest.mark.parametrize(
    "call",
    [
        lambda: simulate(HUGE, st.Pooled()),
        lambda: simulate(HUGE, st.Pooled(), engine="tensors", dimension=1),
        lambda: simulate(PROBLEM, test_problem=HUGE),
        lambda: simulate(PROBLEM, st.Vectorized(), st.Readout(alpha1=[1.0, 1e6])),
        lambda: simulate(PROBLEM, st.Attention(st.TwoSteps(1e6))),
        lambda: descend(PROBLEM, st.Descent(alpha=1e7)),
        lambda: align(PROBLEM, st.TwoSteps(1e6)),
        lambda: descend(PROBLEM, st.Descent(alpha=1e-6), dimension=10**8),
        lambda: descend(HUGE, dimension=3),
        lambda: pass_messages(PROBLEM, 1e6),
        lambda: draw_training_set(PROBLEM, st.Pooled(), 1e6),
    ],
)
def test_an_array_of_more_than_2_gib_is_refused_before_any_work(call):
    remedy = r"exceeds 2 GiB.*Lower dimension, length or alpha"
    with pytest.raises(InvalidInput, match=remedy):
        call()


def test_at_dimension_1_a_query_has_no_other_cosine():
    model = st.Attention(st.Query(0.5, 1.0))
    with pytest.raises(InvalidInput, match="cosine"):
        draw_training_set(PROBLEM, model, 1.0, dimension=1, engine="tensors")


@pytest.mark.parametrize("bad", [{"labels": np.array([0, 1])}, {"features": np.ones((2, 2, 2))}])
def test_what_is_no_training_set(bad):
    given = {"features": np.ones((2, 2)), "labels": np.array([-1, 1])} | bad
    with pytest.raises(InvalidInput, match="labels"):
        simulation.is_separable(**given)
