"""The capacity of attention where samples have an effect of their own.

Equations: separation-of-several-covariances.
"""

import dataclasses

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.stats import norm

import sparsetoken as st
from sparsetoken.theory.laws import feature_law

XI = np.full(30, 30**-0.5)


def spectrum(d=30):
    values = (np.arange(d) + 1.0) ** -0.7
    return values / values.mean()


def effect(size, d=30):
    j = np.arange(d)
    return size * 0.9 ** np.abs(j[:, None] - j)


def violation_of(problem, query, size, points):
    """Return the mean squared violation by (w_1, w_2, b), over isotropic tokens of S_b = size S_w.

    T^2 = w_1^2 c + (C^2 + c)(1 + w_2^2) has no C along the query.
    """
    law = feature_law(st.Attention(query), problem, query, points)
    wider = law.C[..., 0] ** 2 + size

    def violation(x):
        T = np.sqrt(x[0] ** 2 * (size + law.covariance[0, 0]) + wider * (1 + x[1] ** 2))
        b = -law.y * (law.a @ x[:2] + x[2]) / T
        mean = T**2 * ((1 + b**2) * norm.cdf(b) + b * norm.pdf(b))
        return float(np.sum(law.weight * mean / wider)) / len(law.y)

    return violation


@pytest.mark.parametrize("size", [0.02, 0.5, 5.0])
@pytest.mark.parametrize(
    ("letters", "cosine"),
    [((4, 1, 2.0, 0.5), 0.8), ((6, 2, 1.0, 0.2), -0.3), ((5, 1, 0.0, 0.5), 0.5)],
)
def test_a_proportional_effect_by_direct_minimisation(letters, cosine, size):
    """S_b = c S_w is one covariance: 1/alpha is the least E[(T g - y m)_+^2 / (C^2 + c)]."""
    problem, query = st.SparseTokenProblem(*letters), st.Query(cosine, 1.0)
    least = minimize(violation_of(problem, query, size, 2048), np.zeros(3), tol=1e-10).fun
    tokens = st.TokenCovariance(np.ones(30), np.full(30, size), signal=XI)
    found = st.capacity(dataclasses.replace(problem, tokens=tokens), st.Attention(query))
    assert found.status.converged
    # The nodes of both have errors of about 1e-4 at most.
    assert found.capacity == pytest.approx(1 / least, rel=5e-4)
    if letters[2] == 0:
        assert found.capacity == pytest.approx(2.0, rel=1e-6)


@pytest.mark.parametrize(
    "model", [st.Attention(st.TwoSteps(2.0)), st.model.HardAttention(st.Query(0.8, 1.0))]
)
def test_an_effect_that_vanishes_changes_nothing(model):
    """One covariance and two are two routes."""
    tokens = st.TokenCovariance(spectrum(), signal=XI)
    least = dataclasses.replace(tokens, between=np.full(30, 1e-10))
    one, two = (
        st.capacity(st.SparseTokenProblem(5, 1, 2.0, 0.4, tokens=law), model, tolerance=1e-3)
        for law in (tokens, least)
    )
    random = isinstance(model.query, st.TwoSteps)  # in 30 dimensions
    assert one.status == two.status == ("no_limit" if random else "converged")
    allowance = 4 * np.hypot(one.numerical_error, two.numerical_error) + 1e-6
    assert two.capacity == pytest.approx(one.capacity, abs=allowance)


@pytest.mark.parametrize(
    "query", [st.Query(0.5, 0.0), st.TwoSteps(2.0, eta_q=0.0)], ids=["given", "no step"]
)
def test_attention_without_sharpness_is_pooling(query):
    """Pooling has one covariance, which is whitened as a whole."""
    tokens = st.TokenCovariance(spectrum(), effect(1.0), signal=XI)
    problem = st.SparseTokenProblem(5, 2, 2.0, 0.4, tokens=tokens)
    one, two = (st.capacity(problem, model) for model in (st.Pooled(), st.Attention(query)))
    assert two.capacity == pytest.approx(one.capacity, rel=1e-9)


def test_linear_maps_change_nothing():
    """The query is moved so that it gives the same scores."""
    rng = np.random.default_rng(0)
    A = np.eye(30) + 0.3 * rng.standard_normal((30, 30))
    S, q = np.diag(spectrum()), XI + 0.1 * rng.standard_normal(30)
    length = np.linalg.norm(A @ XI)
    moved = st.TokenCovariance(A @ S @ A.T, A @ effect(1.0) @ A.T, signal=A @ XI / length)
    plain = st.TokenCovariance(S, effect(1.0), signal=XI)
    models = [st.Attention(st.Query(vector=v, sharpness=1.3)) for v in (q, np.linalg.solve(A.T, q))]
    one = st.capacity(st.SparseTokenProblem(5, 1, 2.0, tokens=plain), models[0])
    two = st.capacity(st.SparseTokenProblem(5, 1, 2.0 * length, tokens=moved), models[1])
    assert two.capacity == pytest.approx(one.capacity, rel=1e-8)


def test_readouts_that_first_become_shorter():
    """A strong signal: from half a sample per dimension the way would lead to no solution."""
    tokens = st.TokenCovariance(spectrum(), effect(0.2), signal=XI)
    problem = st.SparseTokenProblem(20, 1, 6.0, tokens=tokens)
    found = st.capacity(problem, st.Attention(st.Query(0.95, 3.0)), tolerance=0.3)
    assert found.status.converged
    assert found.numerical_error < 0.3 * found.capacity


def test_margins_that_are_rarely_violated():
    """Plain nodes leave a standard error of about 1e-3; nodes drawn where it counts do not."""
    problem, query = st.SparseTokenProblem(5, 3, 6.0, 0.2), st.Query(0.95, 0.5)
    violation = violation_of(problem, query, 1.0, 2**13)
    least = minimize(violation, np.zeros(3), method="Nelder-Mead", tol=1e-12).fun
    tokens = st.TokenCovariance(np.ones(30), np.ones(30), signal=XI)
    found = st.capacity(dataclasses.replace(problem, tokens=tokens), st.Attention(query))
    assert found.status.converged
    assert found.capacity == pytest.approx(1 / least, rel=2e-3)
