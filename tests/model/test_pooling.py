"""Pooling weights and pooled features."""

import numpy as np
import pytest

from sparsetoken.base.validation import InvalidInput
from sparsetoken.model.pooling import ACTIVATIONS, elementwise_weights, pool, softmax_weights


def test_softmax_is_stable_and_normalised():
    scores = np.array([[0.0, 1.0, 2.0], [1e4, 0.0, -1e4]])
    a = softmax_weights(scores)
    np.testing.assert_allclose(a[0], np.exp(scores[0]) / np.exp(scores[0]).sum())
    np.testing.assert_array_equal(a[1], [1, 0, 0])
    np.testing.assert_allclose(softmax_weights(scores + 300), a)


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_elementwise_weights_are_values_over_length(name):
    formulas = {
        "erf": lambda x: 1 + 0.8427007929497149 * x,
        "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
        "tanh": lambda x: np.tanh(x),
        "relu": lambda x: x * (x > 0),
        "linear": lambda x: 1 + x,
        "exp": lambda x: np.e**x,
    }
    x = np.array([-1.0, 0.0, 1.0])  # erf(1) = 0.8427..., and erf is odd
    np.testing.assert_allclose(elementwise_weights(x, name), formulas[name](x) / 3)


def test_unknown_activation():
    with pytest.raises(InvalidInput, match="activation"):
        elementwise_weights(np.zeros(3), "gelu")


def test_pool_is_the_weighted_sum():
    rng = np.random.default_rng(0)
    X, a = rng.standard_normal((5, 3, 4)), rng.random((5, 3))
    np.testing.assert_allclose(pool(X, a), np.einsum("nl,nld->nd", a, X))
    np.testing.assert_allclose(pool(X[0], a[0]), a[0] @ X[0])
