"""Descents without tokens: the law of real ones at every dimension, however small."""

import numpy as np
import pytest

import sparsetoken as st
from attention_descent import alternating, attention_descent
from sparsetoken import simulation
from sparsetoken.model.descent import training_of
from sparsetoken.simulation.descent import followed
from sparsetoken.simulation.reduced import ReducedEngine
from sparsetoken.simulation.reduced_descent import ReducedData
from sparsetoken.simulation.tensors import TensorEngine

PROBLEM = st.SparseTokenProblem(4, 2, 2.5, 0.4)
BATCHES = {
    "eta_q": 3.0, "start_w": 0.3, "start_q": 0.5, "momentum": 0.3, "decay_w": 0.1, "batches": 2,
}  # fmt: skip
SOFTMAX = attention_descent(2.0, 4, **BATCHES)
FROM_ZERO = alternating(1.5, 5, 1.0, 8.0, 0.5, loss="squared_hinge")


def _course(data, training):
    """Return loss, overlaps, Gram matrix and further weights at each state."""
    rows = []
    for state in followed(data, training):
        at = data.moments(state.U)
        gram = at.gram[np.triu_indices(len(at.gram))]
        rows.append([state.loss, *at.overlaps.ravel(), *gram, *state.c])
    return rows


def _courses(kind, task, trained, dimension, trials):
    training = training_of(task, trained)
    engine, first = (ReducedEngine, 10**6) if kind == "reduced" else (TensorEngine, 0)
    engines = (engine(task, dimension, first + i) for i in range(trials))
    return np.array([_course(one.descent_data(training), training) for one in engines])


BOTH = st.model.ConceptProblem(
    4, [3.0, 2.0], [[1, 1], [1, 0], [0, 2]], [0.5, 0.3, 0.2], labels=[0, 1, 2]
)
TWO = st.model.ConceptProblem(4, [3.0], [[0], [1]], [0.4, 0.6], labels=[0, 1])
BLOCKS = st.TokenCovariance(
    within=np.repeat([2.0, 0.5], [3, 7]),
    between=np.repeat([0.6, 0.0], [3, 7]),
    signal=np.sqrt(np.repeat([0.4 / 3, 0.6 / 7], [3, 7])),
)
SHARED = st.SparseTokenProblem(3, 1, 3.0, 0.5, tokens=BLOCKS)


@pytest.mark.parametrize(
    ("task", "model", "dimension"),
    [
        (PROBLEM, SOFTMAX, 3),  # fewer dimensions than directions
        (PROBLEM, FROM_ZERO, 7),
        (PROBLEM, attention_descent(2.0, 4, activation="erf", **BATCHES), 12),
        (PROBLEM, st.Descent(st.networks.Gated(2), 2.0, 3, 1.5, momentum=0.3, batches=2), 20),
        (BOTH, st.Descent(st.networks.Softmax(), 2.0, 4, 1.5), 12),
        (TWO, st.Descent(st.networks.Softmax(), 2.0, 3, 1.5), 12),
        (SHARED, st.Descent(st.networks.Softmax(2), 2.0, 4, 1.0, start=0.5), 10),
    ],
)
def test_courses_have_the_law_of_real_tokens(task, model, dimension):
    trials = 300
    one, other = (_courses(kind, task, model, dimension, trials) for kind in ("tensors", "reduced"))
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
    data = ReducedData(training_of(PROBLEM, SOFTMAX), 6, 0)
    U = data.start()
    for t in range(3):
        _, by_U, _ = data.gradient(U, np.array([0.1]), t, np.array([True, True]))
        U = [np.pad(u, ((0, len(by) - len(u)), (0, 0))) - by for u, by in zip(U, by_U, strict=True)]
    (noise,) = data._noises
    slopes = noise._slopes[: noise._known]
    np.testing.assert_allclose(slopes @ slopes.T, np.eye(len(slopes)), atol=1e-10)
    assert noise._size == 6  # no more directions than dimensions


def test_a_trial_is_seeded_and_a_readout_may_follow():
    descent = attention_descent(2.0, 3, start_q=0.5)
    given = {"dimension": 50, "engine": "reduced"}
    one, two = (simulation.descend(PROBLEM, descent, trials=n, **given) for n in (1, 2))
    np.testing.assert_array_equal(one.trials[0].weights.c, two.trials[0].weights.c)
    model = st.Attention(descent)
    found = st.simulate(PROBLEM, model, st.Readout(), dimension=50, trials=2, engine="reduced")
    assert found.status.converged


def test_divergence():
    wild = attention_descent(steps=6, loss="square", eta_w=900, eta_q=900)
    found = simulation.descend(PROBLEM, wild, dimension=20, trials=1, engine="reduced")
    assert not found.status.converged
    assert len(found.mean) == 7
    assert np.isfinite(found.mean.weights.c[0])
    assert np.isnan(found.mean.weights.c[-1])
