"""Squared hinge loss."""

from __future__ import annotations

from typing import Any

from sparsetoken.losses.base import Loss, Smoothed
from sparsetoken.numerics.namespace import namespace, ndtr
from sparsetoken.numerics.quadrature import normal_density


class SquaredHingeLoss(Loss):
    """l(y, z) = max(0, 1 - y z)^2 / 2: the square loss, 0 beyond the margin.

    See Also
    --------
    HingeLoss : Without the square.
    SquareLoss : The square loss.

    Examples
    --------
    >>> from sparsetoken.losses import SquaredHingeLoss
    >>> float(SquaredHingeLoss().curvature(1.0, 0.0))
    1.0
    """

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

    def dual_slope(self, y: Any, omega: Any, v: Any) -> Any:
        return namespace(y, omega, v).where(y * omega < 1, 1 / (1 + v), 0.0)

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
