"""Capacity against reference points, limits and plain sampling.

Equations: capacity, feature-law.
"""

import itertools
import math

import numpy as np
import pytest
from scipy.special import ndtr

from sparsetoken.base.validation import InvalidInput
from sparsetoken.model.architectures.weights import ACTIVATIONS
from sparsetoken.model.models import Attention, make_model
from sparsetoken.model.networks import Softmax
from sparsetoken.model.problem import SparseTokenProblem
from sparsetoken.model.stages import Query
from sparsetoken.numerics.errors import stated_error
from sparsetoken.theory import capacity
from sparsetoken.theory.laws.importance import drawn_law
from sparsetoken.theory.laws.of_model import feature_law
from sparsetoken.theory.laws.proposal import Proposal
from sparsetoken.theory.laws.tokens import TokenFeatures
from sparsetoken.theory.separability import search
from sparsetoken.theory.separability.violation import (
    Expansion,
    expansion,
    least_violation,
    squared_violation,
)


def load(name, L, R, pi, theta, s=0.0, k=0.0, *, tolerance=1e-4, **options):
    model = make_model(name, Query(s, k), **options)
    return capacity(SparseTokenProblem(L, R, theta, pi), model, tolerance=tolerance)


@pytest.mark.parametrize(
    ("point", "value", "digit"),
    [
        (("attention", 4, 1, 0.5, 2, 0.8, 1), 2.642, 1e-3),
        (("pooled", 4, 1, 0.5, 2), 2.341, 1e-3),
        (("attention", 4, 1, 0.3, 3, 0.9, 2), 4.97, 1e-2),
        (("pooled", 10, 1, 0.5, 5), 2.950, 1e-3),
        (("vectorized", 10, 1, 0.5, 5), 29.50, 1e-2),
    ],
)
def test_reference_points(point, value, digit):
    assert load(*point).capacity == pytest.approx(value, abs=digit)


@pytest.mark.parametrize("k", [0.0, 1.0, 7.0])
@pytest.mark.parametrize("s", [-1.0, 0.3])
def test_without_signal_two_samples_per_dimension(s, k):
    """Cover's count: random labels on points in general position."""
    assert load("hard_attention", 7, 2, 0.5, 0.0, s, 1.0).capacity == pytest.approx(2, rel=1e-4)
    assert load("attention", 7, 2, 0.5, 0.0, s, k).capacity == pytest.approx(2, rel=1e-4)
    assert load("pooled", 7, 2, 0.5, 0.0).capacity == pytest.approx(2, rel=1e-12)
    assert load("vectorized", 7, 2, 0.5, 0.0).capacity == pytest.approx(14, rel=1e-12)


def test_uniform_attention_is_pooling():
    pooled = load("pooled", 5, 2, 0.3, 3.0).capacity
    assert load("attention", 5, 2, 0.3, 3.0, 0.6, 0.0).capacity == pytest.approx(pooled, rel=1e-7)
    assert load("vectorized", 5, 2, 0.3, 3.0).capacity == pytest.approx(5 * pooled, rel=1e-12)


def test_rare_labels_are_easier():
    """theta = 0, pi != 1/2: the minimum over b alone, by a grid."""
    b = np.linspace(-3, 0, 300_001)
    cost = lambda m: (1 + m**2) * ndtr(m) + m * np.exp(-(m**2) / 2) / math.sqrt(2 * math.pi)  # noqa: E731
    exact = 1 / np.min(0.2 * cost(-b) + 0.8 * cost(b))
    assert load("pooled", 3, 1, 0.2, 0.0).capacity == pytest.approx(exact, rel=1e-8)


def test_without_features_nothing_is_separated():
    assert load("elementwise", 2, 1, 0.4, 1.0, 0.5, 0.0, activation="tanh").capacity == 0


@pytest.mark.parametrize("activation", list(ACTIVATIONS))
def test_weights_that_can_all_be_small_have_no_limit(activation):
    found = load("elementwise", 5, 1, 0.4, 4.0, 0.6, 2.0, activation=activation)
    assert found.status == "no_limit"
    assert "st.simulation.is_separable" in found.status.remedy
    assert math.isnan(found.capacity)
    assert math.isnan(found.numerical_error)


def test_equal_elementwise_weights_are_pooling():
    pooled = load("pooled", 5, 2, 0.3, 3.0).capacity
    found = load("elementwise", 5, 2, 0.3, 3.0, 0.6, 0.0, activation="sigmoid")
    assert found.status.converged
    assert found.capacity == pytest.approx(pooled, rel=1e-7)


@pytest.mark.parametrize(
    ("letters", "s", "k"),
    [((50, 12, 3.07, 0.35), 0.74, 0.88), ((20, 6, 4.05, 0.3), 0.83, 0.72)],
)
def test_violations_that_hardly_a_plain_node_has_are_found_in_a_few_rounds(letters, s, k):
    """More than 500 samples per dimension, against plain nodes at the solution of another law."""
    found = capacity(SparseTokenProblem(*letters), Attention(Query(s, k)), tolerance=1e-2)
    assert found.status.converged
    assert found.capacity > 500


def test_bad_input():
    with pytest.raises(InvalidInput, match="model"):
        load("linear", 3, 1, 0.2, 0.0)
    with pytest.raises(InvalidInput, match="tolerance"):
        load("pooled", 3, 1, 0.2, 0.0, tolerance=2.0)


def test_nodes_have_the_moments_of_plain_draws():
    """Means of A, B, C and products, against draws of softmax weights."""
    problem, s, k = SparseTokenProblem(6, 2, 2.0, 0.5), 0.7, 2.0
    law = feature_law(Attention(), problem, Query(s, k), 2048)
    rng = np.random.default_rng(1)
    g = rng.standard_normal((400_000, 6))
    signal = np.arange(6) < 2
    a = np.exp(k * (g + 1.4 * signal))
    a /= a.sum(axis=1, keepdims=True)
    A, B, C = a @ signal, (a * g).sum(axis=1), np.sqrt((a**2).sum(axis=1))
    along = 1.4 * A + B
    plus = law.y > 0
    (own, across), norms = law.a[plus].T, law.C[plus][:, 0]
    # The nodes lack the mean of g, which is independent.
    pairs = [
        (own.mean(), along),
        ((own**2).mean() + law.covariance[0, 0], along**2),
        ((own * norms).mean(), along * C),
        (norms.mean(), C),
        (across.mean(), 2 * math.sqrt(1 - s**2) * A),
    ]
    for ours, drawn in pairs:
        # Four standard errors of 400 000 draws.
        assert ours == pytest.approx(drawn.mean(), abs=4 * drawn.std() / math.sqrt(len(drawn)))


ORDINARY = [
    ("attention", 7, 2, 0.35, 3.3, 0.72, 1.4),
    ("attention", 4, 2, 0.92, 4.9, 0.98, 1.48),
    ("attention", 5, 5, 0.25, 4.45, 0.48, 1.05),
]


@pytest.mark.parametrize(
    "point", [ORDINARY[0], *(pytest.param(one, marks=pytest.mark.slow) for one in ORDINARY[1:])]
)
def test_an_ordinary_point_reaches_the_default_tolerance(point):
    found = load(*point)
    assert found.status.converged
    assert 2 * found.numerical_error <= 1e-4 * found.capacity


def test_a_tolerance_that_most_nodes_miss_is_not_reached(monkeypatch):
    monkeypatch.setattr(search, "_LAST", 512)
    found = load("attention", 7, 2, 0.35, 3.3, 0.72, 1.4, tolerance=1e-6)
    assert found.status == "tolerance_not_reached"
    assert 2 * found.numerical_error > 1e-6 * found.capacity


def test_the_error_is_that_of_scrambles():
    law = feature_law(Attention(), SparseTokenProblem(6, 2, 2.0, 0.4), Query(0.6, 1.2), 256)
    found = least_violation(law)
    violations = np.sum(law.weight * squared_violation(found.x, law), axis=1)
    # The jackknife moves the violation itself by the square of this error.
    error = stated_error(violations) / violations.mean()
    assert found.error == pytest.approx(error, rel=1e-3)


def test_well_separated_classes():
    """s = .98 and k = .037 at theta = 7.4: a margin is violated once in 10^19 samples.

    At so low a sharpness attention is close to pooling, whose law is exact.
    """
    found = load("attention", 13, 8, 0.33, 7.39, 0.98, 1e-4)
    pooled = load("pooled", 13, 8, 0.33, 7.39)
    assert found.status.converged
    assert math.log(found.capacity) == pytest.approx(math.log(pooled.capacity), rel=1e-3)
    sharper = load("attention", 13, 8, 0.33, 7.39, 0.98, 0.0366, tolerance=1e-3)
    assert sharper.status.converged
    assert sharper.capacity > pooled.capacity


def test_derivatives_of_the_violation():
    """Against central differences, whose error is of order step^2 = 1e-10."""
    law = feature_law(Attention(), SparseTokenProblem(6, 2, 2.0, 0.4), Query(0.6, 1.2), 64)
    x, step = np.array([0.3, -0.5, 0.2]), 1e-5

    def at(place):
        return Expansion.of(expansion(place, law).mean(axis=0))

    here = at(x)
    weighted = law.weight * squared_violation(x, law)
    assert here.value == pytest.approx(weighted.sum(axis=1).mean(), rel=1e-12)
    for i in range(3):
        more, less = at(x + step * np.eye(3)[i]), at(x - step * np.eye(3)[i])
        assert here.gradient[i] == pytest.approx((more.value - less.value) / (2 * step), abs=1e-8)
        slope = (more.gradient - less.gradient) / (2 * step)
        assert here.hessian[i] == pytest.approx(slope, abs=1e-8)


def scalars(law):
    return np.concatenate([law.a, law.C], axis=-1)


def test_nodes_of_any_proposal_have_the_law_of_the_features():
    """Means of the scalars over nodes of moved and correlated proposals, against plain nodes."""
    problem, query = SparseTokenProblem(6, 2, 2.0, 0.3), Query(0.6, 1.2)
    plain = feature_law(Attention(), problem, query, 2**12)
    root = np.linalg.cholesky(0.9 * np.eye(6) + 0.1)
    proposals = {
        1: Proposal(np.linspace(-0.2, 0.3, 6), root),
        -1: Proposal(np.linspace(0.2, -0.3, 6), root, plain=0.4),
    }
    features = TokenFeatures(problem, query, Softmax())
    law, _ = drawn_law(features, proposals, {1: 2**10, -1: 2**11}, 0)
    for label in (1, -1):
        ours, theirs = ((one.y[0] == label) for one in (law, plain))
        for column, power in itertools.product(range(3), (0, 1, 2)):
            values = [
                np.sum(one.weight[:, own] * scalars(one)[:, own, column] ** power, axis=1)
                for one, own in ((law, ours), (plain, theirs))
            ]
            error = math.hypot(*(v.std(ddof=1) / math.sqrt(len(v)) for v in values))
            # Five standard errors: 18 comparisons.
            assert values[0].mean() == pytest.approx(values[1].mean(), abs=5 * error + 1e-12)
