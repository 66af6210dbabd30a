"""Rules for Gaussian means, and roots of increasing functions."""

import jax.numpy as jnp
import numpy as np
import pytest
from scipy.special import erfcx, ndtr

from sparsetoken.numerics.backend import in_float64
from sparsetoken.numerics.newton import increasing_root
from sparsetoken.numerics.quadrature import clustered_gaussian, gaussian_panels, trapezoidal_step

MOMENTS = {0: 1, 1: 0, 2: 1, 3: 0, 4: 3, 6: 15}


def test_panels_give_the_moments():
    g, weight = gaussian_panels()
    for power, moment in MOMENTS.items():
        # Beyond |g| = 7.2 lies 2 phi(7.2) 7.2^(power - 1), to leading order.
        beyond = 2 * 2.3e-12 * 7.2 ** (power - 1)
        assert np.sum(weight * g**power) == pytest.approx(moment, abs=2 * beyond + 1e-12)


@pytest.mark.parametrize("bends", [(0.0, 0.0), (-3.0, 2.0), (-50.0, 1.5), (-60.0, -40.0)])
@pytest.mark.parametrize("scale", [1e-4, 0.1, 3.0, 400.0])
@in_float64
def test_clustered_nodes_give_the_moments(bends, scale):
    left, right = (jnp.array([b]) for b in bends)
    g, weight = clustered_gaussian(0.5 * (left + right), (left, right), jnp.array([scale]))
    for power, moment in MOMENTS.items():
        # Crowding at a sharp bend thins the nodes in the tails: at the sharpest up to 5e-4
        # of the sixth moment and 1e-5 of those up to the second; else below 1e-8.
        tolerance = 1e-3 if scale < 0.01 else 2e-8
        found = float(jnp.sum(weight * g**power))
        assert found == pytest.approx(moment, abs=tolerance * max(1, moment))


@pytest.mark.parametrize("bend", [-2.0, 0.3, 4.0])
@pytest.mark.parametrize("scale", [1e-3, 0.05, 1.0])
@in_float64
def test_a_step_at_the_bend_is_resolved(bend, scale):
    """E[Phi((g - c)/s)] = Phi(-c / sqrt(1 + s^2))."""
    at = jnp.array([bend])
    g, weight = clustered_gaussian(at, (at, at), jnp.array([scale]))
    mean = float(jnp.sum(weight * ndtr((np.asarray(g) - bend) / scale)))
    assert mean == pytest.approx(ndtr(-bend / np.sqrt(1 + scale**2)), abs=1e-4)


@in_float64
def test_increasing_root():
    target = jnp.array([-1e8, -3.0, 0.0, 1e-9, 5.0, 1e8])
    low, high = jnp.full(6, -1e9), jnp.full(6, 1e9)
    cube = increasing_root(lambda z: (z**3 - target**3, 3 * z**2), low, high)
    np.testing.assert_allclose(cube, target, rtol=1e-9, atol=1e-3)
    jump = increasing_root(
        lambda z: (z - target + jnp.where(z > target, 1.0, -1.0), jnp.ones_like(z)), low, high
    )
    np.testing.assert_allclose(jump, target, rtol=1e-14, atol=1e-14)


@pytest.mark.parametrize("width", [0.01, 0.3, 0.8, 2.0, 20.0])
@pytest.mark.parametrize("strip", [0.5, np.pi])
def test_trapezoidal_steps_integrate_what_is_analytic_in_a_strip(width, strip):
    """1/(x^2 + strip^2) has its poles on the edge; its Gaussian mean by the panels is exact."""
    (step,) = trapezoidal_step(np.array([width]), strip)
    for shift in (0.0, 0.37):
        x = np.arange(-9 * width - 9 * step, 9 * width + 9 * step, step) + shift * step
        density = np.exp(-0.5 * (x / width) ** 2) / (np.sqrt(2 * np.pi) * width)
        found = step * np.sum(density * strip**2 / (x**2 + strip**2))
        z = strip / (width * np.sqrt(2))
        exact = np.sqrt(np.pi) * z * erfcx(z)
        assert found == pytest.approx(exact, abs=1e-14 + 1e-13 * exact)
