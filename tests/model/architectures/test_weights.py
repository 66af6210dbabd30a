"""Weights of the tokens: formulas, and the same values from NumPy and JAX."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from sparsetoken.model.architectures.weights import (
    ACTIVATIONS,
    elementwise_weights,
    largest_weight,
    softmax_weights,
)


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


def test_the_largest_score_has_all_the_weight():
    np.testing.assert_array_equal(largest_weight(np.array([[0.1, -2.0], [3.0, 4.0]])), np.eye(2))


@pytest.mark.parametrize("name", [*ACTIVATIONS, "softmax"])
def test_numpy_and_jax_agree(name):
    scores = np.random.default_rng(0).standard_normal((5, 4))

    def weights(x):
        return softmax_weights(x) if name == "softmax" else elementwise_weights(x, name)

    with jax.enable_x64(True):
        found = weights(jnp.asarray(scores))
        assert isinstance(found, jax.Array)
        # a few roundings of numbers of order 1
        np.testing.assert_allclose(found, weights(scores), rtol=1e-14, atol=1e-15)
