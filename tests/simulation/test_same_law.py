"""The engines sample one law: joint two-sample tests.

Every p-value is compared with 0.001: with correct engines and other seeds, a test fails
once in 1000. `test_the_tests_have_power` shows what they detect.
"""

import jax.numpy as jnp
import numpy as np
import pytest
from scipy.stats import ks_2samp

from sparsetoken.losses import CustomLoss
from sparsetoken.problem import SparseTokenProblem
from sparsetoken.simulation import conditional, simulate, simulate_alignment
from sparsetoken.training import FourStageTraining, Query

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
    monkeypatch.setattr(conditional, "DRAWS", 2000)


@pytest.fixture(scope="module")
def lopsided():
    """A loss with l'(1, 0) != -l'(-1, 0)."""
    return CustomLoss("lopsided", lambda y, z: (2.0 + y) * jnp.logaddexp(0.0, -y * z) + 0.1 * z**2)


def queries(problem, training, engine, d=40, seed=SEED):
    found = simulate_alignment(
        problem, training, dimension=d, trials=TRIALS, engine=engine, seed=seed
    )
    return np.column_stack([found.overlap, found.norm, found.readout_cosine])


def outcomes(model, problem, training, alpha1, engine, **options):
    found = simulate(
        model, problem, training, alpha1, trials=TRIALS, engine=engine, seed=SEED, **options
    )
    rows = [
        (
            t.overlaps.query,
            t.overlaps.orthogonal,
            t.overlaps.noise,
            t.overlaps.bias,
            t.test_error,
            t.training_loss,
            q.cosine,
            q.sharpness,
        )
        for t, q in zip(found.trials, found.queries, strict=True)
    ]
    columns = np.array(rows)
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
    problem, training = SparseTokenProblem(*letters), FourStageTraining(**options)
    assert_same_law(queries(problem, training, "reduced"), queries(problem, training, "tensors"))


def test_query_has_one_law_without_symmetry(lopsided):
    problem = SparseTokenProblem(4, 2, 2.0, 0.3)
    training = FourStageTraining(alpha0=0.5, eta_w=2.0, loss=lopsided)
    assert_same_law(queries(problem, training, "reduced"), queries(problem, training, "tensors"))


OUTCOMES = [
    ("attention", (4, 1, 2.0, 0.5), 0.5, "logistic", Query(0.8, 1.0)),
    ("attention", (4, 2, 2.0, 0.3), 2.0, "square", Query(-0.4, 2.0)),
    ("attention", (4, 1, 3.0, 0.5), 1.5, "hinge", Query(1.0, 1.0)),
    ("attention", (4, 2, 3.0, 0.4), 1.5, "squared_hinge", None),
    ("attention", (4, 1, 2.0, 0.5), 0.7, "logistic", Query(0.0, 0.0)),
    ("elementwise", (3, 1, 3.0, 0.4), 1.5, "logistic", Query(0.6, 1.0)),
    ("elementwise", (3, 1, 3.0, 0.4), 0.6, "square", None),
    ("pooled", (4, 2, 3.0, 0.5), 0.5, "square", None),
    ("pooled", (4, 2, 3.0, 0.3), 3.0, "logistic", None),
    ("vectorized", (3, 1, 3.0, 0.5), 1.5, "squared_hinge", None),
    ("vectorized", (3, 2, 2.0, 0.5), 5.0, "logistic", None),
]


@pytest.mark.parametrize(("model", "letters", "alpha1", "loss", "query"), OUTCOMES)
def test_outcome_has_one_law(model, letters, alpha1, loss, query):
    problem = SparseTokenProblem(*letters)
    training = FourStageTraining(alpha0=2.0, eta_q=20.0, loss=loss, ridge=0.02)
    sample = [
        outcomes(model, problem, training, alpha1, engine, dimension=40, query=query)
        for engine in ("reduced", "tensors")
    ]
    assert_same_law(*sample)


def test_outcome_has_one_law_in_three_dimensions():
    """The smallest dimension of the reduced engine: one column of noise is left."""
    training = FourStageTraining(alpha0=5.0, eta_q=5.0, ridge=0.1)
    problem = SparseTokenProblem(3, 1, 2.0, 0.5)
    sample = [
        outcomes("attention", problem, training, 10.0, engine, dimension=3)
        for engine in ("reduced", "tensors")
    ]
    assert_same_law(*sample)


def test_outcome_has_one_law_under_a_position_law():
    problem = SparseTokenProblem(3, 1, 4.0, 0.5, position_law=(0.7, 0.2, 0.1))
    training = FourStageTraining(ridge=0.05)
    sample = [
        outcomes("vectorized", problem, training, 4.0, engine, dimension=20)
        for engine in ("reduced", "tensors")
    ]
    assert_same_law(*sample)


@pytest.mark.parametrize("change", [{"strength": 2.6}, {"length": 5}, {"positive_rate": 0.35}])
def test_the_tests_have_power(change):
    """A problem that differs a little is told apart, with 150 trials, at level 0.001."""
    letters = {"length": 4, "informative": 1, "strength": 2.0, "positive_rate": 0.5}
    training = FourStageTraining(alpha0=2.0)
    one = queries(SparseTokenProblem(**letters), training, "reduced", d=100)
    two = queries(SparseTokenProblem(**{**letters, **change}), training, "tensors", d=100)
    assert energy_p_value(one, two) <= LEVEL


def test_equal_seeds_of_different_engines_are_unrelated():
    problem, training = SparseTokenProblem(4, 1, 2.0), FourStageTraining()
    one = queries(problem, training, "reduced")[:, 0]
    two = queries(problem, training, "tensors")[:, 0]
    # the standard error of a correlation of 150 pairs is 0.08
    assert abs(np.corrcoef(one, two)[0, 1]) < 0.33
