"""The frame of a descent: what new directions are, and that rounding does not choose them."""

import numpy as np
import pytest

from sparsetoken.theory.dynamics.frame import Frame

SIZE, ALPHA = 400, 2.0
ROOTS = np.full(SIZE, SIZE**-0.5)


def _added(slopes):
    """Return the tokens and the gradients of a frame with one direction of its own."""
    rng = np.random.default_rng(0)
    frame = Frame(rng.standard_normal((1, SIZE)), ROOTS, ALPHA, most=4)
    gradients = frame.add(slopes * ROOTS, rng.standard_normal((len(slopes), SIZE)))
    return frame.tokens / ROOTS, gradients


def _alike():
    """Return two gradients of one length at a right angle: any axes would do for them."""
    rows = np.linalg.qr(np.random.default_rng(1).standard_normal((SIZE, 2)))[0].T
    return np.sqrt(SIZE) * rows


@pytest.mark.parametrize("change", [1e-14, -1e-14])
def test_a_change_by_rounding_changes_little(change):
    slopes = _alike()
    turned = slopes + change * slopes[::-1]
    for one, other in zip(_added(slopes), _added(turned), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-11)


def test_gradients_have_their_lengths_and_angles():
    slopes = np.random.default_rng(2).standard_normal((2, SIZE))
    _, gradients = _added(slopes)
    # The part along new directions is the covariance of the slopes over alpha.
    expected = slopes @ slopes.T / SIZE / ALPHA
    np.testing.assert_allclose(gradients[1:].T @ gradients[1:], expected, rtol=1e-12)


def test_a_gradient_made_of_another_has_no_new_direction():
    slopes = np.random.default_rng(2).standard_normal((1, SIZE))
    tokens, gradients = _added(np.concatenate([slopes, -3 * slopes]))
    assert tokens.shape == (2, SIZE)
    np.testing.assert_allclose(gradients[1, 1], -3 * gradients[1, 0], rtol=1e-12)
    tokens, gradients = _added(np.concatenate([np.zeros((1, SIZE)), slopes]))
    assert tokens.shape == (2, SIZE)
    assert gradients[1, 0] == 0
