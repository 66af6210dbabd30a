"""Gradient, stages and test error of an attention classifier with real tokens."""

import dataclasses
import math

import numpy as np
import pytest

from sparsetoken.problem import SparseTokenProblem
from sparsetoken.simulation.performance import measured_performance
from sparsetoken.simulation.seeds import Stream
from sparsetoken.stages import Readout, TwoSteps
from sparsetoken.validation import InvalidInput
from sparsetoken.variants.attention import (
    Classifier,
    Samples,
    query_path,
    reached,
    start,
    trial_data,
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


@pytest.mark.parametrize("trial", [0, 1])
def test_two_steps_are_those_of_the_tensor_engine(trial):
    engine = _engine(trial=trial)
    other = engine.train_query(STEPS)
    (found,) = query_path(Samples.drawn(engine, Stream.D0, 2.0), STEPS)
    # Two orders of summation of the same gradient.
    np.testing.assert_allclose(found.q, other.norm * other.direction, rtol=0, atol=1e-12)
    cosine = found.w @ engine.signal / np.linalg.norm(found.w)
    assert cosine == pytest.approx(other.readout_cosine, abs=1e-12)


@pytest.mark.parametrize("seed", [1, 2])
def test_the_test_error_is_that_counted_on_fresh_samples(seed):
    engine, at = _engine(), _classifier(seed)
    X, y = Samples.drawn(engine, Stream.FRESH, 40_000 / D)
    a = np.exp(STEPS.beta * X @ at.q)
    scores = np.einsum("nl,nld,d->n", a / a.sum(axis=1, keepdims=True), X, at.w) + at.b
    counted = measured_performance(scores, y).test_error
    # 40000 samples: the standard error of a share is at most 0.0025.
    assert reached(engine, at, STEPS.beta).test_error == pytest.approx(counted, abs=0.01)


def test_the_random_numbers_depend_on_seed_and_trial_alone():
    other = dataclasses.replace(PROBLEM, strength=3.5)
    assert start(other, D + 1, 3, 0).seed == _engine().seed
    assert start(PROBLEM, D, 3, 1).seed != _engine().seed
    assert start(PROBLEM, D, 4, 0).seed != _engine().seed


def test_the_training_sets_are_those_of_the_engine():
    found = trial_data(PROBLEM, STEPS, Readout(alpha1=3.0), dimension=D, seed=3, trial=1)
    engine = _engine(trial=1)
    assert found.engine == engine
    for samples, source, alpha in ((found.D0, Stream.D0, 2.0), (found.D1, Stream.D1, 3.0)):
        for one, two in zip(samples, Samples.drawn(engine, source, alpha), strict=True):
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
