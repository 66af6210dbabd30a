"""Rows: values with their errors, how they are chosen, and the form in which they are kept."""

import math
import pickle

import numpy as np
import pytest

from sparsetoken.base.validation import InvalidInput
from sparsetoken.experiments.core.rows import (
    Row,
    Rows,
    averaged,
    difference,
    measured,
    predicted,
)
from sparsetoken.model.models import Pooled
from sparsetoken.model.problem import SparseTokenProblem
from sparsetoken.model.stages import Readout
from sparsetoken.simulation import simulate
from sparsetoken.theory import predict

ROW = Row("theory", "test_error", 0.2, 1e-4, {"alpha": 2.0, "model": "pooled"})
OTHER = ROW.but(series="simulated", alpha=1.0, value=math.inf, values=(0.1, 0.3))


def test_rows_survive_being_kept():
    assert pickle.loads(pickle.dumps(Rows([ROW, OTHER]))) == Rows([ROW, OTHER])


def test_coordinates_are_no_fields():
    with pytest.raises(InvalidInput, match="coordinates"):
        Row("theory", "auc", 1.0, at={"value": 2.0})


def test_what_may_be_trusted():
    fallen = [ROW.but(status="max_iterations"), ROW.but(value=math.nan), ROW.but(value=math.inf)]
    assert [row.converged for row in (ROW, *fallen)] == [True, False, False, False]


def test_results_become_rows_with_mean_error_and_status():
    problem = SparseTokenProblem(length=4, informative=1, strength=2.0)
    readout = Readout(alpha1=1.0)
    simulated = simulate(problem, Pooled(), readout, dimension=20, trials=3)
    row = measured(simulated, "test_error", dimension=20, alpha1=1.0)
    errors = simulated.trials.test_error.tolist()
    assert row.value == pytest.approx(np.mean(errors))
    assert row.error == pytest.approx(np.std(errors, ddof=1) / 3**0.5)
    assert (row.dimension, row.trials, row.engine, row["alpha1"]) == (20, 3, "reduced", 1.0)
    mean = averaged(errors, dimension=20, engine="reduced")
    assert (mean.value, mean.error) == pytest.approx((row.value, row.error))
    exact = predict(problem, Pooled(), readout)
    row = predicted(exact, "test_error", model="pooled")
    assert (row.value, row.error) == (exact.test_error, exact.numerical_error)
    assert row.status == "converged"
    assert predicted(exact, "auc", error=0.5).error == 0.5
    assert math.isnan(averaged([0.5], dimension=10).error)


def test_a_difference_has_both_errors_and_converges_if_both_rows_have():
    second = ROW.but(value=0.05, error=4e-4, status="max_iterations")
    less = difference(ROW.but(error=3e-4), second)
    assert (less.value, less.error) == pytest.approx((0.15, 5e-4))
    assert less.status == difference(second, ROW).status == "max_iterations"


def test_rows_are_chosen_by_fields_and_coordinates():
    rows = Rows([ROW, OTHER])
    assert rows.where("theory") == Rows([ROW])
    assert rows.where(quantity="test_error", model="pooled") == rows
    assert rows.where(alpha=1.0) == rows.where(engine="theory", alpha=1.0) == Rows([OTHER])
    assert not rows.where(beta=1.0)
    assert rows.where("theory").beside(OTHER.but(alpha=2.0)) is ROW
    assert rows.one(alpha=2.0) is ROW
    for wanted in ({}, {"alpha": 3.0}):
        with pytest.raises(LookupError, match="one was expected"):
            rows.one(**wanted)


def test_groups_come_in_order_and_a_series_rises():
    rows = Rows([ROW, OTHER])
    assert rows.along("alpha") == Rows([OTHER, ROW])
    assert rows.distinct("alpha") == [2.0, 1.0]
    assert [key for key, _ in rows.by("model", "alpha")] == [("pooled", 2.0), ("pooled", 1.0)]
    assert [len(some) for _, some in rows.by("model")] == [2]
    simulated, more = rows.where("simulated"), [ROW]
    assert (simulated + more).where(model="pooled") == Rows([OTHER, ROW])
