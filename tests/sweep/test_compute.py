"""Rows agree with the functions that a person would call."""

import itertools
import json
import pickle

import numpy as np
import pytest

from sparsetoken import Query, Readout, SparseTokenProblem, TwoSteps, simulation, theory
from sparsetoken.model.models import Attention, make_model
from sparsetoken.sweep import Grid
from sparsetoken.sweep.compute import Piece, checked_result, computed, in_pieces

FIXED_PROBLEM = {"length": 4, "informative": 1, "positive_rate": 0.4}
FIXED = {**FIXED_PROBLEM, "loss": "square"}
PROBLEM = SparseTokenProblem(4, 1, 2.0, 0.4)
STEPS = TwoSteps(loss="square")
READOUT = Readout("square", 0.1, 1.5)


def rows(experiment, quantity, trials=1, **fixed):
    grid = Grid(
        experiment,
        {"strength": [2.0]},
        {**FIXED, **({"ridge": 0.1} if experiment == "learning" else {}), **fixed},
        quantities=[quantity],
        trials=trials,
        seed=3,
    )
    return rows_of(grid)


def rows_of(grid):
    return [
        call._replace(trial=trial)
        for quantity in grid.quantities
        for call in grid.calls(quantity)
        for trial in range(grid.trials_of(quantity))
    ]


def compute(calls):
    """Return the values of results, none of which may fail, as what is kept of them has them."""
    found = computed(pickle.loads(pickle.dumps(Piece(calls))))
    assert [*found] == [call.name for call in calls]
    return [checked_result(json.loads(json.dumps(one.value))) for one in found.values()]


@pytest.mark.parametrize(
    ("model", "query"),
    [
        ("attention", None),
        ("attention", Query(0.7, 1.5)),
        ("pooled", None),
        ("vectorized", Query(0.7, 1.5)),
        ("elementwise", None),
    ],
)
def test_theory_of_learning_is_predict(model, query):
    given = {} if query is None else {"cosine": query.cosine, "sharpness": query.sharpness}
    (row,) = rows("learning", "theory", model=model, alpha1=1.5, **given)
    found = compute([row])[0]
    expected = theory.predict(PROBLEM, make_model(model, query or STEPS), READOUT)
    assert found["test_error"] == expected.test_error
    assert found["bias"] == expected.overlaps.bias
    assert found["numerical_error"] == expected.numerical_error
    assert found["status"] == str(expected.status.code)


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
    assert [one["test_error"] for one in found] == trials.test_error.tolist()
    assert [one["noise_overlap"] for one in found] == trials.overlaps.noise.tolist()
    assert [one["cosine"] for one in found] == trials.cosine.tolist()


def test_theory_of_alignment_is_align():
    (row,) = rows("alignment", "theory", alpha0=3.0)
    expected = theory.align(PROBLEM, TwoSteps(3.0, loss="square"))
    found = compute([row])[0]
    assert found["cosine"] == expected.cosine
    assert found["sharpness"] == expected.sharpness


def test_trials_of_alignment_are_those_of_align():
    expected = simulation.align(PROBLEM, STEPS, dimension=12, trials=2, seed=3).trials
    found = [compute([row])[0] for row in rows("alignment", "simulation", 2, dimension=12)]
    assert [one["cosine"] for one in found] == expected.cosine.tolist()
    assert [one["norm"] for one in found] == expected.norm.tolist()


def test_theory_of_capacity_is_capacity():
    (row,) = rows("capacity", "theory", cosine=0.5, sharpness=1.0)
    expected = theory.capacity(PROBLEM, Attention(Query(0.5, 1.0)))
    assert compute([row])[0]["capacity"] == expected.capacity


def test_trials_of_capacity_are_separable_training_sets():
    given = {"cosine": 0.5, "sharpness": 1.0}
    found = [
        compute([row])[0]["separable"]
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
    assert [one["status"] for one in found] == ["no_limit", "no_limit"]  # one sample has one class
    assert all("one class" in one["message"] for one in found)


def test_rows_of_a_series_are_what_they_are_alone():
    """Ridge, load, loss and model vary; one call computes each series of loads and ridges."""
    grid = Grid(
        "learning",
        {
            "alpha1": np.geomspace(0.5, 4.0, 4),
            "ridge": [0.0, 0.1],
            "loss": ["square", "logistic"],
            "model": ["attention", "vectorized"],
        },
        {**FIXED_PROBLEM, "cosine": 0.7, "sharpness": 1.5, "tolerance": 1e-3},
    )
    (piece,) = in_pieces(rows_of(grid))
    series = [list(some) for _, some in itertools.groupby(piece.calls, lambda call: call.series)]
    assert [len(some) for some in series] == [8, 8, 8, 8]
    for some in series:
        together = compute(some)
        for row, found in zip(some, together, strict=True):
            alone = compute([row])[0]
            assert found["status"] == alone["status"]
            # How a solution was reached depends on the start, and the solution to rounding;
            # the numerical error is a small difference of numbers like the test error.
            for name in alone.keys() - {"residual", "iterations", "status", "message"}:
                # An error is of the place before the last Newton step, 1e-6 away.
                near = 1e-5 if name == "numerical_error" or name.endswith("_se") else 1e-8
                assert found[name] == pytest.approx(
                    alone[name], rel=near, abs=1e-10, nan_ok=True
                ), name


def test_pieces_have_each_result_once_and_no_more_than_a_second():
    axes = {"alpha1": np.linspace(1, 9, 50), "strength": [1.0, 2.0], "dimension": [100, 3000]}
    grid = Grid("learning", axes, quantities=("theory", "simulation"), trials=3)
    items = list({item.name: item for item in rows_of(grid)}.values())
    pieces = list(in_pieces(items))
    assert sorted(key for piece in pieces for key in piece.keys) == sorted(i.name for i in items)
    assert len(items) == 100 + 600
    for piece in pieces:
        kinds = [call.quantity for call in piece.calls]
        sizes = [c.options.dimension for c in piece.calls if c.quantity == "simulation"]
        assert kinds.count("theory") <= 64
        assert len(sizes) <= 128
        assert sum(size**2 for size in sizes) <= max(5_000_000, *sizes, 3000**2)
        series = {call.series for call in piece.calls if call.quantity == "theory"}
        assert len(series) <= 1  # of 50 loads each, which are not torn apart


def test_what_cannot_be_read_in_a_worker_is_the_error_of_its_results():
    kind, (names, _) = Piece(rows("alignment", "theory")).__reduce__()
    (found,) = computed(kind(names, b"no pickle")).values()
    assert found.error.startswith("UnpicklingError")


@pytest.mark.parametrize(
    "changes",
    [
        {"status": "fine"},
        {"status": ["converged"]},
        {"message": "\x1b[2J"},
        {"message": 3},
        {"cosine": 1},
        {"cosine": None},
        {"cosine": True},
    ],
)
def test_what_is_no_row_is_refused(changes):
    whole = {"status": "converged", "message": "", "cosine": 0.5}
    assert checked_result(whole) == whole
    with pytest.raises((ValueError, TypeError, AttributeError)):
        checked_result(whole | changes)
