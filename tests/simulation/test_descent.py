"""Descent on real tokens: the gradients that are defined, and the dynamics that theory predicts."""

import math

import numpy as np
import pytest

from attention_descent import alternating, attention_descent, quantities
from sparsetoken.base.validation import InvalidInput
from sparsetoken.model.architectures.weights import elementwise_weights, softmax_weights
from sparsetoken.model.models import Attention
from sparsetoken.model.problem import SparseTokenProblem
from sparsetoken.model.stages import Readout, TwoSteps
from sparsetoken.model.training import training_of
from sparsetoken.results import NetworkPath, Simulation, StatusCode
from sparsetoken.simulation import descend as simulated_descent
from sparsetoken.simulation import simulate, tensors
from sparsetoken.simulation.descent import followed
from sparsetoken.simulation.seeds import Stream
from sparsetoken.simulation.setting import Setting
from sparsetoken.simulation.tensors import TensorEngine
from sparsetoken.theory import descend

PROBLEM = SparseTokenProblem(3, 1, 2.0, 0.4)
START = {"start_w": 0.5, "start_q": 0.8}


def descended(engine, descent):
    training = training_of(PROBLEM, descent)
    return followed(engine.descent_data(training), training)


KINDS = ["softmax", "erf", "sigmoid", "tanh", "linear", "exp"]


@pytest.mark.parametrize(
    ("kind", "loss"),
    [
        *((kind, "logistic") for kind in KINDS),
        ("softmax", "square"),
        ("softmax", "squared_hinge"),
        *(
            pytest.param(kind, loss, marks=pytest.mark.slow)
            for kind in KINDS[1:]
            for loss in ("square", "squared_hinge")
        ),
    ],
)
def test_a_step_is_minus_the_gradient_of_the_risk(kind, loss):
    """By finite differences of the risk itself."""
    activation = "" if kind == "softmax" else kind
    descent = attention_descent(
        4.0, 1, 0.7, 2.0, 0.3, beta=1.5, activation=activation, loss=loss, **START
    )
    engine = TensorEngine(PROBLEM, 5, seed=3)
    tokens, labels = zip(*engine.chunks(Stream.D0, 20), strict=True)
    X, y = np.concatenate(tokens), np.concatenate(labels)

    def risk(at):
        w, q, b = at[:5], at[5:10], at[10]
        scores = 1.5 * X @ q
        weights = (
            softmax_weights(scores) if kind == "softmax" else elementwise_weights(scores, kind)
        )
        return np.mean(descent.loss.value(y, (weights * (X @ w)).sum(axis=1) + b))

    before, after = descended(engine, descent)
    (q0, w0), (q1, w1) = before.U.T, after.U.T
    at = np.array([*w0, *q0, before.c[0]])
    h = 1e-5 * np.eye(11)
    gradient = np.array([(risk(at + e) - risk(at - e)) / 2e-5 for e in h])
    step = np.array([*(w1 - w0), *(q1 - q0), after.c[0] - before.c[0]])
    sizes = np.repeat([0.7, 2.0, 0.3], [5, 5, 1])
    np.testing.assert_allclose(step, -sizes * gradient, atol=1e-7)
    assert before.loss == pytest.approx(risk(at))


def test_the_start_is_as_asked():
    descent = attention_descent(2.0, 1, **START)
    engine = TensorEngine(PROBLEM, 7, seed=1)
    q, w = next(descended(engine, descent)).U.T
    lengths = np.linalg.norm(w), np.linalg.norm(q), w @ q
    np.testing.assert_allclose(lengths, (0.5, 0.8, 0.0), atol=1e-12)
    np.testing.assert_allclose([w @ engine.signal, q @ engine.signal], 0, atol=1e-12)


def test_two_alternating_steps_are_those_of_the_stages():
    steps = TwoSteps(3.0, 0.5, 0.4, 6.0, 1.3)
    descent = alternating(3.0, 2, 0.5, 6.0, 0.4, beta=1.3)
    engine = TensorEngine(PROBLEM, 30, seed=5)
    expected = engine.train_query(steps)
    *_, last = descended(engine, descent)
    q, w = last.U.T
    found = engine.frame.trained(q, 1.3, w)
    assert found.query.cosine == pytest.approx(expected.query.cosine)
    assert found.query.sharpness == pytest.approx(expected.query.sharpness)


def test_tokens_that_are_not_kept_are_drawn_again(monkeypatch):
    descent, passes, chunks = attention_descent(3.0, 3, **START), [], TensorEngine.chunks

    def counted(self, *given):
        passes.append(tensors.LARGEST_BYTES)
        return chunks(self, *given)

    def last(most):
        monkeypatch.setattr(tensors, "LARGEST_BYTES", most)
        return list(descended(Setting(20, 2, "tensors").start(PROBLEM, 0), descent))[-1]

    monkeypatch.setattr(TensorEngine, "chunks", counted)
    monkeypatch.setattr("sparsetoken.simulation.sizes.CHUNK_BYTES", 1000)
    np.testing.assert_array_equal(last(2**30).U, last(1).U)
    assert passes.count(2**30) == 1
    assert passes.count(1) > 3


@pytest.mark.parametrize(
    ("problem", "descent"),
    [
        pytest.param(
            SparseTokenProblem(4, 2, 2.5, 0.4),
            attention_descent(2.0, 6, start_w=0.3, start_q=0.5),
            marks=pytest.mark.slow,
        ),
        pytest.param(
            SparseTokenProblem(5, 1, 3.0, 0.4),
            attention_descent(3.0, 5, **START),
            marks=pytest.mark.slow,
        ),
        (
            SparseTokenProblem(4, 2, 2.0, 0.5),
            attention_descent(
                1.5, 6, 0.7, 3.0, 0.3, beta=1.2, momentum=0.4, decay_w=0.1, batches=2,
                loss="square",
            ),
        ),
        pytest.param(
            SparseTokenProblem(3, 1, 3.0, 0.3),
            attention_descent(2.0, 5, 1.0, 3.0, 0.5, start_q=0.5, activation="sigmoid"),
            marks=pytest.mark.slow,
        ),
    ],
)  # fmt: skip
def test_theory_predicts_what_is_simulated(problem, descent):
    """Within 4 standard errors of both and the finite-size correction, of order 1/d."""
    d = 250
    found = simulated_descent(problem, descent, dimension=d, trials=10, seed=4)
    expected = descend(problem, descent, replicas=8)
    assert found.status.converged
    own = quantities(found.standard_error), quantities(expected.errors)
    for name, value in quantities(found.mean).items():
        limit, error = quantities(expected)[name], np.hypot(*(errors[name] for errors in own))
        assert (np.abs(value - limit) <= 4 * error + 2 / d * (1 + np.abs(limit))).all(), name


def test_stage_four_after_a_descent():
    descent = alternating(2.0, 2, 0.5, 25.0, 0.5)
    trajectory = simulated_descent(PROBLEM, descent, dimension=60, trials=2)
    weights = trajectory.trials.weights
    found = simulate(PROBLEM, Attention(weights.query(1.0)), Readout(), dimension=60, trials=1)
    np.testing.assert_array_equal(found.mean.cosine, weights.cosines[:, -1, 0, 0])
    np.testing.assert_array_equal(found.mean.sharpness, weights.norms[:, -1, 0])
    assert isinstance(trajectory, Simulation)
    assert isinstance(trajectory.trials, NetworkPath)
    assert len(trajectory.to_frame()) == 3
    assert trajectory.plot("cosine_q") is not None


@pytest.mark.slow  # `test_work` has a descent in workers, too
def test_trials_do_not_depend_on_the_workers():
    descent = attention_descent(2.0, 2, **START)
    one = simulated_descent(PROBLEM, descent, dimension=30, trials=3)
    other = simulated_descent(PROBLEM, descent, dimension=30, trials=3, workers=2)
    assert one.to_dict() == other.to_dict()


def test_trials_do_not_depend_on_their_number():
    descent = attention_descent(2.0, 2, **START)
    one = simulated_descent(PROBLEM, descent, dimension=30, trials=3)
    single = simulated_descent(PROBLEM, descent, dimension=30, trials=1)
    assert math.isnan(single.standard_error.weights.c[-1, 0])
    cosines = one.trials[0].weights.cosines
    np.testing.assert_array_equal(single.mean.weights.cosines, cosines)
    np.testing.assert_array_equal(one.trials.isel(trial=0).weights.cosines, cosines)


def test_divergence_is_said():
    wild = attention_descent(1.0, 9, 300.0, 300.0, 300.0, loss="square")
    found = simulated_descent(PROBLEM, wild, dimension=30, trials=2)
    assert found.status.code is StatusCode.NO_LIMIT
    known = int(np.isfinite(found.mean.test_error).sum())
    first = int(np.isfinite(found.trials[0].test_error).sum())
    assert f"2 of 2 trials, first 0: it diverges at step {first}" in found.status.remedy
    assert 1 <= known < len(found.mean) == 10
    assert np.isnan(found.mean.test_error[known:]).all()


def test_test_errors_may_be_asked_at_some_steps_only():
    descent = attention_descent(alpha=2.0, steps=3)
    every, some = (
        simulated_descent(PROBLEM, descent, dimension=20, trials=1, at=at).mean
        for at in (None, (1, 3))
    )
    assert some.test_error[[1, 3]].tolist() == every.test_error[[1, 3]].tolist()
    assert np.isnan(some.test_error[[0, 2]]).all()
    assert some.best_step in (1, 3)
    assert some.weights.cosines.tolist() == every.weights.cosines.tolist()
    with pytest.raises(InvalidInput, match="step in at"):
        simulated_descent(PROBLEM, descent, dimension=20, trials=1, at=(4,))
