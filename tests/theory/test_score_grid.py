"""The grid of scores against the sum over all nodes."""

import jax
import numpy as np
import pytest

from sparsetoken.losses import CustomLoss, get_loss
from sparsetoken.model.models import Attention, Elementwise
from sparsetoken.model.problem import SparseTokenProblem
from sparsetoken.model.stages import Query
from sparsetoken.theory.features import IsotropicFeatures
from sparsetoken.theory.laws import feature_law
from sparsetoken.theory.readout.equations import Load
from sparsetoken.theory.readout.means import LossMeans, OrderParameters
from sparsetoken.theory.readout.solve import solve_readout
from sparsetoken.theory.score_grid import COARSE, FINE, PLAIN, ScoreGrid

SETTINGS = [
    ((10, 1, 3.0, 0.5), Query(0.8, 2.0), 4.0, 1e-3),
    ((10, 1, 6.0, 0.2), Query(0.95, 3.0), 10.0, 1e-5),
    ((50, 2, 4.0, 0.7), Query(0.9, 3.0), 1.0, 1e-4),
    ((4, 2, 1.0, 0.5), Query(-0.7, 0.5), 0.2, 0.1),
    ((10, 1, 3.0, 0.5), Query(0.0, 6.0), 2.0, 1e-2),
    ((10, 1, 3.0, 0.5), Query(0.9, 0.1), 2.0, 1e-3),
]


def nodes_of(model, letters, query, points=512):
    return feature_law(model, SparseTokenProblem(*letters), query, points)


def means_of(nodes, loss):
    """Return the means of a loss on a grid, and those over all nodes."""
    ours, direct = (LossMeans(nodes, loss) for _ in range(2))
    direct._shapes = []
    return ours, direct


@pytest.fixture(autouse=True)
def _float64():
    with jax.enable_x64(True):
        yield


@pytest.mark.parametrize("shape", [COARSE, PLAIN, FINE])
@pytest.mark.parametrize(("letters", "query", "alpha1", "ridge"), SETTINGS)
def test_means_agree_with_those_over_all_nodes(letters, query, alpha1, ridge, shape):
    nodes = nodes_of(Attention(), letters, query)
    features = IsotropicFeatures(Attention(), SparseTokenProblem(*letters), query)
    equations = features.equations(nodes, get_loss("logistic"))
    x = solve_readout(equations, Load(alpha1, ridge)).x
    means, over_nodes = means_of(nodes, get_loss("logistic"))
    means._shapes = [shape]
    for at in (x, x * [0.5, 1.5, 0.8, 0.5, 3.0]):
        state = equations.state(at, alpha1)
        grid = means._on_a_grid(state, 0.0)
        if grid is None:  # at a solution only the coarse grid, with a query that is not blunt
            assert shape == COARSE or (shape == PLAIN and at is not x)
            assert query.sharpness > 0.1
            continue
        direct = over_nodes.at(state, 0.0)
        # coefficients end at 1e-6 of the largest, which leaves means far closer
        for found, expected in zip(grid, direct, strict=True):
            assert np.abs(found - expected).max() <= 1e-7 * np.abs(expected).max()


def test_nodes_without_features_are_on_the_finer_grid():
    # ReLU weights of two tokens are both 0 in a quarter of the negatives: log C is no place
    relu, letters, query = Elementwise(activation="relu"), (2, 1, 3.0, 0.5), Query(0.8, 1.0)
    nodes = nodes_of(relu, letters, query)
    features = IsotropicFeatures(relu, SparseTokenProblem(*letters), query)
    equations = features.equations(nodes, get_loss("logistic"))
    assert not nodes.C.all()
    found = solve_readout(equations, Load(2.0, 0.1))
    assert found.converged
    ours, direct = means_of(nodes, get_loss("logistic"))
    assert ours._on_a_grid(found.state, 0.0) is not None
    for one, expected in zip(ours.at(found.state, 0.0), direct.at(found.state, 0.0), strict=True):
        assert np.abs(one - expected).max() <= 1e-7 * np.abs(expected).max()


BLUNT = (Attention(), (6, 2, 2.0, 0.3), Query(0.6, 1.5))


@pytest.mark.parametrize("shape", [COARSE, PLAIN, FINE])
@pytest.mark.parametrize("a", [(0.7, -1.2, 0.4), (1e-9, 2.0, -1.0), (-0.5, 0.0, 0.0)])
def test_weights_on_the_grid_reproduce_polynomials(a, shape):
    nodes, a = nodes_of(*BLUNT), np.array(a)
    grid = ScoreGrid(nodes, shape).points(a[:2], a[2])
    features = np.concatenate([nodes.a, np.ones_like(nodes.C)], axis=2)
    m, C = features @ a, nodes.C[..., 0]
    on_grid = (grid.m**3 * shape.of_norm(grid.C)[:, None] ** 2).ravel()
    for p in range(3):
        for q in range(3):
            weight = nodes.weight * features[..., p] * features[..., q]
            expected = np.sum(weight * m**3 * shape.of_norm(C) ** 2, axis=1)
            found = grid.moments[:, p, q] @ on_grid
            np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)


def test_equal_scores_have_no_grid():
    assert ScoreGrid(nodes_of(*BLUNT), PLAIN).points(np.zeros(2), 1.0) is None


def test_a_function_with_a_step_is_not_resolved():
    grid = ScoreGrid(nodes_of(*BLUNT), PLAIN)
    _, C, m, _ = grid.points(np.ones(2), 0.0)
    smooth = np.stack([m, np.exp(-m), 0 * m + C[:, None] ** 2])
    assert grid.resolved_by(smooth, PLAIN)
    assert not grid.resolved_by(smooth, COARSE._replace(scores=4))
    assert not grid.resolved_by(np.concatenate([smooth, np.tanh(50 * (m[None] - 0.1))]), PLAIN)


def test_what_is_not_resolved_is_summed_over_all_nodes():
    # a bend 300 times narrower than the scores: the grid cannot see it
    sharp = CustomLoss("sharp_bend", lambda y, z: jax.numpy.logaddexp(0.0, -300.0 * y * z) / 300.0)
    nodes = nodes_of(*BLUNT, points=128)
    state = OrderParameters(np.array([3.0, 3.0]), -1.0, np.array([9.0]), np.array([5e-5]))
    found, direct = (means.at(state, 0.0) for means in means_of(nodes, sharp))
    np.testing.assert_array_equal(found.gradient, direct.gradient)
