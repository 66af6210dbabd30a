"""Rows agree with the functions that a person would call."""

import collections
import dataclasses
import math

import pytest

from sparsetoken import Query, Readout, SparseTokenProblem, TwoSteps, simulation, theory
from sparsetoken.base.validation import InvalidInput
from sparsetoken.model.models import Attention, make_model
from sparsetoken.sweep import Grid, listed, logarithmic
from sparsetoken.sweep.compute import check_points, compute
from sparsetoken.sweep.layout import Layout
from sparsetoken.sweep.parameters import series_of

FIXED_PROBLEM = {"length": 4, "informative": 1, "positive_rate": 0.4}
FIXED = {**FIXED_PROBLEM, "loss": "square"}
PROBLEM = SparseTokenProblem(4, 1, 2.0, 0.4)
STEPS = TwoSteps(loss="square")
READOUT = Readout("square", 0.1, 1.5)


def rows(experiment, quantity, trials=1, **fixed):
    grid = Grid(
        experiment,
        [listed("strength", [2.0])],
        {**FIXED, **({"ridge": 0.1} if experiment == "learning" else {}), **fixed},
        quantities=[quantity],
        trials=trials,
        seed=3,
    )
    check_points(grid)
    return rows_of(grid)


def rows_of(grid):
    layouts = (Layout(grid, quantity) for quantity in grid.quantities)
    return [row for layout in layouts for place in layout.places() for row in layout.rows(place)]


@pytest.mark.parametrize("model", ["attention", "pooled", "vectorized", "elementwise"])
@pytest.mark.parametrize("query", [None, Query(0.7, 1.5)])
def test_theory_of_learning_is_predict(model, query):
    given = {} if query is None else dataclasses.asdict(query)
    (row,) = rows("learning", "theory", model=model, alpha1=1.5, **given)
    found = compute([row])[0]
    expected = theory.predict(PROBLEM, make_model(model, query or STEPS), READOUT)
    assert found.values["test_error"] == expected.test_error
    assert found.values["bias"] == expected.overlaps.bias
    assert found.values["numerical_error"] == expected.numerical_error
    assert found.status == str(expected.status.code)


@pytest.mark.parametrize("engine", ["reduced", "tensors"])
def test_trials_of_learning_are_those_of_simulate(engine):
    expected = simulation.simulate(
        PROBLEM, Attention(STEPS), READOUT, dimension=12, trials=3, seed=3, engine=engine
    )
    found = [
        compute([row])[0]
        for row in rows("learning", "simulation", 3, alpha1=1.5, dimension=12, engine=engine)
    ]
    trials = expected.trials
    assert [one.values["test_error"] for one in found] == trials.test_error.tolist()
    assert [one.values["noise_overlap"] for one in found] == trials.overlaps.noise.tolist()
    assert [one.values["cosine"] for one in found] == trials.cosine.tolist()


def test_theory_of_alignment_is_align():
    (row,) = rows("alignment", "theory", alpha0=3.0)
    expected = theory.align(PROBLEM, TwoSteps(3.0, loss="square"))
    found = compute([row])[0]
    assert found.values["cosine"] == expected.cosine
    assert found.values["sharpness"] == expected.sharpness


def test_trials_of_alignment_are_those_of_align():
    expected = simulation.align(PROBLEM, STEPS, dimension=12, trials=2, seed=3).trials
    found = [compute([row])[0] for row in rows("alignment", "simulation", 2, dimension=12)]
    assert [one.values["cosine"] for one in found] == expected.cosine.tolist()
    assert [one.values["norm"] for one in found] == expected.norm.tolist()


def test_theory_of_capacity_is_capacity():
    (row,) = rows("capacity", "theory", cosine=0.5, sharpness=1.0)
    expected = theory.capacity(PROBLEM, Attention(Query(0.5, 1.0)))
    assert compute([row])[0].values["capacity"] == expected.capacity


def test_trials_of_capacity_are_separable_training_sets():
    given = {"cosine": 0.5, "sharpness": 1.0}
    found = [
        compute([row])[0].values["separable"]
        for row in rows("capacity", "simulation", 8, alpha1=2.4, dimension=12, **given)
    ]
    expected = [
        simulation.is_separable(
            *simulation.draw_training_set(
                PROBLEM, Attention(Query(0.5, 1.0)), 2.4, dimension=12, seed=3, trial=trial
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
    assert all("one class" in one.message for one in found)


def test_a_result_is_one_of_its_configuration_alone():
    (row,) = rows("learning", "theory", alpha1=1.5)
    (other,) = rows("learning", "theory", alpha1=7.5)
    first = compute([row])[0]
    compute([other])
    assert compute([row])[0] == first


def test_rows_of_a_series_are_what_they_are_alone():
    """Ridge, load, loss and model vary; one call computes each series of loads and ridges."""
    grid = Grid(
        "learning",
        [
            logarithmic("alpha1", 0.5, 4.0, 4),
            listed("ridge", [0.0, 0.1]),
            listed("loss", ["square", "logistic"]),
            listed("model", ["attention", "vectorized"]),
        ],
        {**FIXED_PROBLEM, "cosine": 0.7, "sharpness": 1.5, "tolerance": 1e-3},
    )
    by_series = collections.defaultdict(list)
    for row in rows_of(grid):
        by_series[series_of(row.setting)].append(row)
    series = list(by_series.values())
    assert [len(some) for some in series] == [8, 8, 8, 8]
    for some in series:
        together = compute(some)
        for row, found in zip(some, together, strict=True):
            alone = compute([row])[0]
            assert found.status == alone.status
            # How a solution was reached depends on the start, and the solution to rounding;
            # the numerical error is a small difference of numbers like the test error.
            for name in alone.values.keys() - {"residual", "iterations"}:
                # A standard error is of the place before the last Newton step, 1e-6 away.
                near = 1e-5 if name == "numerical_error" else 1e-8
                assert found.values[name] == pytest.approx(
                    alone.values[name], rel=near, abs=1e-10, nan_ok=True
                ), name


def test_check_refuses_what_compute_would():
    for name, value in [("alpha1", -1.0), ("tolerance", 0.0)]:
        with pytest.raises(InvalidInput, match=name):
            check_points(Grid("learning", [listed(name, [value])]))
    check_points(Grid("learning", [listed("alpha1", [math.inf])]))
