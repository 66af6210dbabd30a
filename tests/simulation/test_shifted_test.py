"""Trials tested on another problem than the one trained on."""

import pytest

from sparsetoken.model.models import make_model
from sparsetoken.model.problem import SparseTokenProblem
from sparsetoken.model.stages import Query, Readout
from sparsetoken.simulation import performance, simulate

PROBLEM = SparseTokenProblem(4, 1, 3.0, 0.5)
SHIFTED = SparseTokenProblem(9, 2, 2.5, 0.3)
READOUT = Readout("square", alpha1=1.5)


def run(name="attention", activation="erf", **options):
    options = {"dimension": 20, "trials": 3, **options}
    model = make_model(name, Query(0.7, 1.0), activation=activation)
    return simulate(PROBLEM, model, READOUT, **options)


@pytest.mark.parametrize("engine", ["reduced", "tensors"])
@pytest.mark.parametrize("model", ["attention", "pooled", "elementwise", "hard_attention"])
def test_the_training_does_not_depend_on_the_test(model, engine, monkeypatch):
    monkeypatch.setattr(performance, "DRAWS", 2000)
    here, there = (run(model, engine=engine, test_problem=p) for p in (None, SHIFTED))
    for one, two in zip(here.trials, there.trials, strict=True):
        assert one.overlaps == two.overlaps
        assert one.training_loss == two.training_loss
        assert one.test_error != two.test_error
    assert run(model, engine=engine, test_problem=PROBLEM) == here
