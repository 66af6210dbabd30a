"""Rows agree with the functions that a person would call."""

import dataclasses
import math

import pytest

from sparsetoken import FourStageTraining, Query, SparseTokenProblem, simulation, theory
from sparsetoken.sweep import Grid, listed
from sparsetoken.sweep.compute import check, compute
from sparsetoken.validation import InvalidInput

FIXED = {"length": 4, "informative": 1, "positive_rate": 0.4, "loss": "square", "ridge": 0.1}
PROBLEM = SparseTokenProblem(4, 1, 2.0, 0.4)
TRAINING = FourStageTraining(loss="square", ridge=0.1)


def rows(experiment, quantity, trials=1, **fixed):
    grid = Grid(
        experiment,
        [listed("strength", [2.0])],
        {**FIXED, **fixed},
        quantities=[quantity],
        trials=trials,
        seed=3,
    )
    grid.check_points()
    return list(grid.rows())


@pytest.mark.parametrize("model", ["attention", "pooled", "vectorized", "elementwise"])
@pytest.mark.parametrize("query", [None, Query(0.7, 1.5)])
def test_theory_of_learning_is_predict(model, query):
    given = {} if query is None else dataclasses.asdict(query)
    (row,) = rows("learning", "theory", model=model, alpha1=1.5, **given)
    found = compute([row])[0]
    expected = theory.predict(
        model, PROBLEM, TRAINING, 1.5, query=query or theory.align(PROBLEM, TRAINING).query
    )
    assert found.values["test_error"] == expected.test_error
    assert found.values["bias"] == expected.overlaps.bias
    assert found.values["numerical_error"] == expected.numerical_error
    assert found.status == str(expected.status.code)


@pytest.mark.parametrize("engine", ["reduced", "tensors"])
def test_trials_of_learning_are_those_of_simulate(engine):
    expected = simulation.simulate(
        "attention", PROBLEM, TRAINING, 1.5, dimension=12, trials=3, seed=3, engine=engine
    )
    found = [
        compute([row])[0]
        for row in rows("learning", "simulation", 3, alpha1=1.5, dimension=12, engine=engine)
    ]
    for one, trial, query in zip(found, expected.trials, expected.queries, strict=True):
        assert one.values["test_error"] == trial.test_error
        assert one.values["noise_overlap"] == trial.overlaps.noise
        assert one.values["cosine"] == query.cosine
    assert len({one.seed for one in found}) == 3


def test_theory_of_alignment_is_align():
    (row,) = rows("alignment", "theory", alpha0=3.0)
    expected = theory.align(PROBLEM, FourStageTraining(3.0, loss="square"))
    found = compute([row])[0]
    assert found.values["cosine"] == expected.cosine
    assert found.values["sharpness"] == expected.sharpness


def test_trials_of_alignment_are_those_of_simulate_alignment():
    expected = simulation.simulate_alignment(PROBLEM, TRAINING, dimension=12, trials=2, seed=3)
    found = [compute([row])[0] for row in rows("alignment", "simulation", 2, dimension=12)]
    assert [one.values["cosine"] for one in found] == expected.cosine.tolist()
    assert [one.values["norm"] for one in found] == expected.norm.tolist()


def test_theory_of_capacity_is_capacity():
    (row,) = rows("capacity", "theory", cosine=0.5, sharpness=1.0)
    expected = theory.capacity("attention", PROBLEM, query=Query(0.5, 1.0))
    assert compute([row])[0].values["capacity"] == expected.capacity


def test_trials_of_capacity_are_separable_training_sets():
    given = {"cosine": 0.5, "sharpness": 1.0, "loss": "logistic", "ridge": 0.01}
    found = [
        compute([row])[0].values["separable"]
        for row in rows("capacity", "simulation", 8, alpha1=2.4, dimension=12, **given)
    ]
    expected = [
        simulation.is_separable(
            *simulation.draw_training_set(
                "attention",
                PROBLEM,
                alpha1=2.4,
                query=Query(0.5, 1.0),
                dimension=12,
                seed=3,
                trial=trial,
            )
        )
        for trial in range(8)
    ]
    assert found == expected
    assert 0 < sum(found) < 8


def test_one_class_is_a_status():
    few = {"alpha1": 0.1, "dimension": 10, "positive_rate": 0.4}
    found = [compute([row])[0] for row in rows("learning", "simulation", 2, model="pooled", **few)]
    assert [one.status for one in found] == ["no_limit", "no_limit"]  # one sample has one class
    assert all("one class" in one.remedy for one in found)


def test_a_result_is_one_of_its_configuration_alone():
    (row,) = rows("learning", "theory", alpha1=1.5)
    (other,) = rows("learning", "theory", alpha1=7.5)
    first = compute([row])[0]
    compute([other])
    assert compute([row])[0] == first


def test_check_refuses_what_compute_would():
    (row,) = rows("learning", "theory", alpha1=1.5)
    with pytest.raises(InvalidInput, match="alpha1"):
        check({**row, "alpha1": -1.0})
    with pytest.raises(InvalidInput, match="tolerance"):
        check({**row, "tolerance": 0.0})
    check({**row, "alpha1": math.inf})
