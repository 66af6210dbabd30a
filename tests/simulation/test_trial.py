"""Trials: seeds, executors, statuses, refusals."""

import dataclasses
import math
import multiprocessing
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

import numpy as np
import pytest

from sparsetoken.problem import SparseTokenProblem
from sparsetoken.results import MODELS, Code
from sparsetoken.simulation import (
    budget,
    conditional,
    draw_training_set,
    simulate,
    simulate_alignment,
)
from sparsetoken.training import FourStageTraining, Query
from sparsetoken.validation import InvalidInput

PROBLEM = SparseTokenProblem(4, 1, 3.0, 0.5)
TRAINING = FourStageTraining(alpha0=1.0, eta_q=20.0)


@pytest.fixture(autouse=True)
def _few_draws(monkeypatch):
    monkeypatch.setattr(conditional, "DRAWS", 500)


def run(model="attention", alpha1=1.0, problem=PROBLEM, training=TRAINING, **options):
    options = {"dimension": 20, "trials": 3, **options}
    return simulate(model, problem, training, alpha1, **options)


@pytest.mark.parametrize("engine", ["reduced", "tensors"])
@pytest.mark.parametrize("model", MODELS)
def test_more_trials_change_none(model, engine):
    few, many = (run(model, engine=engine, trials=n) for n in (2, 4))
    assert many.trials[:2] == few.trials
    assert many.queries[:2] == few.queries
    assert len({t.test_error for t in many.trials}) == 4


@pytest.mark.parametrize(
    "change",
    [
        {"alpha1": 1.05},
        {"seed": 1},
        {"dimension": 21},
        {"problem": SparseTokenProblem(4, 1, 3.0 + 1e-9, 0.5)},
        {"training": dataclasses.replace(TRAINING, ridge=0.011)},
        {"query": Query(0.5, 1.0)},
    ],
)
def test_every_coordinate_changes_the_seed(change):
    assert run(**change).trials[0].training_loss != run().trials[0].training_loss


def test_what_a_model_does_not_use_changes_nothing():
    assert run("pooled", query=Query(0.5, 1.0), activation="relu") == run("pooled")


def test_executors_and_their_order_change_nothing():
    serial, seen = run(trials=5), []
    with ThreadPoolExecutor(2) as pool:
        threaded = run(
            trials=5, executor=pool, on_trial=lambda i, outcome: seen.append((i, outcome))
        )
    assert threaded == serial
    assert dict(seen) == dict(enumerate(serial.trials))


def test_trials_travel_to_other_processes(monkeypatch):
    monkeypatch.setattr(conditional, "DRAWS", 2**16)  # as in the other process
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=context) as pool:
        away = run(trials=2, executor=pool)
        queries = simulate_alignment(PROBLEM, TRAINING, dimension=10, trials=2, executor=pool)
    assert away == run(trials=2)
    here = simulate_alignment(PROBLEM, TRAINING, dimension=10, trials=2)
    np.testing.assert_array_equal(queries.cosine, here.cosine)


def test_progress_is_called_for_each_trial():
    seen = []
    found = run(on_trial=lambda i, outcome: seen.append((i, outcome)))
    assert seen == list(enumerate(found.trials))
    simulate_alignment(
        PROBLEM, TRAINING, dimension=10, trials=2, on_trial=lambda i, c: seen.append(i)
    )
    assert seen[-2:] == [0, 1]


def test_mean_and_standard_error_are_those_of_the_trials():
    found = run(trials=4)
    noise = [t.overlaps.noise for t in found.trials]
    assert found.mean.overlaps.noise == pytest.approx(np.mean(noise))
    expected = np.std(noise, ddof=1) / 2
    assert found.standard_error.overlaps.noise == pytest.approx(expected)
    assert math.isnan(run(trials=1).standard_error.test_error)


@pytest.mark.parametrize("engine", ["reduced", "tensors"])
def test_a_given_query_is_kept(engine):
    query = Query(0.3, 1.7)
    found = run(query=query, engine=engine)
    assert found.queries == (query,) * 3
    assert run("pooled", engine=engine).queries[0] == Query(0.0, 0.0)


def test_float32_tokens_agree_with_float64():
    """Same law, other numbers; means of 20 trials agree within five standard errors."""
    a = run(engine="tensors", trials=20, dtype="float32")
    b = run(engine="tensors", trials=20)
    spread = np.hypot(a.standard_error.test_error, b.standard_error.test_error)
    assert abs(a.mean.test_error - b.mean.test_error) < 5 * spread


def test_one_class_is_reported():
    problem = SparseTokenProblem(4, 1, 3.0, 0.01)
    found = run(problem=problem, alpha1=0.1)
    assert found.status.code is Code.NO_LIMIT
    assert "one class" in found.status.remedy
    assert np.isfinite(found.mean.training_loss)


@pytest.mark.parametrize(
    ("options", "word"),
    [
        ({"model": "transformer"}, "model"),
        ({"alpha1": 0.0}, "alpha1"),
        ({"alpha1": math.nan}, "alpha1"),
        ({"dimension": 0}, "dimension"),
        ({"dimension": 2}, "tensors"),
        ({"dimension": 2.5}, "dimension"),
        ({"trials": 0}, "trials"),
        ({"seed": -1}, "seed"),
        ({"engine": "fast"}, "engine"),
        ({"dtype": "float16"}, "dtype"),
        ({"model": "elementwise", "activation": "gelu"}, "activation"),
        ({"query": 0.9}, "query"),
        ({"test_samples": 100}, "test_samples"),
        ({"test_samples": 0, "engine": "tensors"}, "test_samples"),
        ({"memory_budget": 0}, "memory_budget"),
        ({"dimension": 1, "engine": "tensors", "query": Query(0.5, 1.0)}, "cosine"),
    ],
)
def test_bad_input(options, word):
    with pytest.raises(InvalidInput, match=word):
        run(**options)


def test_training_set_needs_a_query():
    with pytest.raises(InvalidInput, match="query"):
        draw_training_set("attention", PROBLEM, alpha1=1.0, dimension=10)


@pytest.mark.parametrize("engine", ["reduced", "tensors"])
@pytest.mark.parametrize("model", MODELS)
def test_what_does_not_fit_is_refused_with_what_would(model, engine):
    with pytest.raises(InvalidInput, match="dimension <= ") as refusal:
        run(model, engine=engine, dimension=10**6)
    fits = int(str(refusal.value).split("dimension <= ")[1].split(" ")[0])
    assert 1 < fits < 10**6
    size = budget.design_bytes(model, engine, 4, fits, fits)
    assert size <= budget.DEFAULT_BUDGET


def test_too_many_scalars_are_refused():
    with pytest.raises(InvalidInput, match="memory_budget"):
        simulate_alignment(PROBLEM, TRAINING, dimension=10**9)


@pytest.mark.parametrize("dimension", [1, 2])
@pytest.mark.parametrize("model", MODELS)
def test_tensors_reach_the_smallest_dimensions(model, dimension):
    found = run(model, engine="tensors", dimension=dimension, alpha1=20.0)
    assert 0 <= found.mean.test_error <= 1


@pytest.mark.parametrize("engine", ["reduced", "tensors"])
def test_no_step_gives_no_query(engine):
    training = FourStageTraining(eta_q=0.0)
    found = run(training=training, engine=engine)
    assert found.queries == (Query(0.0, 0.0),) * 3
