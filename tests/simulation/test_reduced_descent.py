"""Descents without tokens: the law of real ones at every dimension, however small."""

import numpy as np
import pytest

import sparsetoken as st
from sparsetoken import simulation
from sparsetoken.simulation.descent import _followed, _Tokens, start
from sparsetoken.simulation.reduced_descent import ReducedData
from sparsetoken.simulation.tensors import TensorEngine
from sparsetoken.validation import InvalidInput

PROBLEM = st.SparseTokenProblem(4, 2, 2.5, 0.4)
BATCHES = st.JointDescent(
    2.0, 4, eta_q=3.0, start_w=0.3, start_q=0.5, start_product=0.05, momentum=0.3, decay_w=0.1,
    batches=2,
)  # fmt: skip
FROM_ZERO = st.JointDescent.alternating(1.5, 5, 1.0, 8.0, 0.5, loss="squared_hinge")


def _course(data, model):
    """Return loss, overlaps, Gram matrix and bias at each state."""
    rows = []
    for w, q, b, loss in _followed(data, model, model.query):
        xi = data.frame(len(w)).signal
        rows.append([loss, w @ xi, q @ xi, w @ w, w @ q, q @ q, b])
    return rows


def _courses(kind, model, dimension, trials):
    descent = model.query
    if kind == "reduced":
        sources = (ReducedData(PROBLEM, dimension, 10**6 + i, descent) for i in range(trials))
    else:
        engines = (TensorEngine(PROBLEM, dimension, i) for i in range(trials))
        sources = (_Tokens(engine, descent.alpha, None) for engine in engines)
    return np.array([_course(source, model) for source in sources])


@pytest.mark.parametrize(
    ("model", "dimension"),
    [
        (st.Attention(BATCHES), 3),  # fewer dimensions than directions
        (st.Attention(BATCHES), 30),
        (st.Attention(FROM_ZERO), 7),
        (st.Elementwise(BATCHES, "erf"), 12),
    ],
)
def test_courses_have_the_law_of_real_tokens(model, dimension):
    trials = 300
    one, other = (_courses(kind, model, dimension, trials) for kind in ("tensors", "reduced"))
    spread = np.sqrt((one.var(axis=0) + other.var(axis=0)) / trials)
    apart = np.abs(one.mean(axis=0) - other.mean(axis=0))
    # 35 numbers that hang together: a z of 4.5 in any is one in thousands; rounding at 0.
    assert (apart <= 4.5 * spread + 1e-12).all()
    moved = other.std(axis=0) > 1e-12
    middle = [np.ptp(np.quantile(found, (0.25, 0.75), axis=0), axis=0) for found in (one, other)]
    # Tails are heavy at few dimensions. A ratio of the middle halves of 300 draws varies by 0.11.
    assert np.abs(np.log(middle[0][moved] / middle[1][moved])).max() < 0.5


def test_projections_and_slopes_fit_a_matrix():
    # With as many trials as one: what was drawn must be the products of one noise matrix.
    descent = BATCHES
    data = ReducedData(PROBLEM, 6, 0, descent)
    w, q = start(descent) @ data.axes()
    model, moves = st.Attention(descent), np.array([True, True])
    for turn in (0, 1, 0):
        _, by_w, by_q, _ = data.gradient(model, descent, (w, q, 0.1), (turn, 2), moves)
        w, q = (np.pad(u, (0, len(by_w) - len(u))) for u in (w, q))
        w, q = w - by_w, q - by_q
    slopes = data._slopes[: data._known]
    np.testing.assert_allclose(slopes @ slopes.T, np.eye(len(slopes)), atol=1e-10)
    assert data._size == 6  # no more directions than dimensions


@pytest.mark.parametrize("engine", ["tensors", "reduced"])
def test_theory_is_met(engine):
    model = st.Attention(st.JointDescent(2.0, 6, 1.0, 4.0, 0.5, start_w=0.3, start_q=0.5))
    expected = st.theory.descend(PROBLEM, model, tolerance=5e-3)
    found = simulation.descend(PROBLEM, model, dimension=400, trials=8, engine=engine)
    for name in ("test_error", "training_loss", "overlap_q"):
        mean, error = getattr(found.mean, name), getattr(found.standard_error, name)
        value = getattr(expected, name)
        # Five standard errors of few trials, and 10/d of the value.
        allowed = 5 * np.hypot(error, getattr(expected.errors, name)) + 10 / 400 * np.abs(value)
        assert (np.abs(mean - value) <= allowed + 1e-12).all()


def test_a_trial_is_seeded_and_a_readout_may_follow():
    model = st.Attention(st.JointDescent(2.0, 3, start_q=0.5))
    one, two = (
        simulation.descend(PROBLEM, model, dimension=50, trials=n, engine="reduced") for n in (1, 2)
    )
    np.testing.assert_array_equal(one.trials[0].bias, two.trials[0].bias)
    found = st.simulate(PROBLEM, model, st.Readout(), dimension=50, trials=2, engine="reduced")
    assert found.status.converged


def test_the_query_of_a_readout_afterwards_is_that_of_real_tokens():
    model = st.Attention(st.JointDescent(2.0, 3, start_q=0.5))
    cosines = {}
    for engine in ("tensors", "reduced"):
        found = st.simulate(
            PROBLEM, model, st.Readout(), dimension=80, trials=60, engine=engine, seed=len(engine)
        )
        cosines[engine] = found.trials.cosine
    one, other = cosines["tensors"], cosines["reduced"]
    # Four standard errors.
    allowed = 4 * np.sqrt((one.var() + other.var()) / 60)
    assert one.mean() == pytest.approx(other.mean(), abs=allowed)


def test_divergence_and_bad_input():
    wild = st.Attention(st.JointDescent(steps=6, loss="square", eta_w=900, eta_q=900))
    found = simulation.descend(PROBLEM, wild, dimension=20, trials=1, engine="reduced")
    assert not found.status.converged
    assert len(found.mean.bias) == 7
    assert np.isfinite(found.mean.bias[0])
    assert np.isnan(found.mean.bias[-1])
    with pytest.raises(InvalidInput, match="engine"):
        simulation.descend(PROBLEM, wild, dimension=20, engine="real")
    with pytest.raises(InvalidInput, match="memory_budget"):
        simulation.descend(
            PROBLEM, wild, dimension=20, trials=1, engine="reduced", memory_budget=1000
        )
