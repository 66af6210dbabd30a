"""The hinge loss and its square."""

from __future__ import annotations

from typing import Any

from sparsetoken.losses.base import Loss, Smoothed
from sparsetoken.numerics.backend import namespace, ndtr
from sparsetoken.numerics.quadrature import RANGE, legendre, normal_density

_NODES = 32


class HingeLoss(Loss):
    """l(y, z) = max(0, 1 - y z)."""

    name = "hinge"
    smooth = False
    integrates = False

    def value(self, y: Any, z: Any) -> Any:
        return namespace(y, z).maximum(0.0, 1.0 - y * z)

    def slope(self, y: Any, z: Any) -> Any:
        return namespace(y, z).where(y * z < 1, -1.0 * y, 0.0 * y)

    def curvature(self, y: Any, z: Any) -> Any:
        return namespace(y, z).zeros_like(y * z, dtype=float)

    def prox(self, y: Any, omega: Any, v: Any) -> Any:
        u = y * omega
        return y * (u + namespace(u, v).clip(1 - u, 0.0, v))

    def dual(self, y: Any, omega: Any, v: Any) -> Any:
        xp = namespace(y, omega, v)
        gap = 1 - y * omega
        ramp = xp.clip(gap / xp.where(v > 0, v, 1.0), 0.0, 1.0)
        return -y * xp.where(v > 0, ramp, 1.0 * (gap > 0))

    def dual_slope(self, y: Any, omega: Any, v: Any) -> Any:
        xp = namespace(y, omega, v)
        gap = 1 - y * omega
        bent = (gap > 0) & (gap < v)
        return xp.where(bent, 1 / xp.where(v > 0, v, 1.0), 0.0)

    def smoothed(self, y: Any, m: Any, T: Any, v: Any) -> Smoothed:
        # In the margin u = y m + T g, the dual is -1 for g < a, -(b - g)/(b - a) up to b,
        # then 0. The middle is integrated in x = (b - g)/(b - a), cut to |g| <= RANGE.
        xp = namespace(y, m, T, v)
        y, m, T, v = xp.broadcast_arrays(y, m, T, v)
        T = xp.maximum(T, 1e-12)
        b, width = (1 - y * m) / T, v / T
        a = b - width
        some = xp.maximum(width, 1e-200)
        start, stop = (xp.clip((b + e) / some, 0.0, 1.0) for e in (-RANGE, RANGE))
        nodes, weights = legendre(_NODES)
        x = (0.5 * (start + stop))[..., None] + (0.5 * (stop - start))[..., None] * nodes
        g = b[..., None] - width[..., None] * x
        # D times the law of g:
        bend = (0.5 * (stop - start) / T)[..., None] * weights * normal_density(g)

        def mean(first: Any, second: Any) -> Any:
            return xp.einsum("...n,...n->...", first, second)

        bend_x, bend_g = bend * x, bend * g
        D, xD, xxD = bend.sum(axis=-1), bend_x.sum(axis=-1), mean(bend_x, x)
        below = ndtr(a)
        linear = T * (b * below + normal_density(a)) - 0.5 * v * below
        return Smoothed(
            M=linear + 0.5 * v * v * xxD,
            p=-y * (below + v * xD),
            pp=below + v * xxD,
            D=D,
            Dg=y * bend_g.sum(axis=-1),
            Dgg=mean(bend_g, g),
            pD=-y * xD,
            pDg=-mean(bend_x, g),
            ppD=xxD,
        )


class SquaredHingeLoss(Loss):
    """l(y, z) = max(0, 1 - y z)^2 / 2: the square loss, 0 beyond the margin."""

    name = "squared_hinge"
    integrates = False

    def value(self, y: Any, z: Any) -> Any:
        return 0.5 * namespace(y, z).maximum(0.0, 1.0 - y * z) ** 2

    def slope(self, y: Any, z: Any) -> Any:
        return -y * namespace(y, z).maximum(0.0, 1.0 - y * z)

    def curvature(self, y: Any, z: Any) -> Any:
        return namespace(y, z).where(y * z < 1, 1.0, 0.0)

    def prox(self, y: Any, omega: Any, v: Any) -> Any:
        pulled = (omega + v * y) / (1 + v)
        return namespace(y, omega, v).where(y * omega < 1, pulled, omega)

    def dual(self, y: Any, omega: Any, v: Any) -> Any:
        return -y * namespace(y, omega, v).maximum(0.0, 1 - y * omega) / (1 + v)

    def smoothed(self, y: Any, m: Any, T: Any, v: Any) -> Smoothed:
        # In the margin u = y m + T g, the dual is -T (b - g)/(1 + v) for g < b, else 0.
        T = namespace(T).maximum(T, 1e-12)
        b = (1 - y * m) / T
        below, density = ndtr(b), normal_density(b)
        D = 1 / (1 + v)
        mean = D * T * (b * below + density)
        pp = (D * T) ** 2 * ((1 + b**2) * below + b * density)
        return Smoothed(
            M=0.5 * (1 + v) * pp,
            p=-y * mean,
            pp=pp,
            D=D * below,
            Dg=-y * D * density,
            Dgg=D * (below - b * density),
            pD=-y * D * mean,
            pDg=D**2 * T * below,
            ppD=D * pp,
        )
