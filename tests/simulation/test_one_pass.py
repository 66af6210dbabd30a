"""One pass with real tokens: each step is minus the gradient of one bag's loss."""

import numpy as np

import sparsetoken as st
from sparsetoken.model.training import training_of
from sparsetoken.simulation.descent import passed
from sparsetoken.simulation.seeds import Stream
from sparsetoken.simulation.setting import Setting

PROBLEM = st.SparseTokenProblem(3, 1, 3.0)
RATE, RATE_C, DECAY = 0.7, 0.3, 0.4


def test_steps_of_a_pooled_network():
    """Of the logistic loss of (mean token) w + b, written out."""
    one_pass = st.OnePass(
        st.networks.Pooled(), times=[0, 0.5, 1.25], rates=RATE, rate_c=RATE_C, decay=DECAY
    )
    training = training_of(PROBLEM, one_pass)
    engine = Setting(20, 0, "tensors").start(PROBLEM, 0, "descent")
    data = engine.descent_data(training)
    states = list(passed(data, training))
    assert len(states) == 3
    ((X, y),) = engine.chunks(Stream.D0, 25)
    w, b = states[0].U[:, 0], 0.0
    for count, (bag, label) in enumerate(zip(X, y, strict=True), 1):
        mean = bag.mean(axis=0)
        slope = -label / (1 + np.exp(label * (mean @ w + b)))
        w, b = w - RATE / 20 * (slope * mean + DECAY * w), b - RATE_C / 20 * slope
        if count == 10:
            np.testing.assert_allclose(states[1].U[:, 0], w, atol=1e-12)
    np.testing.assert_allclose(states[2].U[:, 0], w, atol=1e-12)
    np.testing.assert_allclose(states[2].c, [b], atol=1e-12)


def test_chunks_are_one_pass(monkeypatch):
    """Cut into chunks or not, the same bags give the same weights."""
    training = training_of(PROBLEM, st.OnePass(times=[0, 0.3, 1, 2.5]))
    data = Setting(20, 0, "tensors").start(PROBLEM, 0, "descent").descent_data(training)
    ((X, y),) = data.chunks()
    whole = list(passed(data, training))
    object.__setattr__(
        data, "chunks", lambda: iter([(X[i : i + 7], y[i : i + 7]) for i in range(0, 50, 7)])
    )
    cut = list(passed(data, training))
    assert len(cut) == len(whole) == 4
    for one, other in zip(cut, whole, strict=True):
        np.testing.assert_allclose(one.U, other.U, atol=1e-12)


def test_the_loss_is_that_of_new_bags():
    """At the start, where weights are 0, the logistic loss is log 2, and half of bags are wrong."""
    found = st.simulation.descend(
        PROBLEM, st.OnePass(times=[0, 1], start=0.0), dimension=30, trials=2
    )
    np.testing.assert_allclose(found.trials.training_loss[:, 0], np.log(2))
    assert (found.trials.training_loss[:, 1] < np.log(2)).all()
    np.testing.assert_allclose(found.trials.test_error[:, 0], 0.5)
    some = st.simulation.descend(PROBLEM, st.OnePass(times=[0, 1]), dimension=30, trials=2, at=[1])
    assert np.isnan(some.trials.test_error[:, 0]).all()
    assert np.isfinite(some.trials.test_error[:, 1]).all()
