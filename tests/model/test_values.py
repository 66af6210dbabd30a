"""What problems, models and stages have in common: arrays in their fields."""

import numpy as np
import pytest

from sparsetoken.base.validation import InvalidInput
from sparsetoken.model.models import Attention, Pooled
from sparsetoken.model.problem import SparseTokenProblem
from sparsetoken.model.stages import Query, Readout, TwoSteps
from sparsetoken.model.values import broadcast, require_numbers


def test_values_with_numbers_are_one_point():
    values = (SparseTokenProblem(), Pooled(), Readout())
    grid = broadcast(*values)
    assert (grid.coords, grid.dims, grid.shape, grid.points) == ({}, (), (), [values])


def test_arrays_in_any_field_broadcast():
    problem = SparseTokenProblem(4, 1, strength=np.arange(1.0, 4.0)[:, None])
    model = Attention(TwoSteps(alpha0=[1.0, 2.0]))
    grid = broadcast(problem, model, Readout(alpha1=[0.5, 5.0], ridge=[[0.1], [0.2], [0.3]]))
    assert grid.shape == (3, 2)
    assert {name: values.shape for name, values in grid.coords.items()} == {
        "strength": (3, 1),
        "alpha0": (1, 2),
        "ridge": (3, 1),
        "alpha1": (1, 2),
    }
    assert grid.dims == ("point", "point_1")  # two parameters vary along each
    problem, model, readout = grid.points[3]  # in C order: the second row, the second column
    assert problem == SparseTokenProblem(4, 1, 2.0)
    assert model == Attention(TwoSteps(alpha0=2.0))
    assert readout == Readout(alpha1=5.0, ridge=0.2)
    assert len(grid.points) == 6


def test_columns_tell_the_two_loads_apart():
    grid = broadcast(TwoSteps(alpha0=[1.0, 2.0]), Readout(alpha1=[3.0, 4.0]))
    assert list(grid.coords) == ["alpha0", "alpha1"]
    np.testing.assert_array_equal(grid.coords["alpha1"], [3.0, 4.0])
    assert grid.dims == ("point",)


def test_a_dimension_has_the_name_of_the_one_parameter_that_varies_along_it():
    problem = SparseTokenProblem(4, 1, [[[1.0]], [[2.0]]])
    readout = Readout(alpha1=[0.5, 5.0, 7.0], ridge=[[0.1], [0.2], [0.3], [0.4]])
    assert broadcast(problem, readout).dims == ("strength", "ridge", "alpha1")
    plane = [[1.0, 2.0], [3.0, 4.0]]  # along both: named after neither
    assert broadcast(Readout(alpha1=plane)).dims == ("point", "point_1")
    assert broadcast(Readout(alpha1=plane, ridge=[0.1, 0.2])).dims == ("point", "ridge")


def test_arrays_that_do_not_broadcast_are_one_error():
    values = (SparseTokenProblem(strength=[1.0, 2.0]), Pooled(), Readout(alpha1=[1.0, 2.0, 3.0]))
    with pytest.raises(InvalidInput, match="arrays must be of shapes that broadcast") as caught:
        broadcast(*values)
    assert "'strength': (2,)" in str(caught.value)
    assert "'alpha1': (3,)" in str(caught.value)


def test_more_than_a_million_points_are_refused_before_they_are_made():
    many = np.linspace(1, 2, 1001)
    problem, steps = SparseTokenProblem(strength=many[:, None]), TwoSteps(alpha0=many)
    told = "the number of points must be at most 1000000 in one call; got 1002001"
    with pytest.raises(InvalidInput, match=told):
        broadcast(problem, Attention(steps))
    vast = np.broadcast_to(1.0, 10**10)
    with pytest.raises(InvalidInput, match=r"alpha1 \(points\) must be .* got 10000000000\. Take"):
        Readout(alpha1=vast)


@pytest.mark.parametrize(
    ("value", "word"),
    [
        (SparseTokenProblem(strength=[1.0]), "strength"),
        (Attention(Query([0.1, 0.2], 1.0)), "cosine"),
        (Attention(TwoSteps(alpha0=[1.0, 2.0])), "alpha0"),
        (Readout(ridge=[0.1, 0.2]), "ridge"),
    ],
)
def test_single_points_are_asked_for(value, word):
    require_numbers(SparseTokenProblem(), Attention(), Readout(), None)
    with pytest.raises(InvalidInput, match=f"{word} must be a single number"):
        require_numbers(value)
