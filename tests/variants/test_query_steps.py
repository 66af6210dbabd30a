"""Gradient steps on the query beyond the first."""

import itertools

import numpy as np
import pytest

from sparsetoken.attention import pool, softmax_weights
from sparsetoken.problem import SparseTokenProblem
from sparsetoken.simulation.seeds import Stream
from sparsetoken.stages import Readout, TwoSteps
from sparsetoken.validation import InvalidInput
from sparsetoken.variants.attention import (
    Samples,
    fitted,
    query_path,
    reached,
    start,
    steps_trial,
)

PROBLEM = SparseTokenProblem(length=4, informative=1, strength=4.0, positive_rate=0.4)
STEPS = TwoSteps(alpha0=2.0, eta_q=6.0)
READOUT = Readout(ridge=1e-12, alpha1=3.0)
D = 10


def _samples():
    return Samples.drawn(start(PROBLEM, D, 0, 0), Stream.D0, 2.0)


def _mean_loss(samples, w, b, q):
    pooled = pool(samples.X, softmax_weights(STEPS.beta * (samples.X @ q)))
    return float(np.mean(STEPS.loss.value(samples.y, pooled @ w + b)))


def test_each_step_goes_down_the_slope_of_the_mean_loss():
    samples, h = _samples(), 1e-6
    path = query_path(samples, STEPS, 4)
    for at, later in itertools.pairwise(path):
        slope = [
            (_mean_loss(samples, at.w, at.b, at.q + e) - _mean_loss(samples, at.w, at.b, at.q - e))
            / (2 * h)
            for e in h * np.eye(D)
        ]
        # Central differences: rounding of the loss leaves 1e-9, times eta_q.
        np.testing.assert_allclose(later.q, at.q - 6.0 * np.array(slope), atol=1e-7)
        np.testing.assert_array_equal(later.w, at.w)
        assert later.b == at.b


def test_a_trial_refits_the_readout_after_each_step():
    found = steps_trial(PROBLEM, STEPS, READOUT, last_step=4, held_sharpness=0.7, dimension=D)
    assert [one.step for one in found] == [2, 3, 4]
    engine = start(PROBLEM, D, 0, 0)
    D1 = Samples.drawn(engine, Stream.D1, 3.0)
    for one, at in zip(found, query_path(_samples(), STEPS, 4), strict=True):
        assert one.free == reached(engine, fitted(D1, at.q, READOUT, 1.0), 1.0)
        assert one.held.sharpness == pytest.approx(0.7)
        assert one.held.cosine == pytest.approx(one.free.cosine)


def test_a_query_that_does_not_move_stays_pooled():
    still, readout = TwoSteps(alpha0=2.0, eta_q=0.0), Readout(ridge=1e-2, alpha1=3.0)
    for one in steps_trial(PROBLEM, still, readout, last_step=3, dimension=D):
        assert one.free == one.held
        assert (one.free.cosine, one.free.sharpness) == (0, 0)


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("alpha1", {"readout": Readout(alpha1=np.inf)}),
        ("last_step", {"last_step": 1}),
        ("held_sharpness", {"held_sharpness": -1.0}),
        ("dimension", {"dimension": 1}),
    ],
)
def test_bad_input_is_refused(name, change):
    given = {"readout": READOUT, "dimension": D, **change}
    with pytest.raises(InvalidInput, match=name):
        steps_trial(PROBLEM, STEPS, **given)
