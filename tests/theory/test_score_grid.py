"""The grid of scores against the sum over all nodes."""

import jax
import numpy as np
import pytest

from sparsetoken.losses import CustomLoss, get_loss
from sparsetoken.models import Attention, Elementwise
from sparsetoken.problem import SparseTokenProblem
from sparsetoken.stages import Query
from sparsetoken.theory import feature_law
from sparsetoken.theory.learned_error import solve_readout
from sparsetoken.theory.potential import Potential
from sparsetoken.theory.score_grid import ScoreGrid

SETTINGS = [
    ((10, 1, 3.0, 0.5), Query(0.8, 2.0), 4.0, 1e-3),
    ((10, 1, 6.0, 0.2), Query(0.95, 3.0), 10.0, 1e-5),
    ((50, 2, 4.0, 0.7), Query(0.9, 3.0), 1.0, 1e-4),
    ((4, 2, 1.0, 0.5), Query(-0.7, 0.5), 0.2, 0.1),
    ((10, 1, 3.0, 0.5), Query(0.0, 6.0), 2.0, 1e-2),
]


@pytest.fixture(autouse=True)
def _float64():
    with jax.enable_x64(True):
        yield


@pytest.mark.parametrize(("letters", "query", "alpha1", "ridge"), SETTINGS)
def test_means_agree_with_those_over_all_nodes(letters, query, alpha1, ridge):
    law = feature_law(Attention(), SparseTokenProblem(*letters), query, 512)
    potential = Potential(law, get_loss("logistic"), alpha1)
    x = solve_readout(potential, ridge).x
    for at in (x, x * [0.5, 1.5, 0.8, 0.5, 2.0]):
        grid = potential._node_sums(at, 0.0)
        kept, potential._grid = potential._grid, None
        direct = potential._node_sums(at, 0.0)
        potential._grid = kept
        # coefficients end at 1e-6 of the largest, which leaves means far closer
        for found, expected in zip(grid, direct, strict=True):
            assert np.abs(found - expected).max() <= 1e-7 * np.abs(expected).max()


def test_nodes_without_features_are_summed_one_by_one():
    # ReLU weights of two tokens are both 0 in a quarter of the negatives: log C is no place
    relu, problem = Elementwise(activation="relu"), SparseTokenProblem(2, 1, 3.0, 0.5)
    law = feature_law(relu, problem, Query(0.8, 1.0), 512)
    potential = Potential(law, get_loss("logistic"), 2.0)
    assert not law.C.all()
    assert solve_readout(potential, 0.01).converged


def test_weights_on_the_grid_reproduce_polynomials():
    problem, query = SparseTokenProblem(6, 2, 2.0, 0.3), Query(0.6, 1.5)
    law = feature_law(Attention(), problem, query, 512)
    a = np.array([0.7, -1.2, 0.4])
    view = ScoreGrid(law).view(a)
    features = np.stack([law.along, law.across, np.ones_like(law.C)])
    m = np.tensordot(a, features, axes=1)
    for p in range(3):
        for q in range(3):
            found = view.moments[:, p, q] @ (view.m[0] ** 3 * np.log(view.C[0]) ** 2)
            weight = law.weight * features[p] * features[q]
            expected = np.sum(weight * m**3 * np.log(law.C) ** 2, axis=1)
            np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)


def test_a_function_with_a_step_is_not_resolved():
    law = feature_law(Attention(), SparseTokenProblem(6, 2, 2.0, 0.3), Query(0.6, 1.5), 512)
    view = ScoreGrid(law).view(np.array([1.0, 1.0, 0.0]))
    smooth = np.concatenate([view.m, np.exp(-view.m), view.C**2])
    assert ScoreGrid.resolves(smooth)
    assert not ScoreGrid.resolves(np.concatenate([smooth, np.tanh(50 * (view.m - 0.1))]))


def test_what_is_not_resolved_is_summed_over_all_nodes():
    # a bend 300 times narrower than the scores: the grid cannot see it
    sharp = CustomLoss("sharp_bend", lambda y, z: jax.numpy.logaddexp(0.0, -300.0 * y * z) / 300.0)
    problem = SparseTokenProblem(6, 2, 2.0, 0.3)
    law = feature_law(Attention(), problem, Query(0.6, 1.5), 512)
    potential = Potential(law, sharp, 4.0)
    x = np.array([3.0, 3.0, -1.0, 1e-4, 1.0])
    found = potential._node_sums(x, 0.0)
    potential._grid = None
    direct = potential._node_sums(x, 0.0)
    np.testing.assert_array_equal(found.gradient, direct.gradient)
