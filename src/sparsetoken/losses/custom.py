"""A loss of one's own, from its value alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from sparsetoken.losses.base import Loss
from sparsetoken.losses.namespace import namespace
from sparsetoken.validation import InvalidInput

__all__ = ["CustomLoss"]

_JUMP = 1e-3  # relative rise of the slope over 1e-11: more is no curvature
_GRID = np.concatenate([-np.geomspace(1e4, 1e-3, 400), [0.0], np.geomspace(1e-3, 1e4, 400)])


class CustomLoss(Loss):
    """A convex loss l(y, z) given by its value; the rest is derived.

    Slope and curvature come from automatic differentiation, the prox from Newton's
    method in a bracket, Gaussian means from quadrature over panels.

    Parameters
    ----------
    name : str
        A word; `get_loss(name)` finds the loss afterwards.
    value : callable
        Maps scalars (y, z) to l(y, z), written with ``jax.numpy``.

    Raises
    ------
    InvalidInput
        If the value is not finite, not convex in z or has a kink on a grid of
        |z| <= 1e4, with the place; if it is not written with ``jax.numpy``; or if the
        name is that of a built-in loss.

    Examples
    --------
    >>> import jax.numpy as jnp
    >>> from sparsetoken import CustomLoss
    >>> soft_hinge = CustomLoss("soft_hinge", lambda y, z: jnp.logaddexp(0.0, 1.0 - y * z))
    """

    def __init__(self, name: str, value: Callable[[Any, Any], Any]) -> None:
        self.name = name
        slope = jax.grad(value, argnums=1)
        self._values = jax.jit(jnp.vectorize(value))
        self._slopes = jax.jit(jnp.vectorize(slope))
        self._curvatures = jax.jit(jnp.vectorize(jax.grad(slope, argnums=1)))
        try:
            self._check_convex()
            self._check_kinks()
        except jax.errors.TracerArrayConversionError:
            remedy = "Use jnp.exp in place of np.exp, and so on."
            raise InvalidInput("loss value", "written with jax.numpy", value, remedy) from None
        from sparsetoken.losses import register

        register(self)

    def value(self, y: Any, z: Any) -> Any:
        return _evaluate(self._values, y, z)

    def slope(self, y: Any, z: Any) -> Any:
        return _evaluate(self._slopes, y, z)

    def curvature(self, y: Any, z: Any) -> Any:
        return _evaluate(self._curvatures, y, z)

    def _check_convex(self) -> None:
        for y in (-1.0, 1.0):
            l = np.asarray(self.value(y, _GRID))
            # A loss may overflow far out (exp does), but not where scores usually lie.
            bad = np.isnan(l) | (~np.isfinite(l) & (np.abs(_GRID) <= 100))
            if bad.any():
                raise InvalidInput("loss value", "finite", f"l({y:+g}, {_GRID[bad][0]:g})")
            z, l = _GRID[np.isfinite(l)], l[np.isfinite(l)]
            rise = np.diff(l) / np.diff(z)
            rounding = 1e-14 * (np.abs(l[1:]) + np.abs(l[:-1])) / np.diff(z)
            falls = np.diff(rise) < -(rounding[1:] + rounding[:-1])
            if falls.any():
                raise InvalidInput(
                    "loss",
                    "convex in z",
                    f"{self.name!r}, whose slope falls near l({y:+g}, {z[1:-1][falls][0]:g})",
                    "Only convex losses have the theory used here.",
                )

    def _check_kinks(self) -> None:
        """Follow the larger rise of the slope into each interval of the grid."""
        remedy = "Round it, as logaddexp rounds a maximum; see docs/losses.md."
        for y in (-1.0, 1.0):
            near = _GRID[np.abs(_GRID) <= 100]
            low, high = near[:-1], near[1:]
            for _ in range(40):
                middle = 0.5 * (low + high)
                left, centre, right = (self.slope(y, z) for z in (low, middle, high))
                first = centre - left > right - centre
                low, high = np.where(first, low, middle), np.where(first, middle, high)
            before = self.slope(y, low)
            jumps = self.slope(y, high) - before > _JUMP * (1 + np.abs(before))
            if jumps.any():
                got = f"{self.name!r}, whose slope jumps near l({y:+g}, {low[jumps][0]:.6g})"
                raise InvalidInput("loss", "without kinks", got, remedy)


def _evaluate(function: Callable[..., Any], y: Any, z: Any) -> Any:
    if namespace(y, z) is jnp:
        return function(y, z)
    with jax.enable_x64(True):
        return np.asarray(function(jnp.asarray(y, dtype=float), jnp.asarray(z, dtype=float)))
