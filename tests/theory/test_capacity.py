"""Capacity against reference points, limits and plain sampling.

Equations: capacity, feature-law.
"""

import math

import numpy as np
import pytest
from scipy.special import ndtr

from sparsetoken.models import Attention, make_model
from sparsetoken.problem import SparseTokenProblem
from sparsetoken.stages import Query
from sparsetoken.theory import capacity, feature_law
from sparsetoken.validation import InvalidInput


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


def test_well_aligned_query_against_plain_sampling():
    """L = 10, R = 1, theta = 5, s = 0.9, k = 1: 21.51, on draws that share no code.

    At the minimiser of other nodes, plain draws bound 1/alpha* from above, up to their
    noise; the minimiser is good to 1e-3, so the bound is tight to 1e-6.
    """
    found = load("attention", 10, 1, 0.5, 5, 0.9, 1, tolerance=2e-3)
    rng = np.random.default_rng(0)
    w1, w2, b = 0.753, 0.670, -1.735  # minimiser on 400 000 plain draws
    values = []
    for y in (1, -1):
        g = rng.standard_normal((2_000_000, 10))
        t = g.copy()
        t[:, 0] += 4.5 * (y > 0)
        a = np.exp(t - t.max(axis=1, keepdims=True))
        a /= a.sum(axis=1, keepdims=True)
        A, B, C = a[:, 0] * (y > 0), (a * g).sum(axis=1), np.sqrt((a**2).sum(axis=1))
        mu = w1 * (4.5 * A + B) + w2 * 5 * math.sqrt(1 - 0.81) * A
        m, T = -y * (mu + b) / C, math.sqrt(1 + w2**2)
        density = np.exp(-0.5 * (m / T) ** 2) / math.sqrt(2 * math.pi)
        values.append((T**2 + m**2) * ndtr(m / T) + m * T * density)
    drawn = np.concatenate(values)
    spread = drawn.std() / math.sqrt(len(drawn)) / drawn.mean()
    assert found.capacity == pytest.approx(1 / drawn.mean(), rel=4 * spread + 1e-3)
    assert found.capacity == pytest.approx(21.51, abs=0.05)


@pytest.mark.parametrize("k", [0.0, 1.0, 7.0])
@pytest.mark.parametrize("s", [-1.0, 0.3])
def test_without_signal_two_samples_per_dimension(s, k):
    """Cover's count: random labels on points in general position."""
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


@pytest.mark.parametrize("L", [2, 12, 40])
def test_features_that_vanish_cannot_be_separated(L):
    found = load("elementwise", L, 1, 0.4, 1.0, 0.5, 1.0, activation="relu")
    assert found.capacity == 0
    assert load("elementwise", L, 1, 0.4, 1.0, 0.5, 0.0, activation="tanh").capacity == 0


def test_tiny_features_can_be_separated():
    """1 + erf(-3 t) is tiny at times, not 0: only the direction of a feature matters."""
    found = load("elementwise", 1, 1, 0.5, 0.0, 0.5, 3.0, activation="erf", tolerance=1e-2)
    # Without signal: Cover's two samples per dimension.
    assert found.capacity == pytest.approx(2, rel=0.02)


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
    # The nodes lack the mean of g, which is independent with variance `shared`.
    pairs = [
        (law.along[plus].mean(), along),
        ((law.along[plus] ** 2).mean() + law.shared, along**2),
        ((law.along * law.C)[plus].mean(), along * C),
        (law.C[plus].mean(), C),
        (law.across[plus].mean(), 2 * math.sqrt(1 - s**2) * A),
    ]
    for ours, drawn in pairs:
        # Four standard errors of 400 000 draws.
        assert ours == pytest.approx(drawn.mean(), abs=4 * drawn.std() / math.sqrt(len(drawn)))
