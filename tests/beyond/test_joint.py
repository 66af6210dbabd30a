"""Joint gradient descent on all weights."""

import numpy as np
import pytest

from sparsetoken.beyond.classifier import (
    Classifier,
    draw,
    fitted,
    objective,
    reached,
    start,
    two_steps,
)
from sparsetoken.beyond.joint import STARTS, descend, joint_trial
from sparsetoken.problem import SparseTokenProblem
from sparsetoken.simulation.seeds import Stream
from sparsetoken.stages import Readout, TwoSteps
from sparsetoken.validation import InvalidInput

PROBLEM = SparseTokenProblem(length=4, informative=1, strength=4.0, positive_rate=0.4)
STEPS = TwoSteps(alpha=2.0, eta_q=6.0)
READOUT = Readout(ridge=0.1, alpha=3.0)
D = 10


def _trial(**change):
    given = {"begin": STARTS[0], "checkpoints": (0, 5), "dimension": D, **change}
    return joint_trial(PROBLEM, STEPS, given.pop("readout", READOUT), **given)


def test_with_one_token_the_descent_ends_at_the_convex_fit():
    # Softmax of one token is 1: q has no gradient, and (w, b) solve stage 4.
    problem = SparseTokenProblem(length=1, informative=1, strength=2.0, positive_rate=0.5)
    samples = draw(start(problem, D, 0, 0), Stream.D1, 40)
    begin = Classifier(np.zeros(D), 0.0, np.ones(D))
    end = descend(samples, begin, READOUT, 1.0, count=3000, rate=0.2)
    best = fitted(samples, begin.q, READOUT, 1.0)
    # The slowest mode contracts by 1 - 0.2 * (ridge = 0.1) a step: e^-60 after 3000.
    np.testing.assert_allclose(end.w, best.w, atol=1e-6)
    assert end.b == pytest.approx(best.b, abs=1e-6)
    np.testing.assert_array_equal(end.q, begin.q)


@pytest.mark.parametrize("begin", STARTS)
def test_small_steps_lower_the_objective(begin):
    states = _trial(begin=begin, checkpoints=(0, 20, 100, 400), rate=0.05)
    values = [state.objective for state in states]
    assert values == sorted(values, reverse=True)
    assert [state.steps for state in states] == [0, 20, 100, 400]
    assert states[-1].gradient_norm < states[0].gradient_norm


def test_the_second_start_is_the_two_step_solution():
    engine = start(PROBLEM, D, 0, 0)
    D0, D1 = draw(engine, Stream.D0, 2 * D), draw(engine, Stream.D1, 3 * D)
    found = _trial(begin=STARTS[1], checkpoints=(0,))[0].reached
    q = two_steps(D0, STEPS).q
    assert found == reached(engine, fitted(D1, q, READOUT, 1.0), 1.0)


def test_the_first_start_is_small_and_knows_nothing():
    (state,) = _trial(readout=Readout(alpha=1.0), checkpoints=(0,), dimension=400)
    # |q| is 0.1 (1 +- 1/sqrt(2 d)); the cosine of a random vector is below 4 / sqrt(d).
    assert state.reached.sharpness == pytest.approx(0.1, abs=0.02)
    assert abs(state.reached.cosine) < 0.2


def test_the_gradient_norm_is_the_slope_along_the_descent():
    samples = draw(start(PROBLEM, D, 0, 0), Stream.D1, 40)
    w, q = np.random.default_rng(1).standard_normal((2, D))
    at, rate = Classifier(w, 0.2, q), 1e-7
    after = descend(samples, at, READOUT, 1.0, count=1, rate=rate)
    moved = np.concatenate([after.w - at.w, [after.b - at.b], after.q - at.q])
    before, below = (objective(samples, c, READOUT, 1.0) for c in (at, after))
    fall = before - below
    # First order: the fall of the objective is |moved|^2 / rate, but for O(rate).
    assert fall == pytest.approx(moved @ moved / rate, rel=1e-4)


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("alpha1", {"readout": Readout(alpha=np.inf)}),
        ("begin", {"begin": "large"}),
        ("checkpoints", {"checkpoints": (5, 4)}),
        ("checkpoints", {"checkpoints": (-1,)}),
        ("rate", {"rate": 0.0}),
        ("dimension", {"dimension": 1}),
    ],
)
def test_bad_input_is_refused(name, change):
    with pytest.raises(InvalidInput, match=name):
        _trial(**change)
