"""Simulations over arrays are those of the single points."""

import numpy as np
import pytest

from sparsetoken import simulation
from sparsetoken.model.models import make_model
from sparsetoken.model.problem import SparseTokenProblem
from sparsetoken.model.stages import Readout, TwoSteps
from sparsetoken.simulation import performance, simulate

PROBLEM = SparseTokenProblem(4, 1, 3.0)
MANY = SparseTokenProblem(4, 1, [2.0, 3.0])
OPTIONS = {"dimension": 20, "trials": 2}


@pytest.fixture(autouse=True)
def _few_draws(monkeypatch):
    monkeypatch.setattr(performance, "DRAWS", 500)


@pytest.mark.parametrize("engine", ["reduced", "tensors"])
@pytest.mark.parametrize("model", ["attention", "hard_attention", "pooled"])
def test_a_plane_is_made_of_single_points(model, engine):
    model = make_model(model, TwoSteps(alpha0=1.0, eta_q=10.0))
    problem = SparseTokenProblem(4, 1, np.array([[2.0], [3.0]]))
    found = simulate(problem, model, Readout(alpha1=[1.0, 2.0, 3.0]), engine=engine, **OPTIONS)
    assert found.shape == found.mean.test_error.shape == (2, 3)
    assert found.standard_error.test_error.shape == (2, 3)
    assert found.trials.dims == ("strength", "alpha1", "trial")
    for i, strength in enumerate((2.0, 3.0)):
        for j, alpha in enumerate((1.0, 2.0, 3.0)):
            point = SparseTokenProblem(4, 1, strength)
            alone = simulate(point, model, Readout(alpha1=alpha), engine=engine, **OPTIONS)
            assert found[i, j] == alone
            assert found[i, j].trials == found.trials[i, j] == alone.trials
            assert found.mean.test_error[i, j] == alone.mean.test_error
            assert found.standard_error.test_error[i, j] == alone.standard_error.test_error


def test_queries_that_steps_find_over_arrays():
    found = simulation.align(MANY, TwoSteps(alpha0=[[1.0], [2.0], [3.0]]), **OPTIONS)
    assert found.dims == ("alpha0", "strength")
    assert found.mean.cosine.shape == (3, 2)
    alone = simulation.align(SparseTokenProblem(4, 1, 3.0), TwoSteps(alpha0=2.0), **OPTIONS)
    assert found[1, 1] == alone
    assert found[1, 1].trials == alone.trials
