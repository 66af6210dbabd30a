"""Rows: values with their errors, and the form in which a store keeps them."""

import dataclasses
import json
import math

import numpy as np
import pytest

from sparsetoken.experiments.rows import (
    Measured,
    Predicted,
    averaged,
    from_json,
    measured,
    one,
    predicted,
    series,
    to_json,
)
from sparsetoken.models import Pooled
from sparsetoken.problem import SparseTokenProblem
from sparsetoken.simulation import simulate
from sparsetoken.stages import Readout
from sparsetoken.theory import predict


@dataclasses.dataclass(frozen=True)
class _Place:
    name: str
    loads: tuple[float, ...]


@dataclasses.dataclass(frozen=True)
class _Row:
    place: _Place
    x: float
    n: int
    good: bool
    theory: Predicted
    found: Measured


ROW = _Row(_Place("a", (0.5, 1.0)), 0.1, 3, True, Predicted(0.2, 1e-4), Measured(0.3, 0.1, 10, 2))


def test_rows_survive_the_store():
    rows = [ROW, dataclasses.replace(ROW, x=math.inf, found=Measured(0.1, 0.0, 5, 4, "tensors"))]
    assert from_json([_Row], json.loads(json.dumps(to_json(rows)))) == rows
    hash(from_json([_Row], json.loads(json.dumps(to_json(rows))))[0])


@pytest.mark.parametrize("stored", [["Other", {}], ["_Row", {"x": 1.0}], ["_Row", {"height": 1.0}]])
def test_rows_of_another_form_are_refused(stored):
    with pytest.raises(LookupError, match="columns"):
        from_json([_Row], [stored])


@pytest.mark.parametrize(
    ("value", "status", "converged"),
    [
        (0.1, "converged", True),
        (0.1, "max_iterations", False),
        (math.nan, "converged", False),
        (math.inf, "converged", False),
    ],
)
def test_what_may_be_trusted(value, status, converged):
    assert Predicted(value, 0.0, status).converged is converged
    assert Measured(value, 0.0, 1, 1, status=status).converged is converged


def test_values_of_results_keep_mean_error_and_status():
    problem = SparseTokenProblem(length=4, informative=1, strength=2.0)
    readout = Readout(alpha1=1.0)
    found = simulate(problem, Pooled(), readout, dimension=20, trials=3)
    value = measured(found, "test_error", 20)
    errors = found.trials.test_error.tolist()
    assert value.value == pytest.approx(np.mean(errors))
    assert value.error == pytest.approx(np.std(errors, ddof=1) / 3**0.5)
    assert (value.dimension, value.trials, value.engine) == (20, 3, "reduced")
    mean = averaged(errors, 20, "reduced")
    assert (mean.value, mean.error) == pytest.approx((value.value, value.error))
    exact = predict(problem, Pooled(), readout)
    assert predicted(exact, "test_error", exact.numerical_error) == Predicted(
        exact.test_error, exact.numerical_error, "converged"
    )


def test_the_mean_of_one_trial_has_no_error():
    assert math.isnan(averaged([0.5], 10).error)


def test_one_row_is_one():
    other = dataclasses.replace(ROW, x=2.0)
    assert one([ROW, other], _Row, x=2.0) is other
    for wanted in ({}, {"x": 3.0}):
        with pytest.raises(LookupError, match="one was expected"):
            one([ROW, other], _Row, **wanted)


def test_a_series_rises():
    rows = [dataclasses.replace(ROW, x=x) for x in (2.0, 1.0)]
    assert series(rows, "x", "theory") == [(1.0, ROW.theory), (2.0, ROW.theory)]
