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
from sparsetoken.theory.readout.nodes import FeatureNodes
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


class NoGrid:
    """In the place of the grids of a law: none."""

    def __iter__(self):
        return iter(())


def means_of(law, loss):
    """Return the means of a loss on a grid, and those over all nodes."""
    ours, direct = (LossMeans(FeatureNodes.from_law(law), loss) for _ in range(2))
    direct._grids = NoGrid()
    return ours, direct


@pytest.fixture(autouse=True)
def _float64():
    with jax.enable_x64(True):
        yield


@pytest.mark.parametrize("shape", [COARSE, PLAIN, FINE])
@pytest.mark.parametrize(("letters", "query", "alpha1", "ridge"), SETTINGS)
def test_means_agree_with_those_over_all_nodes(letters, query, alpha1, ridge, shape):
    features = IsotropicFeatures(Attention(), SparseTokenProblem(*letters), query)
    law = feature_law(Attention(), SparseTokenProblem(*letters), query, 512)
    equations = features.equations(FeatureNodes.from_law(law), get_loss("logistic"))
    x = solve_readout(equations, Load(alpha1, ridge)).x
    means, over_nodes = means_of(law, get_loss("logistic"))
    for at in (x, x * [0.5, 1.5, 0.8, 0.5, 3.0]):
        state = equations.state(at, alpha1)
        grid = means._on(ScoreGrid(law, shape), state, 0.0)
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
    relu, problem = Elementwise(activation="relu"), SparseTokenProblem(2, 1, 3.0, 0.5)
    law = feature_law(relu, problem, Query(0.8, 1.0), 512)
    features = IsotropicFeatures(relu, problem, Query(0.8, 1.0))
    equations = features.equations(FeatureNodes.from_law(law), get_loss("logistic"))
    assert not law.C.all()
    found = solve_readout(equations, Load(2.0, 0.01))
    assert found.converged
    grid, direct = (means.at(found.state, 0.0) for means in means_of(law, get_loss("logistic")))
    for ours, expected in zip(grid, direct, strict=True):
        assert np.abs(ours - expected).max() <= 1e-7 * np.abs(expected).max()


@pytest.mark.parametrize("shape", [COARSE, PLAIN, FINE])
@pytest.mark.parametrize("a", [(0.7, -1.2, 0.4), (0.1, 2.0, -1.0), (-0.5, 0.0, 0.0)])
def test_weights_on_the_grid_reproduce_polynomials(a, shape):
    problem, query = SparseTokenProblem(6, 2, 2.0, 0.3), Query(0.6, 1.5)
    law = feature_law(Attention(), problem, query, 512)
    views = ScoreGrid(law, shape).views(np.array(a))
    features = np.stack([law.along, law.across, np.ones_like(law.C)])
    m = np.tensordot(np.array(a), features, axes=1)
    for p in range(3):
        for q in range(3):
            found = 0.0
            for view in views:
                f = view.m**3 * shape.of_norm(view.C)[:, None] ** 2
                found = found + view.moments[:, p, q] @ f.ravel()
            weight = law.weight * features[p] * features[q]
            expected = np.sum(weight * m**3 * shape.of_norm(law.C) ** 2, axis=1)
            np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)


def test_equal_scores_have_no_grid():
    law = feature_law(Attention(), SparseTokenProblem(6, 2, 2.0, 0.3), Query(0.6, 1.5), 512)
    assert ScoreGrid(law).views(np.array([0.0, 0.0, 1.0])) is None


def test_a_function_with_a_step_is_not_resolved():
    law = feature_law(Attention(), SparseTokenProblem(6, 2, 2.0, 0.3), Query(0.6, 1.5), 512)
    grid = ScoreGrid(law)
    views = grid.views(np.array([1.0, 1.0, 0.0]))
    m = np.stack([view.rows[1] for view in views])
    smooth = np.stack([m, np.exp(-m), 0 * m + np.stack([view.C[:, None] ** 2 for view in views])])
    assert grid.resolved_by(smooth, grid.shape)
    assert not grid.resolved_by(np.concatenate([smooth, np.tanh(50 * (m[None] - 0.1))]), grid.shape)


def test_what_is_not_resolved_is_summed_over_all_nodes():
    # a bend 300 times narrower than the scores: the grid cannot see it
    sharp = CustomLoss("sharp_bend", lambda y, z: jax.numpy.logaddexp(0.0, -300.0 * y * z) / 300.0)
    problem = SparseTokenProblem(6, 2, 2.0, 0.3)
    law = feature_law(Attention(), problem, Query(0.6, 1.5), 128)
    state = OrderParameters(np.array([3.0, 3.0]), -1.0, np.array([9.0]), np.array([5e-5]))
    found, direct = (means.at(state, 0.0) for means in means_of(law, sharp))
    np.testing.assert_array_equal(found.gradient, direct.gradient)
