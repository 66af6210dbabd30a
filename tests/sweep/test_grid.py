"""Grids: axes, the rows of points, what is refused."""

import inspect
import math

import numpy as np
import pytest

from sparsetoken import SparseTokenProblem, predict, simulate
from sparsetoken.base.validation import InvalidInput
from sparsetoken.model.stages import Readout, TwoSteps
from sparsetoken.simulation.setting import dimension_of
from sparsetoken.sweep import Grid, run
from sparsetoken.sweep.parameters import QUANTITIES, VERSIONS, parameters
from sparsetoken.theory.predict import TOLERANCE

STRENGTHS = {"strength": [1.0, 2.0]}


def keys(grid):
    """Return the keys of all results of a grid."""
    return [
        f"{call.key}.{trial}"
        for quantity in grid.quantities
        for call in grid.calls(quantity)
        for trial in range(grid.trials_of(quantity))
    ]


def test_values_may_be_an_array_or_numbers_of_another_type():
    grids = [Grid("learning", {"length": values}) for values in (np.array([4, 8]), [4.0, 8])]
    assert grids[0] == grids[1] == Grid("learning", {"length": [4, 8]})
    assert keys(grids[0]) == keys(grids[1])


def test_points_are_all_combinations_and_tied_values_move_together():
    grid = Grid("learning", {**STRENGTHS, "length+informative": [(4, 1), (8, 2)]})
    assert list(grid.points()) == [
        {"strength": 1.0, "length": 4, "informative": 1},
        {"strength": 1.0, "length": 8, "informative": 2},
        {"strength": 2.0, "length": 4, "informative": 1},
        {"strength": 2.0, "length": 8, "informative": 2},
    ]
    assert grid.size == 4


def test_theory_of_the_capacity_does_not_depend_on_the_load():
    axes = {"alpha1": [1.0, 2.0, 3.0]}
    grid = Grid("capacity", axes, {"model": "pooled"}, quantities=QUANTITIES, trials=2)
    assert len(set(keys(grid))) == 1 + 6


def test_defaults_are_those_of_the_functions_and_classes():
    grid = Grid("learning", STRENGTHS)
    values = grid.values({"strength": SparseTokenProblem().strength})
    signatures = inspect.signature(predict).parameters, inspect.signature(simulate).parameters
    # None stands for it, as tasks of other kinds have another.
    assert (values["tolerance"], signatures[0]["tolerance"].default) == (TOLERANCE, None)
    # None, where a descent on all weights has an engine of its own.
    assert (values["engine"], signatures[1]["engine"].default) == ("reduced", None)
    assert (values["dimension"], signatures[1]["dimension"].default) == (
        dimension_of(SparseTokenProblem(), None),
        None,
    )
    assert values["dtype"] == signatures[1]["dtype"].default
    assert values["alpha0"] == TwoSteps().alpha0
    assert values["alpha1"] == Readout().alpha1
    assert values["loss"] == Readout().loss.name == TwoSteps().loss.name
    assert values["model"] == signatures[0]["model"].default.name
    (call,) = Grid("learning", {"strength": [5.0]}).calls("theory")
    assert call.problem == SparseTokenProblem()
    assert call.trained == signatures[0]["model"].default
    assert call.readout == Readout()


def test_the_key_of_a_call_does_not_change():
    """Kept results are found by it: a change of what it is made of raises a version."""
    (call,) = Grid("alignment", {"strength": [2.0]}).calls("theory")
    assert call.key == "646c0be420d8ce8277f4"


def test_a_new_version_of_an_experiment_shares_no_result(monkeypatch):
    old = keys(Grid("learning", STRENGTHS, quantities=QUANTITIES))
    monkeypatch.setitem(VERSIONS, "learning", 100)
    assert not {*keys(Grid("learning", STRENGTHS, quantities=QUANTITIES))} & {*old}


@pytest.mark.parametrize("experiment", VERSIONS)
def test_every_parameter_of_a_quantity_changes_its_rows(experiment):
    base = {"model": "elementwise", "engine": "tensors"}
    others = {"loss": "hinge", "engine": "reduced", "activation": "exp", "model": "attention"}
    others |= {"dtype": "float32", "positive_rate": 0.125, "ridge": 0.125, "tolerance": 0.125}
    for quantity in QUANTITIES:
        names = parameters(experiment, (quantity,)).keys()
        fixed = {name: value for name, value in base.items() if name in names}
        for name in names - {"cosine", "sharpness"}:
            grid = Grid(experiment, {"strength": [3.0]}, fixed, quantities=[quantity])
            changed = others.get(name, 3)
            rest = {key: value for key, value in fixed.items() if key != name}
            axes = {"strength": [4.0]} if name == "strength" else {name: [changed]}
            rest |= {} if name == "strength" else {"strength": 3.0}
            assert keys(Grid(experiment, axes, rest, quantities=[quantity])) != keys(grid), name


@pytest.mark.parametrize(
    ("change", "where"),
    [
        ({"experiment": "nothing"}, "experiment"),
        ({"axes": []}, "axes"),
        ({"axes": {}}, "axes"),
        ({"axes": {3: [1.0]}}, "axes"),
        ({"axes": {"strength": []}}, "axes.strength"),
        ({"axes": {"strength": "12"}}, "axes.strength"),
        ({"axes": {"strength": 3.0}}, "axes.strength"),
        ({"axes": {"strenght": [1.0]}}, "axes.strenght"),
        ({"axes": {"strength": [math.nan]}}, "axes.strength"),
        ({"axes": {"length": [2.5]}}, "axes.length"),
        ({"fixed": {"length": math.inf}}, "fixed.length"),
        ({"axes": {"strength": [1, 1.0]}}, "axes.strength"),
        ({"axes": {**STRENGTHS, "length+strength": [(4, 1.0)]}}, "axes.strength"),
        ({"axes": {"length+strength": [(4, 1.0), (5,)]}}, "tied.length"),
        ({"axes": {"length+strength": [4]}}, "tied.length"),
        ({"axes": {"dimension": [10, 20]}}, "axes.dimension"),
        ({"fixed": [("length", 4)]}, "fixed"),
        ({"fixed": {"strength": 3.0}}, "fixed.strength"),
        ({"fixed": {"colour": 3.0}}, "fixed.colour"),
        ({"fixed": {"model": 3}}, "fixed.model"),
        ({"axes": {"model": ["deep"]}}, "axes.model"),
        ({"fixed": {"ridge": True}}, "fixed.ridge"),
        ({"trials": 0}, "trials"),
        ({"seed": -1}, "seed"),
        ({"quantities": []}, "quantities"),
        ({"quantities": "theory"}, "quantities"),
        ({"quantities": ["theory", "practice"]}, "quantities"),
        ({"quantities": ["theory", "theory"]}, "quantities"),
        ({"plot": {"x": "length"}}, "plot.x"),
        ({"plot": {"x": "strength", "y": "strength"}}, "plot.y"),
        ({"plot": {"value": "beauty"}}, "plot.value"),
        ({"plot": {"z": "strength"}}, "plot.z"),
        ({"plot": {"x": 3}}, "plot.x"),
        ({"plot": "x"}, "plot"),
    ],
)
def test_what_is_refused_names_its_place(change, where):
    given = {"experiment": "learning", "axes": STRENGTHS, **change}
    with pytest.raises(InvalidInput) as caught:
        Grid(**given)
    assert caught.value.args[0] == where


@pytest.mark.parametrize(
    ("experiment", "axes", "fixed", "where"),
    [
        ("learning", {"informative": [1, 11]}, {}, "axes.informative"),
        ("learning", {"length+informative": [(4, 1), (4, 5)]}, {}, "tied.informative"),
        ("learning", STRENGTHS, {"loss": "absolute"}, "fixed.loss"),
        ("learning", STRENGTHS, {"cosine": 0.5}, "fixed.cosine"),
        ("learning", STRENGTHS, {"alpha1": 0.0}, "fixed.alpha1"),
        ("learning", STRENGTHS, {"tolerance": 0.0}, "fixed.tolerance"),
        ("learning", STRENGTHS, {"dimension": 2}, "fixed.dimension"),
        ("learning", {"dimension": [10, 10**7]}, {}, "axes.dimension"),
        ("alignment", {"dimension": [10, 10**9]}, {}, "axes.dimension"),
    ],
)
def test_values_at_points_are_checked_before_any_runs(tmp_path, experiment, axes, fixed, where):
    with pytest.raises(InvalidInput) as caught:
        run(Grid(experiment, axes, fixed, quantities=QUANTITIES), tmp_path / "s")
    assert caught.value.args[0] == where
    assert not (tmp_path / "s").exists()


def test_infinite_load_is_for_theory_alone():
    axes = {"alpha1": [1.0, math.inf]}
    assert len(keys(Grid("learning", axes))) == 2
    with pytest.raises(InvalidInput, match=r"alpha1 = inf"):
        keys(Grid("learning", axes, quantities=QUANTITIES))
