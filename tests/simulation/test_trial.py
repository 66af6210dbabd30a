"""Trials: seeds, executors, statuses, refusals."""

import dataclasses

import numpy as np
import pytest

from sparsetoken.base.validation import InvalidInput
from sparsetoken.model.models import (
    MODELS,
    Attention,
    Pooled,
    make_model,
)
from sparsetoken.model.problem import SparseTokenProblem
from sparsetoken.model.stages import Query, Readout, TwoSteps
from sparsetoken.numerics.erm import fit_readout
from sparsetoken.results import StatusCode
from sparsetoken.simulation import align, draw_training_set, performance, simulate
from sparsetoken.simulation import trial as trials

PROBLEM = SparseTokenProblem(4, 1, 3.0, 0.5)
STEPS = TwoSteps(alpha0=1.0, eta_q=20.0)


@pytest.fixture(autouse=True)
def _few_draws(monkeypatch):
    monkeypatch.setattr(performance, "DRAWS", 500)


def run(model="attention", alpha1=1.0, problem=PROBLEM, query=STEPS, ridge=0.01, **options):
    if isinstance(model, str):
        model = make_model(model, query, activation=options.pop("activation", "erf"))
    options = {"dimension": 20, "trials": 3, **options}
    return simulate(problem, model, Readout(ridge=ridge, alpha1=alpha1), **options)


@pytest.mark.parametrize("engine", ["reduced", "tensors"])
@pytest.mark.parametrize("model", MODELS)
def test_more_trials_change_none(model, engine):
    few, many = (run(model, engine=engine, trials=n) for n in (2, 4))
    assert many.trials[:2] == few.trials  # with their queries
    assert len(set(many.trials.test_error)) == 4


@pytest.mark.parametrize("engine", ["reduced", "tensors"])
@pytest.mark.parametrize(
    "change",
    [
        {"problem": SparseTokenProblem(4, 1, np.nextafter(3.0, 4.0), 0.5)},
        {"problem": SparseTokenProblem(4, 1, 3.0, np.nextafter(0.5, 0.0))},
        {"ridge": np.nextafter(0.01, 1.0)},
        {"alpha1": np.nextafter(1.0, 2.0)},
        {"model": Attention(dataclasses.replace(STEPS, eta_q=np.nextafter(20.0, 21.0)))},
    ],
)
def test_neighbouring_numbers_draw_the_same_random_numbers(change, engine):
    """Their last digits differ from machine to machine; the samples may not."""
    here, there = run(engine=engine), run(engine=engine, **change)
    one, two = here.trials.columns(), there.trials.columns()
    names = ["query_overlap", "orthogonal_overlap", "noise_overlap", "bias"]
    for name in [*names, "test_error", "training_loss"]:
        # Changes of 1e-16 grow by the condition of a fit at ridge 0.01, about 1e3 at most, and
        # by what is left of the fit's own tolerance of 1e-8.
        assert one[name] == pytest.approx(two[name], abs=1e-6), name


@pytest.mark.parametrize("engine", ["reduced", "tensors"])
@pytest.mark.parametrize("model", ["attention", "pooled", "elementwise", "hard_attention"])
def test_the_training_does_not_depend_on_the_test(model, engine):
    shifted = SparseTokenProblem(9, 2, 2.5, 0.3)
    here, there = (run(model, engine=engine, test_problem=p) for p in (None, shifted))
    for one, two in zip(here.trials, there.trials, strict=True):
        assert one.overlaps == two.overlaps
        assert one.training_loss == two.training_loss
        assert one.test_error != two.test_error
    assert run(model, engine=engine, test_problem=PROBLEM) == here


@pytest.mark.parametrize("change", [{"seed": 1}, {"engine": "tensors"}])
def test_seed_and_engine_give_independent_numbers(change):
    assert run(**change).trials[0].training_loss != run().trials[0].training_loss


def test_trials_travel_to_other_processes(monkeypatch):
    monkeypatch.setattr(performance, "DRAWS", 2**16)  # as in the other processes
    away = run(trials=3, workers=2)
    queries = align(PROBLEM, STEPS, dimension=10, trials=2, workers=2)
    assert away == run(trials=3)
    here = align(PROBLEM, STEPS, dimension=10, trials=2)
    np.testing.assert_array_equal(queries.trials.cosine, here.trials.cosine)
    assert queries == here


@pytest.mark.parametrize("engine", ["reduced", "tensors"])
def test_a_given_query_is_kept(engine):
    query = Query(0.3, 1.7)
    found = run(query=query, engine=engine)
    assert found.trials.cosine.tolist() == [query.cosine] * 3
    assert found.trials.sharpness.tolist() == [query.sharpness] * 3
    without = run("pooled", engine=engine).trials
    assert np.isnan([without.cosine, without.sharpness, without.readout_cosine]).all()


def test_one_class_is_reported():
    problem = SparseTokenProblem(4, 1, 3.0, 0.01)
    found = run(problem=problem, alpha1=0.1)
    assert found.status.code is StatusCode.NO_LIMIT
    assert "one class" in found.status.remedy
    assert np.isfinite(found.mean.training_loss)


def test_a_fit_that_does_not_converge_is_reported(monkeypatch):
    def stopped(*given):
        return fit_readout(*given)._replace(reason="it stopped")

    monkeypatch.setattr(trials, "fit_readout", stopped)
    found = run()
    assert found.status.code is StatusCode.TOLERANCE_NOT_REACHED
    assert "it stopped" in found.status.remedy


@pytest.mark.parametrize("engine", ["reduced", "tensors"])
def test_training_sets_are_numbered(engine):
    def draw(trial, seed=0):
        options = {"engine": engine, "seed": seed, "trial": trial}
        return draw_training_set(PROBLEM, Pooled(), 2.0, dimension=10, **options)

    sets = [draw(0), draw(1), draw(2), draw(0, seed=1), draw(1, seed=1)]
    assert len({features.tobytes() for features, _ in sets}) == 5
    for one, two in zip(draw(1), sets[1], strict=True):
        np.testing.assert_array_equal(one, two)


EXP = {"model": "elementwise", "activation": "exp"}


@pytest.mark.parametrize("engine", ["reduced", "tensors"])
def test_exponential_weights_of_a_trained_query_are_refused(engine):
    steps = dataclasses.replace(STEPS, eta_q=1e5)
    with pytest.raises(InvalidInput, match="sharpness"):
        run(query=steps, engine=engine, **EXP)
    for options in ({"model": "elementwise"}, {"model": "attention", "activation": "exp"}):
        assert np.isfinite(run(query=steps, engine=engine, **options).mean.test_error)


@pytest.mark.parametrize("dimension", [1, 2])
@pytest.mark.parametrize("model", MODELS)
def test_tensors_reach_the_smallest_dimensions(model, dimension):
    found = run(model, engine="tensors", dimension=dimension, alpha1=20.0)
    assert 0 <= found.mean.test_error <= 1
