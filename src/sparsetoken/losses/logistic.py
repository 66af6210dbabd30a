"""Logistic loss."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from sparsetoken.losses.base import Loss, Smoothed, smoothed_means
from sparsetoken.losses.namespace import namespace
from sparsetoken.numerics.quadrature import clustered_gaussian

__all__ = ["LogisticLoss"]

_HALLEY_STEPS = 3


class LogisticLoss(Loss):
    """l(y, z) = log(1 + exp(-y z))."""

    name = "logistic"

    def value(self, y: Any, z: Any) -> Any:
        return namespace(y, z).logaddexp(0.0, -y * z)

    def slope(self, y: Any, z: Any) -> Any:
        return -y * _sigmoid(-y * z)

    def curvature(self, y: Any, z: Any) -> Any:
        return _sigmoid(z) * _sigmoid(-z) + 0 * y

    def prox(self, y: Any, omega: Any, v: Any) -> Any:
        if namespace(y, omega, v) is np:
            return _from_jax(self.prox, y, omega, v)
        return y * _solve(y * omega, v)[0]

    def dual(self, y: Any, omega: Any, v: Any) -> Any:
        if namespace(y, omega, v) is np:
            return _from_jax(self.dual, y, omega, v)
        return -y * _solve(y * omega, v)[1]

    def smoothed(self, y: Any, m: Any, T: Any, v: Any) -> Smoothed:
        y, m, T, v = jnp.broadcast_arrays(y, m, T, v)
        g, weight = _bent_rule(y * m, T, v)  # g of the margin y omega: y times that of omega
        y, m, T, v = (a[..., None] for a in (y, m, T, v))
        _, s, loss = _solve(y * m + T * g, v)
        bend = s * (1 - s)
        return smoothed_means(loss, -y * s, bend / (1 + v * bend), v, y * g, weight)


def _sigmoid(x: Any) -> Any:
    xp = namespace(x)
    small = xp.exp(-xp.abs(x))
    return xp.where(x >= 0, 1.0, small) / (1 + small)


def _from_jax(function: Any, *arguments: Any) -> np.ndarray:
    with jax.enable_x64(True):
        return np.asarray(function(*(jnp.asarray(a, dtype=float) for a in arguments)))


def _solve(u: Any, v: Any) -> tuple[Any, Any, Any]:
    """Return (z, s, loss) of the prox at margin u: z = u + v s, s = 1/(1 + e^z).

    In x = log s the equation is x + log(1 + exp(u + v e^x)) = 0, increasing and convex;
    three of Halley's steps from the start below reach rounding wherever a test looks.
    For u < -v/2 the mirror image (-z, 1 - s) is solved, so that z >= 0 throughout and
    no digits are lost.
    """
    mirrored = u < -0.5 * v
    u = jnp.where(mirrored, -u - v, u)
    # Where v s is large it is near W(e^X), X = log v - u: start from X - log X.
    X = jnp.log(jnp.maximum(v, 1e-300)) - u
    large = jnp.maximum(X, 1.0)
    lambert = jnp.log(large - jnp.log(large)) - jnp.log(jnp.maximum(v, 1e-300))
    x = jnp.minimum(jnp.where(X > 1, lambert, -_softplus(u)), -_softplus(u))
    for _ in range(_HALLEY_STEPS):
        vs = v * jnp.exp(x)
        value, chance = x + _softplus(u + vs), _sigmoid(u + vs)
        slope = 1 + vs * chance
        bend = vs * chance * (1 + vs * (1 - chance))
        x -= value * slope / (slope**2 - 0.5 * value * bend)
    s = jnp.exp(x)
    log_rest = jnp.log1p(-jnp.minimum(s, 0.75))  # s <= 1/2 at the root
    z = log_rest - x
    return (
        jnp.where(mirrored, -z, z),
        jnp.where(mirrored, 1 - s, s),
        jnp.where(mirrored, -x, -log_rest),
    )


def _softplus(x: Any) -> Any:
    return jnp.maximum(x, 0.0) + jnp.log1p(jnp.exp(-jnp.abs(x)))


def _bent_rule(m: Any, T: Any, v: Any) -> tuple[Any, Any]:
    """Return nodes g for the mean over u = m + T g.

    Around u = -v/2 the dual s(u) is symmetric; it bends where v l'' = 1, that is at
    cosh(z/2)^2 = v/4, and is a single sigmoid for v < 4.
    """
    z = 2 * jnp.arccosh(jnp.maximum(0.5 * jnp.sqrt(v), 1.0))
    upper = jnp.where(v > 4, z - v * _sigmoid(-z), -0.5 * v)
    width = jnp.maximum(T, 1e-2)  # wider bends than 100 standard deviations are flat
    to_g = lambda u: (u - m) / width  # noqa: E731
    return clustered_gaussian(to_g(-0.5 * v), (to_g(-v - upper), to_g(upper)), 4 / width)
