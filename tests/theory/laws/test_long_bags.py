"""Sums over the small tokens of a long sample, against exact sums and tokens drawn one by one.

Equations: small-token-sums.
"""

import itertools
import math

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import ndtr, ndtri

from sparsetoken.base.validation import InvalidInput
from sparsetoken.model.models import Attention, CentredAttention, Elementwise, Pooled
from sparsetoken.model.networks import QueryNetwork
from sparsetoken.model.problem import SparseTokenProblem
from sparsetoken.model.stages import Query, Readout
from sparsetoken.numerics.quadrature import sobol_sequence
from sparsetoken.theory import capacity, predict
from sparsetoken.theory.laws import tokens
from sparsetoken.theory.laws.long_bags import SUMS, SmallSums
from sparsetoken.theory.laws.of_model import feature_law
from sparsetoken.theory.laws.tokens import TokenFeatures

SIZE, LARGEST = 400, 32
CUT = 1.45  # about where the 32nd largest of 400 is


def normals(n):
    return ndtri(sobol_sequence(SUMS, np.random.default_rng(1)).random(n) * (1 - 1e-12) + 5e-13)


WEIGHTS = {
    "softmax 1": lambda g, cut: np.exp(g - cut),
    "softmax 10": lambda g, cut: np.exp(10 * (g - cut)),
    "relu": lambda g, cut: np.maximum(g + 0.5, 0) / 7,
    "tanh": lambda g, cut: np.tanh(2 * g),
    "constant": lambda g, cut: np.ones_like(g),
}


def below(function):
    """Return the mean of a function of a normal that is below the cut."""

    def integrand(g):
        return function(np.array([g]))[0] * math.exp(-0.5 * g * g) / math.sqrt(2 * math.pi)

    edges = [-9.0, -0.5, 0.0, 1.2, CUT]
    parts = [
        quad(integrand, *ends, epsabs=1e-13, complex_func=True)[0]
        for ends in itertools.pairwise(edges)
    ]
    mean = sum(parts) / ndtr(CUT)
    return mean if mean.imag else mean.real


def drawn(weights, n=2**15):
    sums = SmallSums(weights, -0.5, SIZE, LARGEST)
    return sums.at(np.full(n, CUT), normals(n))


def _product(f, h):
    return lambda g: f(g) * h(g)


def functions_of(weights):
    return [
        lambda g: weights(g, CUT),
        lambda g: weights(g, CUT) * g,
        lambda g: weights(g, CUT) ** 2,
        lambda g: g,
    ]


@pytest.mark.parametrize("name", WEIGHTS)
def test_means_and_covariances_are_those_of_single_tokens(name):
    found, functions, small = drawn(WEIGHTS[name]), functions_of(WEIGHTS[name]), SIZE - LARGEST
    means = np.array([below(f) for f in functions])
    products = [[_product(f, h) for h in functions] for f in functions]
    covariance = np.array([[below(product) for product in row] for row in products])
    covariance = small * (covariance - np.outer(means, means))
    size = np.sqrt(np.maximum(np.diag(covariance), 1e-6))
    # Errors of the Sobol points in a mean and in a variance, in standard deviations; the table in
    # the cut adds less.
    assert np.all(np.abs(found.mean(axis=0) - small * means) < 1e-3 * size)
    apart = np.abs(np.cov(found.T) - covariance) / np.outer(size, size)
    assert apart.max() < 5e-3


def test_third_cumulants_are_those_of_single_tokens():
    weights = WEIGHTS["softmax 1"]
    sums = drawn(weights, 2**17)[:, [0, 3]]  # of w and of g
    found = ((sums - sums.mean(axis=0)) ** 3).mean(axis=0)
    for third, f in zip(found, [lambda g: weights(g, CUT), lambda g: g], strict=True):
        mean = below(f)
        one = below(lambda g, f=f, mean=mean: (f(g) - mean) ** 3)
        # The expansion has them to leading order: it misses 1%, and the points 0.2%.
        assert third == pytest.approx((SIZE - LARGEST) * one, rel=0.02)


@pytest.mark.parametrize(
    ("model", "informative"),
    [
        pytest.param(Attention(Query(0.9, 0.2)), 1, marks=pytest.mark.slow),
        (Attention(Query(0.9, 1.0)), 150),
        (CentredAttention(Query(0.8, 1.5)), 3),
        pytest.param(Attention(Query(-0.5, 10.0)), 1, marks=pytest.mark.slow),
        pytest.param(Elementwise(Query(0.8, 1.0), "erf"), 1, marks=pytest.mark.slow),
        (Elementwise(Query(-0.8, 1.0), "relu"), 140),
        (Elementwise(Query(0.8, 0.5), "exp"), 3),
    ],
)
def test_moments_of_features_against_tokens_one_by_one(model, informative, monkeypatch):
    problem = SparseTokenProblem(300, informative, 3.0, 0.3)
    short = feature_law(model, problem, model.query, 2**11)
    monkeypatch.setattr(tokens, "_ONE_BY_ONE", 300)
    plain = feature_law(model, problem, model.query, 2**11)

    def moments(law):
        (a, o), C = np.moveaxis(law.a, -1, 0), law.C[..., 0]
        for y in (1, -1):
            weight = law.weight * (law.y == y)
            for values in (a, o, C, a**2, a * o, a * C, C**2, a**3, np.tanh(3 * a / C)):
                yield np.sum(weight * values, axis=1)

    for ours, theirs in zip(moments(short), moments(plain), strict=True):
        error = math.hypot(ours.std(ddof=1), theirs.std(ddof=1)) / math.sqrt(len(ours))
        # Five standard errors of eight scrambles each: 144 comparisons.
        assert ours.mean() == pytest.approx(theirs.mean(), rel=1e-9, abs=5 * error)


def test_constant_weights_are_pooling():
    problem, readout = SparseTokenProblem(5000, 50, 8.0), Readout(ridge=0.01, alpha1=2.0)
    pooled = predict(problem, Pooled(), readout)
    found = predict(problem, Elementwise(Query(0.6, 0.0), "linear"), readout)
    assert found.converged
    assert found.test_error == pytest.approx(pooled.test_error, abs=1e-4)
    assert found.training_loss == pytest.approx(pooled.training_loss, abs=1e-4)


class AbsoluteScores(QueryNetwork):
    total = None

    def weights(self, scores):
        return np.abs(scores)


def test_tokens_that_must_be_drawn_are_refused_in_too_long_samples():
    query = Query(0.9, 1.0)
    features = TokenFeatures(SparseTokenProblem(22_000, 1, 3.0), query, AbsoluteScores())
    with pytest.raises(InvalidInput, match="one by one"):
        features.law(64)


def test_capacity_against_tokens_one_by_one(monkeypatch):
    problem, model = SparseTokenProblem(160, 1, 3.0, 0.3), Attention(Query(0.8, 3.0))
    short = capacity(problem, model, tolerance=2e-3)
    monkeypatch.setattr(tokens, "_ONE_BY_ONE", 160)
    plain = capacity(problem, model, tolerance=2e-3)
    error = math.hypot(short.numerical_error, plain.numerical_error)
    # Four standard errors, and what is left out: less than one part in the number of tokens.
    assert short.capacity == pytest.approx(plain.capacity, abs=4 * error, rel=1e-3)
