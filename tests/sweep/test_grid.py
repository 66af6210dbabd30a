"""Grids: axes, the rows of points, what is refused."""

import inspect
import math

import numpy as np
import pytest

from sparsetoken import SparseTokenProblem, predict, simulate
from sparsetoken.base.validation import InvalidInput
from sparsetoken.model.stages import Readout, TwoSteps
from sparsetoken.simulation.setting import dimension_of
from sparsetoken.sweep import Axis, Drawing, Grid, linear, listed, logarithmic, tied
from sparsetoken.sweep.compute import _Point, check_points
from sparsetoken.sweep.layout import Layout, keys_of
from sparsetoken.sweep.parameters import EXPERIMENTS, QUANTITIES, VERSIONS, uses
from sparsetoken.theory.predict import TOLERANCE

STRENGTHS = listed("strength", [1.0, 2.0])


def keys(grid):
    layouts = (Layout(grid, quantity) for quantity in grid.quantities)
    return [key for layout in layouts for p in layout.places() for key in keys_of(layout.rows(p))]


def test_linear_steps_are_even_and_include_the_ends():
    (values,) = zip(*linear("strength", 1, 2, 5).steps, strict=True)
    assert values == (1.0, 1.25, 1.5, 1.75, 2.0)


def test_logarithmic_steps_have_one_ratio():
    (values,) = zip(*logarithmic("alpha1", 0.5, 8, 5).steps, strict=True)
    assert values == (0.5, 1.0, 2.0, 4.0, 8.0)


def test_values_may_be_an_array():
    assert listed("length", np.array([4, 8])) == listed("length", [4, 8])


def test_computed_values_have_twelve_digits():
    (values,) = zip(*linear("strength", 0, 1, 4).steps, strict=True)
    assert values[1] == 0.333333333333


def test_points_are_all_combinations_and_tied_values_move_together():
    grid = Grid("learning", [STRENGTHS, tied(length=[4, 8], informative=[1, 2])])
    assert list(grid.points()) == [
        {"strength": 1.0, "length": 4, "informative": 1},
        {"strength": 1.0, "length": 8, "informative": 2},
        {"strength": 2.0, "length": 4, "informative": 1},
        {"strength": 2.0, "length": 8, "informative": 2},
    ]
    assert grid.size == 4


def test_a_row_does_not_depend_on_how_or_where_it_was_written():
    on_axes = Grid("learning", [listed("strength", [2]), listed("length", [4, 8])])
    fixed = Grid("learning", [listed("length", [8])], {"strength": 2.0, "ridge": 0.01})
    assert set(keys(fixed)) < set(keys(on_axes))


def test_raising_trials_keeps_the_old_rows():
    few = Grid("learning", [STRENGTHS], quantities=["simulation"], trials=2)
    more = Grid("learning", [STRENGTHS], quantities=["simulation"], trials=5)
    assert set(keys(few)) < set(keys(more))
    assert len(keys(more)) == 10


def test_a_seed_is_a_coordinate_of_simulations_only():
    rows = [
        set(keys(Grid("learning", [STRENGTHS], quantities=QUANTITIES, seed=seed)))
        for seed in (0, 1)
    ]
    assert len(rows[0] & rows[1]) == 2  # the theory


def test_points_that_differ_in_what_plays_no_part_share_a_row():
    axes = [listed("model", ["pooled", "attention"]), listed("cosine", [0.2, 0.8])]
    grid = Grid("learning", axes, {"sharpness": 1.0})
    assert len(keys(grid)) == 4
    assert len(set(keys(grid))) == 3


def test_theory_of_the_capacity_does_not_depend_on_the_load():
    axes = [listed("alpha1", [1.0, 2.0, 3.0])]
    grid = Grid("capacity", axes, {"model": "pooled"}, quantities=QUANTITIES, trials=2)
    assert len(set(keys(grid))) == 1 + 6


def test_defaults_are_those_of_the_functions_and_classes():
    grid = Grid("learning", [STRENGTHS])
    values = grid.values({"strength": SparseTokenProblem().strength})
    signatures = inspect.signature(predict).parameters, inspect.signature(simulate).parameters
    assert values["tolerance"] == signatures[0]["tolerance"].default == TOLERANCE
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
    row = grid.setting({"strength": 5.0}, "theory")
    assert _Point(row, {}, None).problem == SparseTokenProblem()
    assert _Point(row, {}, None).model == signatures[0]["model"].default
    assert _Point(row, {}, None).readout == Readout()


def test_text_brings_the_grid_back():
    grid = Grid(
        "learning",
        [logarithmic("alpha1", 1, 10, 3), tied(length=[2, 4], informative=[1, 2])],
        {"cosine": 0.5, "sharpness": 1, "loss": "square"},
        quantities=["simulation", "theory"],
        trials=3,
        seed=7,
        plot=Drawing(x="alpha1"),
    )
    assert Grid.from_text(grid.text()) == grid


def test_rows_that_are_read_keep_the_versions_of_their_sweep(monkeypatch):
    text = Grid("learning", [STRENGTHS]).text()
    old = keys(Grid.from_text(text))
    monkeypatch.setitem(VERSIONS, "learning", 100)
    assert keys(Grid.from_text(text)) == old
    assert not set(keys(Grid("learning", [STRENGTHS]))) & set(old)


@pytest.mark.parametrize("experiment", EXPERIMENTS)
def test_every_parameter_of_a_quantity_changes_its_rows(experiment):
    base = {"model": "elementwise", "cosine": None, "sharpness": None, "engine": "tensors"}
    others = {"loss": "hinge", "engine": "reduced", "activation": "exp", "model": "attention"}
    others |= {"dtype": "float32"}
    for quantity in QUANTITIES:
        names = uses(experiment, (quantity,))
        fixed = {name: value for name, value in base.items() if name in names}
        for name in names - {"cosine", "sharpness"}:
            grid = Grid(experiment, [listed("strength", [3.0])], fixed, quantities=[quantity])
            changed = others.get(name, 0.125 if name in ("positive_rate", "ridge") else 3)
            rest = {key: value for key, value in fixed.items() if key != name}
            axes = [listed(name, [changed])]
            if name != "strength":
                rest["strength"] = 3.0
            else:
                axes = [listed("strength", [4.0])]
            assert keys(Grid(experiment, axes, rest, quantities=[quantity])) != keys(grid), name


@pytest.mark.parametrize(
    ("change", "where"),
    [
        ({"experiment": "nothing"}, "experiment"),
        ({"axes": []}, "axes"),
        ({"axes": [Axis(("strength",), ())]}, "axes.strength"),
        ({"axes": [listed("strenght", [1.0])]}, "axes.strenght"),
        ({"axes": [listed("strength", ["a"])]}, "axes.strength"),
        ({"axes": [listed("strength", [math.nan])]}, "axes.strength"),
        ({"axes": [listed("length", [2.5])]}, "axes.length"),
        ({"axes": [listed("strength", [1, 1.0])]}, "axes.strength"),
        ({"axes": [STRENGTHS, STRENGTHS]}, "axes.strength"),
        ({"axes": [STRENGTHS, tied(length=[4], strength=[1.0])]}, "tied.strength"),
        ({"axes": [listed("dimension", [10, 20])]}, "axes.dimension"),
        ({"fixed": {"strength": 3.0}}, "fixed.strength"),
        ({"fixed": {"length": math.nan}}, "fixed.length"),
        ({"fixed": {"colour": 3.0}}, "fixed.colour"),
        ({"fixed": {"model": 3}}, "fixed.model"),
        ({"fixed": {"model": "deep"}}, "fixed.model"),
        ({"axes": [listed("model", ["deep"])]}, "axes.model"),
        ({"fixed": {"ridge": True}}, "fixed.ridge"),
        ({"trials": -1}, "trials"),
        ({"trials": 0}, "trials"),
        ({"seed": -1}, "seed"),
        ({"quantities": []}, "quantities"),
        ({"quantities": "theory"}, "quantities"),
        ({"quantities": ["theory", "practice"]}, "quantities"),
        ({"quantities": ["theory", "theory"]}, "quantities"),
        ({"plot": Drawing(x="length")}, "plot.x"),
        ({"plot": Drawing(x="strength", y="strength")}, "plot.y"),
        ({"plot": Drawing(value="beauty")}, "plot.value"),
    ],
)
def test_what_is_refused_names_its_place(change, where):
    given = {"experiment": "learning", "axes": [STRENGTHS], **change}
    with pytest.raises(InvalidInput) as caught:
        Grid(**given)
    assert caught.value.args[0] == where


@pytest.mark.parametrize(
    "make",
    [
        lambda: listed("strength", []),
        lambda: listed("strength", "12"),
        lambda: linear("strength", 0, 1, 1),
        lambda: linear("strength", 0, math.inf, 3),
        lambda: linear("strength", 0, 1, 100_001),
        lambda: logarithmic("strength", 0, 1, 3),
        lambda: tied(length=[1, 2], informative=[1]),
    ],
)
def test_axes_that_are_refused(make):
    with pytest.raises(InvalidInput):
        make()


@pytest.mark.parametrize(
    ("experiment", "axis", "fixed", "where"),
    [
        ("learning", listed("informative", [1, 11]), {}, "axes.informative"),
        ("learning", STRENGTHS, {"loss": "absolute"}, "fixed.loss"),
        ("learning", STRENGTHS, {"cosine": 0.5}, "fixed.cosine"),
        ("learning", STRENGTHS, {"alpha1": 0.0}, "fixed.alpha1"),
        ("learning", STRENGTHS, {"dimension": 2}, "fixed.dimension"),
        ("learning", listed("dimension", [10, 10**7]), {}, "memory_budget"),
        ("alignment", listed("dimension", [10, 10**9]), {}, "memory_budget"),
    ],
)
def test_values_at_points_are_checked_before_any_runs(experiment, axis, fixed, where):
    grid = Grid(experiment, [axis], fixed, quantities=QUANTITIES)
    with pytest.raises(InvalidInput) as caught:
        check_points(grid)
    assert caught.value.args[0] == where


def test_infinite_load_is_for_theory_alone():
    axes = [listed("alpha1", [1.0, math.inf])]
    check_points(Grid("learning", axes))
    with pytest.raises(InvalidInput, match=r"alpha1 = inf"):
        check_points(Grid("learning", axes, quantities=QUANTITIES))
