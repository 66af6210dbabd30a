"""Gradient, stages and test error of an attention classifier with real tokens."""

import dataclasses
import math

import numpy as np
import pytest

from sparsetoken.models import Pooled
from sparsetoken.problem import SparseTokenProblem
from sparsetoken.simulation.features import sampler_of
from sparsetoken.simulation.performance import expected_performance, measured_performance
from sparsetoken.simulation.seeds import Stream
from sparsetoken.stages import Readout, TwoSteps
from sparsetoken.validation import InvalidInput
from sparsetoken.variants.attention import (
    Classifier,
    cosine,
    draw,
    fitted,
    gradient,
    objective,
    reached,
    start,
    trial_data,
    two_steps,
    union,
)

PROBLEM = SparseTokenProblem(length=4, informative=2, strength=3.0, positive_rate=0.3)
STEPS = TwoSteps(alpha0=2.0, eta_q=8.0, beta=1.5)
READOUT = Readout(ridge=0.05)
D = 12


def _engine(problem=PROBLEM, trial=0, dimension=D):
    return start(problem, dimension, 3, trial)


def _classifier(seed, d=D, bias=0.3):
    w, q = np.random.default_rng(seed).standard_normal((2, d))
    return Classifier(w, bias, q)


@pytest.mark.parametrize("loss", ["logistic", "square"])
def test_the_gradient_is_that_of_the_mean_loss(loss):
    readout, beta = Readout(loss, ridge=1e-12), 1.5
    samples, at = draw(_engine(), Stream.D0, 30), _classifier(1)
    found, step = gradient(samples, at, readout.loss, beta), 1e-6

    def slope(w, b, q):
        up, down = (
            objective(
                samples,
                Classifier(at.w + t * w, at.b + t * b, at.q + t * q),
                readout,
                beta,
            )
            for t in (step, -step)
        )
        return (up - down) / (2 * step)

    # Central differences at 1e-6: rounding of the objective leaves 1e-9.
    zero, axes = np.zeros(D), np.eye(D)
    assert slope(zero, 1.0, zero) == pytest.approx(found.b, abs=1e-8)
    np.testing.assert_allclose([slope(e, 0.0, zero) for e in axes], found.w, atol=1e-8)
    np.testing.assert_allclose([slope(zero, 0.0, e) for e in axes], found.q, atol=1e-8)


@pytest.mark.parametrize("trial", [0, 1])
def test_two_steps_are_those_of_the_tensor_engine(trial):
    engine = _engine(trial=trial)
    other = engine.train_query(STEPS)
    found = two_steps(draw(engine, Stream.D0, 2 * D), STEPS)
    # Two orders of summation of the same gradient.
    np.testing.assert_allclose(found.q, other.norm * other.direction, rtol=0, atol=1e-12)
    assert cosine(found.w, engine.signal) == pytest.approx(other.readout_cosine, abs=1e-12)


def test_no_other_readout_is_better_than_the_fitted_one():
    samples = union(draw(_engine(), Stream.D0, 20), draw(_engine(), Stream.D1, 20))
    best = fitted(samples, _classifier(2).q, READOUT, STEPS.beta)
    low = objective(samples, best, READOUT, STEPS.beta)
    for seed in range(5):
        w, b = 1e-3 * np.random.default_rng(seed).standard_normal(D), 1e-3 * (seed - 2)
        other = best._replace(w=best.w + w, b=best.b + b)
        assert objective(samples, other, READOUT, STEPS.beta) > low


@pytest.mark.parametrize("seed", [1, 2])
def test_the_test_error_is_that_counted_on_fresh_samples(seed):
    engine, at = _engine(), _classifier(seed)
    X, y = draw(engine, Stream.FRESH, 40_000)
    a = np.exp(STEPS.beta * X @ at.q)
    scores = np.einsum("nl,nld,d->n", a / a.sum(axis=1, keepdims=True), X, at.w) + at.b
    counted = measured_performance(scores, y).test_error
    # 40000 samples: the standard error of a share is at most 0.0025.
    assert reached(engine, at, STEPS.beta).test_error == pytest.approx(counted, abs=0.01)


def test_without_a_query_it_is_the_pooled_classifier():
    engine, at = _engine(), _classifier(4)._replace(q=np.zeros(D))
    sampler = sampler_of(Pooled())
    split = sampler.split(engine.frame, None, at.w)
    scores = sampler.scores(PROBLEM, None, split, at.b, np.random.default_rng(0))
    pooled = expected_performance(PROBLEM, scores)
    found = reached(engine, at, 1.0)
    assert (found.cosine, found.sharpness) == (0, 0)
    # 65536 draws: the standard error of a chance is at most 0.002.
    assert found.test_error == pytest.approx(pooled.test_error, abs=0.006)


def test_a_query_along_the_signal_has_cosine_one():
    engine = _engine()
    xi = engine.signal
    at = Classifier(xi, 0.0, -2 * xi)
    found = reached(engine, at, 1.5)
    assert (found.cosine, found.sharpness) == pytest.approx((-1, 3))


def test_the_random_numbers_depend_on_seed_and_trial_alone():
    other = dataclasses.replace(PROBLEM, strength=3.5)
    assert start(other, D + 1, 3, 0).seed == _engine().seed
    assert start(PROBLEM, D, 3, 1).seed != _engine().seed
    assert start(PROBLEM, D, 4, 0).seed != _engine().seed


def test_the_training_sets_are_those_of_the_engine():
    found = trial_data(PROBLEM, STEPS, Readout(alpha1=3.0), dimension=D, seed=3, trial=1)
    engine = _engine(trial=1)
    assert found.engine == engine
    for samples, source, n in ((found.D0, Stream.D0, 2 * D), (found.D1, Stream.D1, 3 * D)):
        for one, two in zip(samples, draw(engine, source, n), strict=True):
            np.testing.assert_array_equal(one, two)


@pytest.mark.parametrize(
    ("steps", "readout", "word"),
    [
        (TwoSteps(alpha0=[1.0, 2.0]), READOUT, "alpha0"),
        (STEPS, Readout(ridge=[0.1, 0.2]), "ridge"),
        (STEPS, Readout(alpha1=math.inf), "alpha1"),
    ],
)
def test_a_trial_has_one_finite_setting(steps, readout, word):
    with pytest.raises(InvalidInput, match=word):
        trial_data(PROBLEM, steps, readout, dimension=D, seed=0, trial=0)


@pytest.mark.parametrize("bad", [(1, 0, 0), (D, -1, 0), (D, 0, -1)])
def test_bad_coordinates_are_refused(bad):
    with pytest.raises(InvalidInput, match="must be an integer >="):
        start(PROBLEM, *bad)
