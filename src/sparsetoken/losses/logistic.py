"""Logistic loss."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy

from sparsetoken.losses.base import Loss, Smoothed, smoothed_means
from sparsetoken.numerics.backend import namespace
from sparsetoken.numerics.quadrature import clustered_gaussian, even_gaussian, even_nodes

_HALLEY_STEPS = 3
_FEW_VALUES = 2**14  # at evenly spaced nodes, which are exact to rounding


class LogisticLoss(Loss):
    """l(y, z) = log(1 + exp(-y z))."""

    name = "logistic"
    # 1 + v l'' vanishes at z = i pi + real only, and v l'(z) is real there.
    strip = math.pi

    def value(self, y: Any, z: Any) -> Any:
        return namespace(y, z).logaddexp(0.0, -y * z)

    def slope(self, y: Any, z: Any) -> Any:
        return -y * _sigmoid(-y * z)

    def curvature(self, y: Any, z: Any) -> Any:
        return _sigmoid(z) * _sigmoid(-z) + 0 * y

    def prox(self, y: Any, omega: Any, v: Any) -> Any:
        return y * _solve(y * omega, v)[0]

    def dual(self, y: Any, omega: Any, v: Any) -> Any:
        return -y * _solve(y * omega, v)[1]

    def at_prox(self, y: Any, omega: Any, v: Any) -> tuple[Any, Any, Any]:
        _, s, loss = _solve(y * omega, v)
        bend = s * (1 - s)
        return loss, -y * s, bend / (1 + v * bend)

    def smoothed(self, y: Any, m: Any, T: Any, v: Any) -> Smoothed:
        xp = namespace(y, m, T, v)
        y, m, T, v = xp.broadcast_arrays(y, m, T, v)
        nodes = even_nodes(T, self.strip) if xp is np else math.inf
        few = y.size * nodes <= _FEW_VALUES
        # g of the margin y omega: y times that of omega
        g, weight = even_gaussian(int(nodes)) if few else _bent_rule(y * m, T, v)
        y, m, T, v = (a[..., None] for a in (y, m, T, v))
        _, s, loss = _solve(y * m + T * g, v)
        bend = s * (1 - s)
        return smoothed_means(loss, -y * s, bend / (1 + v * bend), v, y * g, weight)


def _sigmoid(x: Any) -> Any:
    xp = namespace(x)
    if xp is np:
        return scipy.special.expit(x)
    small = xp.exp(-xp.abs(x))
    return xp.where(x >= 0, 1.0, small) / (1 + small)


def _solve(u: Any, v: Any) -> tuple[Any, Any, Any]:
    """Return (z, s, loss) of the prox at margin u: z = u + v s, s = 1/(1 + e^z).

    For u < -v/2 the mirror image (-z, 1 - s) is solved, so that z >= 0 throughout and
    no digits are lost. Three of Halley's steps from the start below reach rounding for v and
    |u| up to 1e16.
    """
    xp = namespace(u, v)
    mirrored = u < -0.5 * v
    u = xp.where(mirrored, -u - v, u)
    # v s is below v / (1 + e^u), and where it is large near W(e^X), X = log v - u.
    X = xp.log(xp.maximum(v, 1e-300)) - u
    large = xp.maximum(X, 1.0)
    lambert = xp.where(X > 1, large - xp.log(large), xp.inf)
    z = xp.maximum(u + xp.minimum(lambert, v * _sigmoid(-u)), 0.0)
    for _ in range(_HALLEY_STEPS):
        small = xp.exp(-z)
        rest = 1 / (1 + small)
        s = small * rest
        value, slope = z - u - v * s, 1 + v * s * rest
        bend = v * s * rest * (s - rest)
        z = z - value * slope / (slope**2 - 0.5 * value * bend)
    small = xp.exp(-z)
    s, loss = small / (1 + small), xp.log1p(small)
    return (
        xp.where(mirrored, -z, z),
        xp.where(mirrored, 1 - s, s),
        xp.where(mirrored, z + loss, loss),
    )


def _bent_rule(m: Any, T: Any, v: Any) -> tuple[Any, Any]:
    """Return nodes g for the mean over u = m + T g.

    Around u = -v/2 the dual s(u) is symmetric; it bends where v l'' = 1, that is at
    cosh(z/2)^2 = v/4, and is a single sigmoid for v < 4.
    """
    xp = namespace(m, T, v)
    z = 2 * xp.arccosh(xp.maximum(0.5 * xp.sqrt(v), 1.0))
    upper = xp.where(v > 4, z - v * _sigmoid(-z), -0.5 * v)
    width = xp.maximum(T, 1e-2)  # wider bends than 100 standard deviations are flat
    to_g = lambda u: (u - m) / width  # noqa: E731
    return clustered_gaussian(to_g(-0.5 * v), (to_g(-v - upper), to_g(upper)), 4 / width)
