"""Square loss."""

from __future__ import annotations

from typing import Any

from sparsetoken.losses.base import Loss, Smoothed
from sparsetoken.numerics.namespace import namespace


class SquareLoss(Loss):
    """l(y, z) = (z - y)^2 / 2.

    See Also
    --------
    LogisticLoss : The logistic loss.
    SquaredHingeLoss : The same, 0 beyond the margin.

    Examples
    --------
    >>> from sparsetoken.losses import SquareLoss
    >>> float(SquareLoss().slope(1.0, 0.0))
    -1.0
    """

    name = "square"
    real_labels = True
    integrates = False

    def value(self, y: Any, z: Any) -> Any:
        return 0.5 * (z - y) ** 2

    def slope(self, y: Any, z: Any) -> Any:
        return z - y

    def curvature(self, y: Any, z: Any) -> Any:
        return namespace(y, z).ones_like(z - y, dtype=float)

    def prox(self, y: Any, omega: Any, v: Any) -> Any:
        return (omega + v * y) / (1 + v)

    def dual(self, y: Any, omega: Any, v: Any) -> Any:
        return (omega - y) / (1 + v)

    def dual_slope(self, y: Any, omega: Any, v: Any) -> Any:
        return 1 / (1 + v + 0 * omega)

    def smoothed(self, y: Any, m: Any, T: Any, v: Any) -> Smoothed:
        D = 1 / (1 + v)
        p = D * (m - y)
        pp = p**2 + (D * T) ** 2
        return Smoothed(
            M=0.5 * (1 + v) * pp,
            p=p,
            pp=pp,
            D=D,
            Dg=0 * D,
            Dgg=D,
            pD=p * D,
            pDg=T * D**2,
            ppD=pp * D,
        )
