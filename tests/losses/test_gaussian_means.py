"""Gaussian means of a loss by two rules, and by brute force."""

import jax
import numpy as np
import pytest

from sparsetoken.losses import CustomLoss, get_loss
from sparsetoken.losses.gaussian_means import smoothed_at, smoothed_rows

# (widths T, half the range of m, v): bends narrower and wider than the Gaussian
CASES = [
    ((0.05, 0.5), 2.0, (1e-3, 1.0)),
    ((0.3, 1.0), 1.0, (1e-3, 1e-2)),
    ((0.6, 0.9), 10.0, (1e2, 1e5)),
    ((3.0, 15.0), 60.0, (10.0, 1e4)),
]


def rows(T, spread, v, count=6):
    y = np.tile([1.0, -1.0], count // 2)
    m = np.broadcast_to(np.linspace(-spread, spread, 5), (count, 5))
    return y, m, np.geomspace(*T, count), np.geomspace(*v, count)


def brute_force(loss, y, m, T, v):
    """The nine means by the trapezoidal rule with 20000 nodes for each point."""
    g = np.linspace(-9, 9, 20_001)
    weight = np.exp(-0.5 * g**2) / np.sqrt(2 * np.pi) * (g[1] - g[0])
    y, T, v = (a[:, None, None] for a in (y, T, v))
    omega = m[..., None] + T * g
    p, D = loss.dual(y, omega, v), loss.dual_slope(y, omega, v)
    M = loss.envelope(y, omega, v)
    parts = [M, p, p**2, D, D * g, D * g**2, p * D, p * D * g, p**2 * D]
    return np.stack([part @ weight for part in parts])


@pytest.mark.parametrize(("T", "spread", "v"), CASES)
def test_logistic_rows_are_exact(T, spread, v):
    arguments = rows(T, spread, v)
    found = smoothed_rows(get_loss("logistic"), *arguments)
    expected = brute_force(get_loss("logistic"), *arguments)
    scale = np.abs(expected).max(axis=(1, 2), keepdims=True)
    # both rules end at 7.2 and 9 standard deviations: 6e-13 and up to 7.2^2 times that
    assert np.all(np.abs(found - expected) <= 1e-10 * scale)


@pytest.mark.parametrize(("T", "spread", "v"), [*CASES, ((10.0, 12.0), 3.0, (50.0, 60.0))])
def test_few_points_are_exact(T, spread, v):
    y, m, T, v = rows(T, spread, v)
    T[0], m = 0.0, m[:, 1:2]
    found = np.stack(smoothed_at(get_loss("logistic"), y[:, None], m, T[:, None], v[:, None]))
    expected = brute_force(get_loss("logistic"), y, m, T, v)
    # cut off at 7.2 standard deviations, where g is worth no more than the scale without it
    scale = np.abs(expected[[0, 1, 2, 3, 3, 3, 6, 6, 8]]).max(axis=(1, 2), keepdims=True)
    assert np.all(np.abs(found - expected) <= 1e-10 * scale)


@pytest.mark.parametrize("width", [np.inf, np.nan, 1e200])
def test_widths_without_a_rule_are_left_to_the_loss(width):
    one = np.ones(1)
    M = smoothed_at(get_loss("logistic"), one, one, width * one, one).M
    assert M.shape == (1,)


@pytest.mark.parametrize(
    ("name", "T"),
    [
        *((name, (0.3, 1.0)) for name in ("square", "hinge", "squared_hinge")),
        ("logistic", (1e-6, 1e-3)),  # widths that take many nodes
    ],
)
def test_other_rows_are_those_of_the_loss(name, T):
    y, m, T, v = rows(T, 2.0, (0.1, 1.0))
    found = smoothed_rows(get_loss(name), y, m, T, v)
    wide = [np.broadcast_to(a[:, None], m.shape) for a in (y, T, v)]
    direct = np.stack(smoothed_at(get_loss(name), wide[0], m, *wide[1:]))
    np.testing.assert_array_equal(found, direct)


def test_blocks_of_a_loss_of_ones_own():
    y, m, T, v = rows((0.3, 1.0), 2.0, (0.1, 1.0), count=14)  # 70 points: one block and a part
    own = CustomLoss("log", lambda y, z: jax.numpy.logaddexp(0, -y * z))
    found, expected = (smoothed_rows(loss, y, m, T, v) for loss in (own, get_loss("logistic")))
    # panels of the general rule against evenly spaced nodes, both exact but for |g| > 7.2
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize(
    "loss", ["logistic", CustomLoss("log", lambda y, z: jax.numpy.logaddexp(0, -y * z))]
)
def test_at_the_prox_everything_is_solved_for_once(loss):
    loss = get_loss(loss) if isinstance(loss, str) else loss
    y, omega, v = np.array([1.0, -1.0, 1.0]), np.array([-3.0, 0.4, 8.0]), np.array([0.1, 2.0, 50.0])
    value, p, D = loss.at_prox(y, omega, v)
    np.testing.assert_allclose(value, loss.value(y, loss.prox(y, omega, v)), rtol=1e-12)
    np.testing.assert_allclose(p, loss.dual(y, omega, v), rtol=1e-12)
    np.testing.assert_allclose(D, loss.dual_slope(y, omega, v), rtol=1e-11)
