"""What a caller has set for NumPy, JAX or warnings changes no result and ends no call."""

import math
import warnings

import jax
import numpy as np
import pytest

import sparsetoken as st
from sparsetoken import theory

PROBLEM = st.SparseTokenProblem(6, 2, 5.0)
SHORT = st.SparseTokenProblem(4, 1, 3.0)  # as in other descents, whose code is compiled
FAR = st.SparseTokenProblem(6, 1, 60.0)  # its weights and its errors underflow
SHARP = st.Attention(st.Query(1.0, 8.0))
EXPONENTIAL = st.Elementwise(st.Query(0.9, 3.0), "exp")
STEPS = st.Attention(st.TwoSteps())
DESCENT = st.Descent(alpha=3, steps=2, rates=[4, 1], start=0)
NETWORK = st.Descent(st.networks.Gated(1), alpha=2, steps=2)
CLASSES = st.model.ConceptProblem(
    3, [5.0, 5.0], [[0, 0], [1, 0], [0, 1]], [0.4, 0.3, 0.3], [0, 1, 2]
)


def bags():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((40, 4, 3)), np.arange(40) % 2
    X[y == 1, 2, 0] += 5
    return X, y


def simulated(loss, engine):
    readout = st.Readout(loss, 1e-2, 2.0)
    return st.simulate(FAR, SHARP, readout, dimension=40, trials=1, engine=engine).mean.auc


CALLS = {
    "predict": lambda: st.predict(PROBLEM, STEPS, st.Readout("hinge", 1e-2, 2.0)).auc,
    "predict far": lambda: st.predict(FAR, SHARP, st.Readout("logistic", 1e-2, 9.0)).auc,
    "predict inf": lambda: st.predict(PROBLEM, STEPS, st.Readout(alpha1=math.inf)).test_error,
    "exp": lambda: st.predict(PROBLEM, EXPONENTIAL, tolerance=0.1).test_error,
    "align": lambda: st.align(st.SparseTokenProblem(6, 1, 1e-300)).cosine,
    "capacity": lambda: st.capacity(PROBLEM, STEPS, tolerance=0.1).capacity,
    "descend": lambda: theory.descend(SHORT, DESCENT, tolerance=0.5).weights.norms[-1, 0],
    "descend a network": lambda: theory.descend(CLASSES, NETWORK, replicas=2).test_error[-1],
    "oracle": lambda: st.oracle.bayes_error(FAR).test_error,
    "bayes": lambda: st.oracle.learning_error(FAR, 2.0).cosine,
    "tensors": lambda: simulated("square", "tensors"),
    "reduced": lambda: simulated("logistic", "reduced"),
    "fit": lambda: st.AttentionClassifier().fit(*bags()).decision_function(bags()[0][:1]).item(),
    "fit an average": lambda: st.BagClassifier().fit(*bags()).predict_token_proba(bags()[0])[1][2],
    "fit a regression": lambda: (
        st.BagRegressor().fit(bags()[0], bags()[0].mean(axis=1)[:, 0]).predict(bags()[0][:1])[0]
    ),
}


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.slow if name in ("descend a network", "exp") else ())
        for name in CALLS
    ],
)
def test_the_same_result_in_any_state(name):
    plain = CALLS[name]()
    with (
        np.errstate(all="raise"),
        jax.numpy_dtype_promotion("strict"),
        jax.enable_x64(True),
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("error")
        assert CALLS[name]() == plain
