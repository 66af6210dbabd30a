"""The engines sample one law: joint two-sample tests.

Every p-value is compared with 0.001: with correct engines and other seeds, a test fails
once in 1000. `test_the_tests_have_power` shows what they detect.
"""

import dataclasses

import jax.numpy as jnp
import numpy as np
import pytest
from scipy.stats import ks_2samp

from sparsetoken.losses import CustomLoss
from sparsetoken.model.models import (
    Attention,
    Elementwise,
    HardAttention,
    Pooled,
    Vectorized,
)
from sparsetoken.model.problem import SparseTokenProblem
from sparsetoken.model.stages import Query, Readout, TwoSteps
from sparsetoken.simulation import align, performance, simulate
from token_laws import tokens

TRIALS = 150
LEVEL = 1e-3
SEED = 1


def energy_p_value(a, b, seed=0, permutations=1999):
    """Return the p-value of the energy-distance permutation test of (n, k) and (m, k) points.

    Coordinates are replaced by ranks, so scales and tails do not matter. The energy
    distance is zero only for equal joint laws.
    """
    pooled = np.vstack([a, b])
    ranks = np.argsort(np.argsort(pooled, axis=0), axis=0) / len(pooled)
    distance = np.linalg.norm(ranks[:, None] - ranks[None], axis=2)
    signs = np.concatenate([np.full(len(a), 1 / len(a)), np.full(len(b), -1 / len(b))])
    rng = np.random.default_rng(seed)
    shuffled = np.array([rng.permutation(signs) for _ in range(permutations)])
    null = -np.einsum("pi,pi->p", shuffled @ distance, shuffled)
    return (1 + np.sum(null >= -signs @ distance @ signs)) / (1 + permutations)


@pytest.fixture(autouse=True)
def _few_draws(monkeypatch):
    """2000 draws for the test error: both engines share this part, and it is slow."""
    monkeypatch.setattr(performance, "DRAWS", 2000)


@pytest.fixture(scope="module")
def lopsided():
    """A loss with l'(1, 0) != -l'(-1, 0)."""
    return CustomLoss("lopsided", lambda y, z: (2.0 + y) * jnp.logaddexp(0.0, -y * z) + 0.1 * z**2)


def queries(problem, steps, engine, d=40, seed=SEED):
    found = align(problem, steps, dimension=d, trials=TRIALS, engine=engine, seed=seed).trials
    return np.column_stack([found.overlap, found.norm, found.readout_cosine])


def outcomes(problem, model, readout, engine, dimension=40):
    options = {"dimension": dimension, "trials": TRIALS, "seed": SEED}
    found = simulate(problem, model, readout, engine=engine, **options)
    t = found.trials
    queries = [] if model.query is None else [t.cosine, t.sharpness]
    w = t.overlaps
    rows = [w.query, w.orthogonal, w.noise, w.bias, t.test_error, t.training_loss, *queries]
    columns = np.column_stack(rows)
    return columns[:, np.ptp(columns, axis=0) > 0]


def assert_same_law(a, b):
    assert a.shape == b.shape
    assert energy_p_value(a, b) > LEVEL
    for x, y in zip(a.T, b.T, strict=True):
        assert ks_2samp(x, y).pvalue > LEVEL


ALIGNMENTS = [
    ((4, 1, 2.0, 0.5), {"alpha0": 2.0, "loss": "logistic"}),
    ((4, 1, 2.0, 0.2), {"alpha0": 0.1, "loss": "square"}),
    ((5, 3, 4.0, 0.3), {"alpha0": 1.0, "loss": "hinge", "eta_b": 2.0, "eta_w": 3.0}),
    ((2, 1, 3.0, 0.5), {"alpha0": 1.0, "loss": "squared_hinge", "beta": 2.0}),
    ((3, 3, 2.0, 0.5), {"alpha0": 2.0, "loss": "logistic"}),
]


@pytest.mark.parametrize(("letters", "options"), ALIGNMENTS)
def test_query_has_one_law(letters, options):
    problem, steps = SparseTokenProblem(*letters), TwoSteps(**options)
    assert_same_law(queries(problem, steps, "reduced"), queries(problem, steps, "tensors"))


def test_query_has_one_law_without_symmetry(lopsided):
    problem = SparseTokenProblem(4, 2, 2.0, 0.3)
    steps = TwoSteps(alpha0=0.5, eta_w=2.0, loss=lopsided)
    assert_same_law(queries(problem, steps, "reduced"), queries(problem, steps, "tensors"))


STEPS = TwoSteps(alpha0=2.0, eta_q=20.0)

OUTCOMES = [
    (Attention(Query(0.8, 1.0)), (4, 1, 2.0, 0.5), 0.5, "logistic"),
    (Attention(Query(1.0, 1.0)), (4, 1, 3.0, 0.5), 1.5, "hinge"),
    (Attention, (4, 2, 3.0, 0.4), 1.5, "squared_hinge"),
    (Elementwise(Query(0.6, 1.0)), (3, 1, 3.0, 0.4), 1.5, "logistic"),
    (Elementwise, (3, 1, 3.0, 0.4), 0.6, "square"),
    (HardAttention(Query(0.7, 0.0)), (4, 2, 3.0, 0.4), 1.5, "logistic"),
    (HardAttention, (4, 1, 3.0, 0.5), 0.6, "square"),
    (Pooled(), (4, 2, 3.0, 0.3), 3.0, "logistic"),
    (Vectorized(), (3, 1, 3.0, 0.5), 1.5, "squared_hinge"),
    (Vectorized(), (3, 2, 2.0, 0.5), 5.0, "logistic"),
]
COVARIANCES = [  # with the size of an effect that the tokens of a sample share
    (Pooled(), (6, 2, 3.0, 0.4), 2.0, "logistic", 0.2),
    (Attention(Query(0.8, 1.0)), (6, 1, 3.0, 0.5), 2.0, "square", 0.2),
    (Attention(Query(0.8, 1.0)), (6, 1, 3.0, 0.4), 1.0, "logistic", 0.0),
    (Attention, (5, 2, 3.0, 0.5), 1.5, "logistic", 0.2),
    (HardAttention(Query(0.8, 1.0)), (6, 1, 3.0, 0.4), 2.0, "squared_hinge", 0.2),
    (Elementwise(Query(0.8, 1.0)), (6, 2, 3.0, 0.4), 2.0, "square", 0.0),
    (Vectorized(), (3, 1, 4.0, 0.4), 4.0, "square", 0.2),
]


@pytest.mark.parametrize(
    ("model", "letters", "alpha", "loss", "effect"),
    [*((*outcome, None) for outcome in OUTCOMES), *COVARIANCES],
)
def test_outcome_has_one_law(model, letters, alpha, loss, effect):
    """A class of models stands for one whose query is trained, with the loss of the readout."""
    if isinstance(model, type):
        model = model(dataclasses.replace(STEPS, loss=loss))
    law = {} if effect is None else {"tokens": tokens(24, effect=effect, turned=True)}
    problem, readout = SparseTokenProblem(*letters, **law), Readout(loss, 0.02, alpha)
    d = 24 if law else 40
    sample = [outcomes(problem, model, readout, engine, d) for engine in ("reduced", "tensors")]
    assert_same_law(*sample)


def test_outcome_has_one_law_in_three_dimensions():
    """The smallest dimension of the reduced engine: one column of noise is left."""
    model, readout = Attention(TwoSteps(alpha0=5.0, eta_q=5.0)), Readout(ridge=0.1, alpha1=10.0)
    problem = SparseTokenProblem(3, 1, 2.0, 0.5)
    sample = [outcomes(problem, model, readout, engine, 3) for engine in ("reduced", "tensors")]
    assert_same_law(*sample)


def test_outcome_has_one_law_under_a_position_law():
    problem = SparseTokenProblem(3, 1, 4.0, 0.5, position_law=(0.7, 0.2, 0.1))
    readout = Readout(ridge=0.05, alpha1=4.0)
    sample = [
        outcomes(problem, Vectorized(), readout, engine, 20) for engine in ("reduced", "tensors")
    ]
    assert_same_law(*sample)


@pytest.mark.parametrize("change", [{"strength": 2.6}, {"length": 5}, {"positive_rate": 0.35}])
def test_the_tests_have_power(change):
    """A problem that differs a little is told apart, with 150 trials, at level 0.001."""
    letters = {"length": 4, "informative": 1, "strength": 2.0, "positive_rate": 0.5}
    steps = TwoSteps(alpha0=2.0)
    one = queries(SparseTokenProblem(**letters), steps, "reduced", d=100)
    two = queries(SparseTokenProblem(**{**letters, **change}), steps, "tensors", d=100)
    assert energy_p_value(one, two) <= LEVEL
