"""Losses that force an exact fit, the limits of losses as the ridge vanishes."""

from __future__ import annotations

from typing import Any

import numpy as np

from sparsetoken.losses.base import Loss, Smoothed

_ROUNDING = 1e-24  # of a squared distance


class ExactFit(Loss):
    """The loss 0 where a squared loss, square or squared_hinge, is 0, and infinite elsewhere.

    Its envelope is ``M_v = dist^2 / (2v)``, v > 0, with the distance to the scores of loss 0: {z =
    y} or {y z >= 1}. At v = 1 that is the squared loss itself; envelopes add their parameters, so
    M_v is the envelope of the squared loss at v - 1.
    """

    smooth = False

    def __init__(self, squared: Loss) -> None:
        self.name, self.squared = f"exact {squared.name}", squared

    def value(self, y: Any, z: Any) -> Any:
        far = np.asarray(self.squared.value(y, z)) > _ROUNDING
        return np.where(far, np.inf, 0.0)

    def slope(self, y: Any, z: Any) -> Any:
        return 0.0 * y * z

    def curvature(self, y: Any, z: Any) -> Any:
        return 0.0 * y * z

    def prox(self, y: Any, omega: Any, v: Any) -> Any:
        return omega - self.squared.slope(y, omega) + 0.0 * v

    def dual(self, y: Any, omega: Any, v: Any) -> Any:
        return self.squared.dual(y, omega, v - 1)

    def dual_slope(self, y: Any, omega: Any, v: Any) -> Any:
        return self.squared.dual_slope(y, omega, v - 1)

    def smoothed(self, y: Any, m: Any, T: Any, v: Any) -> Smoothed:
        return self.squared.smoothed(y, m, T, v - 1)
