"""Means of a loss that are interpolated to nodes against those at each node."""

import dataclasses

import jax
import numpy as np
import pytest
from numpy.polynomial import chebyshev

from sparsetoken.losses import CustomLoss, get_loss
from sparsetoken.losses.gaussian_means import smoothed_at
from sparsetoken.model.models import Attention, Elementwise
from sparsetoken.model.problem import SparseTokenProblem
from sparsetoken.model.stages import Query
from sparsetoken.theory.laws.of_model import feature_law
from sparsetoken.theory.readout.model_features import IsotropicFeatures
from sparsetoken.theory.saddle.equations import Load
from sparsetoken.theory.saddle.loss_means import LossMeans, OrderParameters
from sparsetoken.theory.saddle.score_grid import ScoreGrid, series
from sparsetoken.theory.saddle.solve import solve_readout

SETTINGS = [
    ((10, 1, 3.0, 0.5), Query(0.8, 2.0), 4.0, 1e-3),
    ((10, 1, 6.0, 0.2), Query(0.95, 3.0), 10.0, 1e-5),
    ((50, 2, 4.0, 0.7), Query(0.9, 3.0), 1.0, 1e-4),
    ((4, 2, 1.0, 0.5), Query(-0.7, 0.5), 0.2, 0.1),
    ((10, 1, 3.0, 0.5), Query(0.0, 6.0), 2.0, 1e-2),
    ((10, 1, 3.0, 0.5), Query(0.9, 0.1), 2.0, 1e-3),
]
BLUNT = (Attention(), (6, 2, 2.0, 0.3), Query(0.6, 1.5))


def nodes_of(model, letters, query, points=512):
    return feature_law(model, SparseTokenProblem(*letters), query, points)


def over_all_nodes(nodes, loss):
    """Return the means of a loss without interpolation."""
    direct = LossMeans(nodes, loss)
    direct._grid = None
    return direct


@pytest.mark.parametrize(("letters", "query", "alpha1", "ridge"), SETTINGS)
def test_interpolated_means_agree_with_those_at_each_node(letters, query, alpha1, ridge):
    loss, nodes = get_loss("logistic"), nodes_of(Attention(), letters, query)
    features = IsotropicFeatures(Attention(), SparseTokenProblem(*letters), query)
    equations = features.equations(nodes, loss)
    x = solve_readout(equations, Load(alpha1, ridge)).x
    means, grid = LossMeans(nodes, loss), ScoreGrid(nodes.y, nodes.C[..., 0])
    for at in (x, x * [0.5, 1.5, 0.8, 0.5, 3.0]):
        state = equations.state(at, alpha1)
        m, T, V = means.scores(state, 0.0)
        found = grid.smoothed(loss, m, lambda C, s=state: means._spread(C[:, None] ** 2, s, 0.0))
        expected = smoothed_at(loss, nodes.y, m, T, V)
        for name, one, other in zip(expected._fields, found, expected, strict=True):
            # Of a few coefficients, the last of which are below 1e-6 of the largest.
            assert np.abs(one - other).max() <= 3e-6 * np.abs(other).max(), name
        direct = over_all_nodes(nodes, loss).at(state, 0.0)
        for one, other in zip(means.at(state, 0.0), direct, strict=True):
            # In means over nodes they nearly cancel.
            assert np.abs(one - other).max() <= 1e-7 * np.abs(other).max()


def test_one_of_several_amplitudes_may_vary():
    nodes, loss = nodes_of(*BLUNT), get_loss("logistic")
    amplitudes = np.concatenate([nodes.C, np.full_like(nodes.C, 0.7)], axis=2)
    several = dataclasses.replace(nodes, C=amplitudes)
    state = OrderParameters(np.array([1.0, 0.5]), -0.3, np.array([0.8, 0.3]), np.array([2.0, 1.0]))
    ours, direct = LossMeans(several, loss), over_all_nodes(several, loss)
    assert ours._grid is not None
    for one, other in zip(ours.at(state, 0.0), direct.at(state, 0.0), strict=True):
        assert np.abs(one - other).max() <= 1e-7 * np.abs(other).max()


def test_equal_scores_are_interpolated_in_norms():
    nodes, loss = nodes_of(*BLUNT), get_loss("logistic")
    state = OrderParameters(np.zeros(2), 1.0, np.array([2.0]), np.array([0.5]))
    for one, other in zip(
        LossMeans(nodes, loss).at(state, 0.0),
        over_all_nodes(nodes, loss).at(state, 0.0),
        strict=True,
    ):
        assert np.abs(one - other).max() <= 1e-7 * np.abs(other).max()


def test_nodes_without_features_are_not_interpolated():
    # ReLU weights of two tokens are both 0 in a quarter of the negatives, which have no log C.
    relu, letters, query = Elementwise(activation="relu"), (2, 1, 3.0, 0.5), Query(0.8, 1.0)
    nodes = nodes_of(relu, letters, query)
    assert not nodes.C.all()
    assert LossMeans(nodes, get_loss("logistic"))._grid is None


def on_points(function, norms=16, scores=32):
    t, u = (chebyshev.chebpts1(count) for count in (norms, scores))
    return function(t[:, None], u)[None]


def test_the_series_of_a_polynomial_is_itself_and_no_longer():
    own = np.random.default_rng(3).uniform(0.5, 1.0, (3, 5))
    found = series(on_points(lambda t, u: chebyshev.chebval2d(*np.broadcast_arrays(t, u), own)))
    np.testing.assert_allclose(found, [own], atol=1e-14)


def test_a_function_with_a_step_has_no_series():
    assert series(on_points(lambda t, u: np.exp(t - u))) is not None
    assert series(on_points(lambda t, u: np.exp(t) * np.tanh(50 * (u - 0.1)))) is None
    assert series(on_points(lambda t, u: np.tanh(50 * (t - 0.1)) * np.exp(u))) is None
    assert series(on_points(lambda t, u: np.exp(t - u) * np.nan)) is None


@pytest.mark.slow
def test_what_is_not_resolved_is_summed_over_all_nodes():
    # a bend 300 times narrower than the scores: the grid cannot see it
    sharp = CustomLoss("sharp_bend", lambda y, z: jax.numpy.logaddexp(0.0, -300.0 * y * z) / 300.0)
    nodes = nodes_of(*BLUNT, points=128)
    state = OrderParameters(np.array([3.0, 3.0]), -1.0, np.array([9.0]), np.array([5e-5]))
    found, direct = (one(nodes, sharp).at(state, 0.0) for one in (LossMeans, over_all_nodes))
    np.testing.assert_array_equal(found.gradient, direct.gradient)
