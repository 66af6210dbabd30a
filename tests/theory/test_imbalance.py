"""A large ridge at finite dimension: the chance imbalance of the classes decides.

Equations: class-imbalance.
"""

import dataclasses
import math
import warnings

import jax.numpy as jnp
import numpy as np
import pytest

import sparsetoken as st
from sparsetoken.losses import get_loss
from sparsetoken.theory.imbalance import error_with_imbalance, imbalance_advice
from sparsetoken.theory.laws import feature_law
from sparsetoken.theory.score_law import ScoreLaw

PROBLEM = st.SparseTokenProblem(10, 1, 5.0)
MODEL = st.Attention(st.Query(0.53, 2.45))
DIMENSION, TRIALS = 400, 24


@dataclasses.dataclass(frozen=True)
class Balanced(st.SparseTokenProblem):
    """Data sets with exactly the expected number of positives."""

    def sample_labels(self, n, rng):
        """Return labels in a random order."""
        return rng.permutation(np.where(np.arange(n) < n * self.positive_rate, 1, -1))


def _readout(ridge):
    return st.Readout(ridge=ridge, alpha1=0.25)


def _scores(found, points=512):
    return ScoreLaw.of_overlaps(feature_law(MODEL, PROBLEM, MODEL.query, points), found.overlaps)


def _simulated(problem, ridge):
    found = st.simulate(problem, MODEL, _readout(ridge), dimension=DIMENSION, trials=TRIALS)
    return found.mean.test_error, found.standard_error.test_error


@pytest.mark.parametrize("ridge", [3.0, 10.0])
def test_real_tokens_meet_the_limit_only_with_balanced_classes(ridge):
    found = st.predict(PROBLEM, MODEL, _readout(ridge), tolerance=1e-3)
    expected = error_with_imbalance(_scores(found), get_loss("logistic"), 0.5, 0.25 * DIMENSION)
    error, spread = _simulated(PROBLEM, ridge)
    # Four standard errors, and 10/d of the value, the allowance of the experiments.
    assert error == pytest.approx(expected, abs=4 * spread + 10 / DIMENSION * expected)
    assert error > found.test_error + 2 * spread
    error, spread = _simulated(Balanced(10, 1, 5.0), ridge)
    assert error == pytest.approx(found.test_error, abs=4 * spread + 10 / DIMENSION * expected)


def test_the_error_with_imbalance_falls_to_the_limit_as_one_over_the_samples():
    found = st.predict(PROBLEM, MODEL, _readout(3.0), tolerance=1e-3)
    scores, loss = _scores(found), get_loss("logistic")
    more = [error_with_imbalance(scores, loss, 0.5, n) - scores.test_error() for n in (1e5, 1e6)]
    assert more[0] / more[1] == pytest.approx(10, rel=0.01)  # of the next order in 1/n


@pytest.mark.parametrize(("loss", "slope"), [("logistic", 1 / 0.21), ("square", 2.0)])
def test_the_bias_follows_the_share_of_positives(loss, slope):
    # Without features it is log(p/(1-p)), and 2p - 1; here p = 0.3. All scores are N(0.7, 1).
    scores = _two_nodes((0.7, 0.7), 1.0)
    x = 0.7 / math.sqrt(1 + slope**2 * 0.21 / 50)
    expected = 0.5 + 0.2 * math.erf(x / math.sqrt(2))
    assert error_with_imbalance(scores, get_loss(loss), 0.3, 50) == pytest.approx(expected)


def _two_nodes(means, width):
    """Return scores of one node for each class, three positives in ten."""
    y, weight = np.array([[1.0, -1.0]]), np.array([[0.3, 0.7]])
    return ScoreLaw(np.array([means]), np.full((1, 2), width), y, weight)


def test_a_prediction_says_from_which_dimension_it_holds():
    (text,) = st.predict(PROBLEM, MODEL, _readout(10.0), tolerance=1e-2).advice
    dimension = float(text.split("only from dimension ")[1].split(" ")[0])
    found = st.predict(PROBLEM, MODEL, _readout(10.0), tolerance=1e-3)
    there = error_with_imbalance(_scores(found), get_loss("logistic"), 0.5, 0.25 * dimension)
    # The advice rests on few nodes, and shows two digits.
    assert there == pytest.approx(1.1 * found.test_error, rel=0.02)


@pytest.mark.parametrize(
    "readout", [_readout(0.01), st.Readout("hinge", ridge=10.0), st.Readout(alpha1=math.inf)]
)
def test_nothing_is_said_of_small_ridges_kinks_and_infinite_data(readout):
    assert st.predict(PROBLEM, MODEL, readout, tolerance=1e-2).advice == ()


def test_a_dimension_beyond_all_reach_is_cut_off():
    scores = _two_nodes((1e-9, -1e-9), 1e-9)
    (text,) = imbalance_advice(scores, st.Readout(alpha1=1.0), 0.3)
    assert "1e+12" in text


@pytest.mark.parametrize("ridge", [0.1, 10.0])
def test_nothing_is_said_of_a_loss_that_is_linear_at_the_bias(ridge):
    # Its mean without features is flat around 0, but bends at the scores that a fit reaches.
    def huberised_hinge(y, z, h=0.5):
        m = y * z
        near = (1 + h - m) ** 2 / (4 * h)
        return jnp.where(m > 1 + h, 0.0, jnp.where(m < 1 - h, 1 - m, near))

    loss = st.losses.CustomLoss("huberised_hinge", huberised_hinge)
    scores = _two_nodes((0.1 / ridge, -0.1 / ridge), 0.1 / ridge)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert imbalance_advice(scores, st.Readout(loss, ridge=ridge, alpha1=2.0), 0.5) == ()
