"""The general convex readout against reference points, limits, and finite samples.

Equations: general-convex-readout, stage-four-potential, population-risk.
"""

import numpy as np
import pytest

from potential_oracle import Potential
from sparsetoken.losses import get_loss
from sparsetoken.model.models import Attention
from sparsetoken.model.problem import SparseTokenProblem
from sparsetoken.model.stages import Query
from sparsetoken.theory.laws.feature_law import FeatureLaw
from sparsetoken.theory.laws.of_model import feature_law
from sparsetoken.theory.outcome.measured import scores_on, solutions
from sparsetoken.theory.readout.model_features import IsotropicFeatures
from sparsetoken.theory.saddle.bias import best_bias
from sparsetoken.theory.saddle.covariances import (
    Covariances,
    Directions,
    Pull,
)
from sparsetoken.theory.saddle.equations import Load, SaddleEquations
from sparsetoken.theory.saddle.solve import solve_readout

D = 200
J = np.arange(D)
SPECTRUM = (J + 1) ** -0.5 / np.mean((J + 1) ** -0.5)
BETWEEN = 0.2 * 0.9 ** np.abs(J[:, None] - J)
SIGNAL = np.cos(1.7 * J) / np.linalg.norm(np.cos(1.7 * J))


def pooled(L, R, theta, pi):
    """Nodes, covariance and direction of the mean token, at the reference problem."""
    nodes = FeatureLaw.of([[1.0], [0.0]], [[1.0], [1.0]], [1, -1], [pi, 1 - pi])
    G = np.diag(SPECTRUM) / L + BETWEEN
    return nodes, G, (theta * R / L * SIGNAL)[:, None]


def one_covariance(G, M):
    """Return a covariance and directions in its eigenvectors."""
    values, basis = np.linalg.eigh(G)
    return Covariances(values[None], Directions(basis.T @ M))


def test_two_covariances():
    """The residual is that of the equations with matrices, and norms follow from the pull."""
    rng = np.random.default_rng(0)
    d = 40
    values = rng.uniform(0.1, 2.0, (2, d))
    M = rng.standard_normal((d, 2)) / 3
    nodes = FeatureLaw.of(
        [[1.0, 0.2], [0.0, -0.3], [0.4, 1.0]],
        [[1.0, 0.5], [0.3, 1.0], [0.8, 0.8]],
        [1, -1, 1],
        [0.3, 0.5, 0.2],
    )
    way, n = Covariances(values, Directions(M)), 3 * d
    equations = SaddleEquations(nodes, get_loss("logistic"), way)
    state = solve_readout(equations, Load(n, 0.02)).state
    pull = equations.pull(state, 0.0)
    G = [np.diag(row) for row in values]
    H = 0.02 * np.eye(d) + sum(kappa * one for kappa, one in zip(pull.kappa, G, strict=True))
    w, R = np.linalg.solve(H, M @ pull.eta), [np.linalg.solve(H, one) for one in G]
    noise = [sum(rho * np.trace(a @ b) for rho, b in zip(pull.rho, R, strict=True)) for a in R]
    # The last Newton step is below 1e-6, and the error of the order of its square.
    assert M.T @ w == pytest.approx(state.p, rel=1e-8)
    q = [w @ one @ w + more / n for one, more in zip(G, noise, strict=True)]
    assert q == pytest.approx(state.q, rel=1e-8)
    assert np.trace(R, axis1=1, axis2=2) / n == pytest.approx(state.chi, rel=1e-8)
    assert way.norms(pull, 0.02, n, values) == pytest.approx(state.q, rel=1e-9)


@pytest.mark.parametrize("loss", ["logistic", "square", "hinge", "squared_hinge"])
@pytest.mark.parametrize("alpha", [0.3, 2.0, 20.0, np.inf])
@pytest.mark.parametrize("ridge", [1.0, 1e-3, 1e-6])
def test_every_loss_is_solved_at_every_load(loss, alpha, ridge):
    """The residual is that of the equations themselves, put in plain words once more."""
    nodes, G, M = pooled(8, 1, 3, 0.5)
    cov = one_covariance(G, M)
    equations = SaddleEquations(nodes, get_loss(loss), cov)
    found = solve_readout(equations, Load(alpha * D, ridge))
    assert found.converged
    (p, _, q, chi), pull = found.state, equations.pull(found.state, found.smoothing)
    H = ridge * np.eye(D) + pull.kappa[0] * G
    w = np.linalg.solve(H, M @ pull.eta)
    back = np.linalg.solve(H, G)
    n = alpha * D
    noise = pull.rho[0] * np.trace(G @ np.linalg.solve(H, back)) / n
    assert M[:, 0] @ w == pytest.approx(p[0], rel=1e-5)
    assert w @ G @ w + noise == pytest.approx(q[0], rel=1e-5)
    assert np.trace(back) / n == pytest.approx(chi[0], rel=1e-5, abs=1e-12)


@pytest.mark.parametrize(
    ("letters", "ridge", "alpha", "expected"),
    [
        ((8, 1, 3, 0.5), 0.01, 2, (0.398162, 0.354360, 0.814719, -0.407360)),
        ((6, 2, 3, 0.3), 0.02, 4, (0.131611, 0.239027, 2.554421, -2.037984)),
    ],
)
def test_reference_points_of_pooling(letters, ridge, alpha, expected):
    nodes, G, M = pooled(*letters)
    equations = SaddleEquations(nodes, get_loss("logistic"), one_covariance(G, M))
    found = solve_readout(equations, Load(alpha * D, ridge))
    solution, _ = solutions(equations, found)
    test_error = scores_on(nodes, found.state).test_error()
    ours = test_error, solution.training_loss, found.state.p[0], found.state.b
    assert ours == pytest.approx(expected, abs=6e-7)  # all six digits that are given


def test_a_start_nearby_changes_nothing():
    nodes, G, M = pooled(8, 1, 3, 0.5)
    equations = SaddleEquations(nodes, get_loss("logistic"), one_covariance(G, M))
    first = solve_readout(equations, Load(100, 0.01))
    for n in (200, 400):
        near, alone = (solve_readout(equations, Load(n, 0.01), start) for start in (first, None))
        assert near.converged
        assert near.state.vector == pytest.approx(alone.state.vector, rel=1e-8)
        assert near.iterations - first.iterations < alone.iterations


PROBLEM, QUERY = SparseTokenProblem(6, 2, 3.0, 0.3), Query(0.8, 1.5)


@pytest.mark.parametrize("loss", ["logistic", "square", "hinge", "squared_hinge"])
@pytest.mark.parametrize(("alpha", "ridge"), [(0.5, 1e-3), (3.0, 0.05), (np.inf, 0.1)])
@pytest.mark.parametrize("query", [QUERY, Query(1.0, 1.5)], ids=["beside", "signal"])
def test_isotropic_solutions_are_stationary_in_the_potential(loss, alpha, ridge, query):
    """The potential is written out in its own unknowns (w_1, w_2, b, nu, r)."""
    features = IsotropicFeatures(Attention(), PROBLEM, query)
    equations = features.equations(features.nodes(PROBLEM, 64), get_loss(loss))
    found = solve_readout(equations, Load(alpha, ridge))
    assert found.converged
    w, mu = features.overlaps(solutions(equations, found)[0]), found.smoothing
    (chi,) = found.state.chi
    r = w.noise / (chi * np.sqrt(alpha)) if np.isfinite(alpha) else 1.0
    law = feature_law(Attention(), PROBLEM, query, 64)
    oracle = Potential(law, get_loss(loss), alpha)
    gradient, hessian = oracle.system(
        np.array([w.query, w.orthogonal, w.bias, w.noise, r]), ridge, mu
    )
    # the last Newton step is below 1e-6, and the error of the order of its square
    assert np.abs(np.linalg.solve(hessian, gradient)).max() < 1e-9


@pytest.mark.parametrize("loss", ["logistic", "square", "squared_hinge"])
@pytest.mark.parametrize("samples", [80.0, np.inf])
def test_the_jacobian_of_the_equations(loss, samples):
    """Against differences, with two covariances and a direction that is removed from the first."""
    rng, d, step = np.random.default_rng(2), 30, 1e-4
    values, M = rng.uniform(0.1, 2.0, (2, d)), rng.standard_normal((d, 2)) / 3
    nodes = FeatureLaw.of(
        [[1.0, 0.2], [0.0, -0.3], [0.4, 1.0]],
        [[1.0, 0.5], [0.3, 1.0], [0.8, 0.8]],
        [1, -1, 1],
        [0.3, 0.5, 0.2],
    )
    removed = np.array([[[0.0, 0.0], [0.0, 0.6]], [[0.3, 0.0], [0.0, 0.0]]])
    way = Covariances(values, Directions(M))
    equations = SaddleEquations(nodes, get_loss(loss), way, removed)
    x, load = np.array([0.7, -0.4, 0.3, 0.6, 0.9, 0.8, 0.5]), Load(samples, 0.2)
    _, jacobian = equations.system(x, load, 0.3)
    moved = step * np.eye(len(x))[: len(jacobian)]  # errors of the order of its square
    ends = [[equations.system(x + h, load, 0.3)[0] for h in (row, -row)] for row in moved]
    expected = np.array([(up - down) / (2 * step) for up, down in ends]).T
    np.testing.assert_allclose(jacobian, expected, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("K", [1, 2, 3])
@pytest.mark.parametrize("kind", ["fixed directions", "random directions"])
def test_the_derivatives_of_the_response(K, kind):
    """Against differences."""
    rng, d, J, step = np.random.default_rng(0), 12, 3, 1e-5
    values = rng.uniform(0.1, 2.0, (K, d))
    M, (one, both, two) = rng.standard_normal((d, J)), rng.standard_normal((3, d))
    scatter = {(1, 1): np.abs(one), (1, 2): 0.1 * both, (2, 2): np.abs(two)}
    way = Covariances(values, Directions(M, scatter if kind == "random directions" else {}))
    at = np.concatenate([rng.standard_normal(J), [0.0], rng.random(2 * K) + 0.5])

    def value(x):
        return way.response(Pull(x[:J], x[J + 1 : J + 1 + K], x[J + 1 + K :]), 0.3, 7.0)

    moved = step * np.eye(len(at))
    expected = np.array([(value(at + h).value - value(at - h).value) / (2 * step) for h in moved]).T
    np.testing.assert_allclose(value(at).jacobian, expected, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("loss", ["logistic", "square", "hinge", "squared_hinge"])
@pytest.mark.parametrize("pi", [0.5, 0.3])
def test_a_readout_that_nothing_pulls_is_zero(loss, pi):
    nodes, G, M = pooled(8, 1, 0.0, pi)
    equations = SaddleEquations(nodes, get_loss(loss), one_covariance(G, M))
    found = solve_readout(equations, Load(np.inf, 0.01))
    assert found.converged
    p, b, q, chi = found.state
    assert not np.concatenate([p, q, chi]).any()
    assert b == best_bias(get_loss(loss), np.array([-1.0, 1.0]), np.array([1 - pi, pi]))
