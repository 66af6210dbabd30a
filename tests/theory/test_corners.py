"""Readouts where an equation degenerates, each against what its limit must be."""

import math

import numpy as np
import pytest
from scipy.special import ndtr

import sparsetoken as st
from sparsetoken.theory import predict_readouts

LOSSES = ["square", "logistic", "hinge", "squared_hinge"]
PROBLEM = st.SparseTokenProblem(6, 2, 3.0, 0.4)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("model", "loss"),
    [
        *((st.Attention, loss) for loss in LOSSES),
        *((st.Elementwise, loss) for loss in LOSSES if loss != "hinge"),
        pytest.param(
            *(st.Elementwise, "hinge"),
            marks=pytest.mark.xfail(
                strict=True,
                raises=AssertionError,
                reason="at s = 1 the hinge loss stops where the objective is 2e-5 too high",
            ),
        ),
    ],
)
def test_a_query_near_the_signal_at_infinite_data(model, loss):
    """No noise is left in the way at s = 1; w_2 vanishes as the root of 1 - s."""
    readouts = [st.Readout(loss, 0.05, math.inf)]

    def at(s):
        return predict_readouts(PROBLEM, model(st.Query(s, 1.5)), readouts, nodes=64)[0]

    there = at(1.0)
    assert there.converged
    assert there.overlaps.orthogonal == there.overlaps.noise == 0
    for apart in (1e-12, 1e-8):
        found = at(1 - apart)
        assert found.converged
        # to first order in 1 - s, of numbers of order 1
        assert found.training_loss == pytest.approx(there.training_loss, abs=1e-9 + 10 * apart)
        assert found.overlaps.query == pytest.approx(there.overlaps.query, abs=1e-7 + 100 * apart)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("alpha", [2.0, math.inf])
def test_hard_attention_without_a_signal(loss, alpha):
    """The readout has nothing to learn: the test error is that of the bias, or worse."""
    problem = st.SparseTokenProblem(6, 2, 0.0, 0.4)
    model = st.model.HardAttention(st.Query(0.7, 1.0))
    found = st.predict(problem, model, st.Readout(loss, 0.05, alpha))
    assert found.converged
    assert found.overlaps.orthogonal == 0
    if math.isinf(alpha):
        assert found.test_error == pytest.approx(0.4, abs=1e-12)
        assert found.overlaps.query == pytest.approx(0.0, abs=1e-6)  # rounding of the nodes
    else:
        assert found.test_error >= 0.4


@pytest.mark.parametrize(
    ("activation", "length", "sharpness"), [("sigmoid", 6, 7.0), ("linear", 2, 1.0)]
)
def test_weights_that_nearly_vanish(activation, length, sharpness):
    """Some bags have features near 0; more nodes agree within the stated errors."""
    problem = st.SparseTokenProblem(length, 1, 3.0, 0.4)
    model = st.Elementwise(st.Query(0.8, sharpness), activation)
    readouts = [st.Readout(loss, 1e-2, 2.0) for loss in ("square", "hinge")]
    few, many = (predict_readouts(problem, model, readouts, nodes=nodes) for nodes in (256, 2048))
    for one, other in zip(few, many, strict=True):
        error = math.hypot(one.numerical_error, other.numerical_error)
        assert one.test_error == pytest.approx(other.test_error, abs=4 * error)
        assert 0 < error < 5e-3


@pytest.mark.parametrize("alpha", [0.5, 3.0])
def test_pooled_least_squares_at_ridge_0(alpha):
    """In closed form on both sides of the threshold, for fair labels.

    The mean token is Gaussian given y: with nu^2 of the noise, the error is Phi(-h w/|w|).
    """
    problem = st.SparseTokenProblem(4, 2, 3.0, 0.5)
    found = st.predict(problem, st.Pooled(), st.Readout("square", 0.0, alpha))
    small = st.predict(problem, st.Pooled(), st.Readout("square", 1e-7, alpha))
    assert found.converged
    assert found.test_error == pytest.approx(small.test_error, abs=1e-6)
    w = found.overlaps
    half = 0.5 * 3.0 * 2 / 4  # of the distance of the means
    assert w.query == 0
    assert w.bias == pytest.approx(-half * w.orthogonal, rel=1e-9)
    ratio = half * w.orthogonal / (math.hypot(w.orthogonal, w.noise) / math.sqrt(4))
    assert found.test_error == pytest.approx(ndtr(-ratio), rel=1e-9)
    if alpha > 1:  # least squares: the residual is spread over alpha - 1
        risk = (1 - half * w.orthogonal) ** 2 + w.orthogonal**2 / 4
        assert w.noise**2 == pytest.approx(4 * risk / (alpha - 1), rel=1e-6)


@pytest.mark.parametrize("loss", ["square", "hinge"])
def test_a_query_of_length_0_pools(loss):
    signal = np.eye(20)[0]
    problem = st.SparseTokenProblem(
        6, 2, 3.0, 0.4, tokens=st.TokenCovariance((np.arange(20) + 1.0) ** -0.3, signal=signal)
    )
    readout = st.Readout(loss, 0.1, 2.0)
    attention = st.predict(problem, st.Attention(st.TwoSteps(eta_q=0.0)), readout)
    pooled = st.predict(problem, st.Pooled(), readout)
    assert attention.converged
    assert attention.test_error == pytest.approx(pooled.test_error, abs=1e-8)


def test_a_bias_that_no_loss_decides():
    """Scores far below the margin of the hinge loss, with balanced classes."""
    problem = st.SparseTokenProblem(10, 1, 3.0, 0.5)
    hinge, logistic, weaker = (
        st.predict(problem, st.Pooled(), st.Readout(loss, ridge, 2.0))
        for loss, ridge in (("hinge", 3.0), ("logistic", 3.0), ("hinge", 0.3))
    )
    assert hinge.status == "no_limit"
    assert "bias" in hinge.status.remedy
    assert logistic.converged
    assert weaker.converged
