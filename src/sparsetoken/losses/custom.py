"""A custom loss, from its value alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from sparsetoken.base.content import code_version
from sparsetoken.base.machine import need_jax
from sparsetoken.base.validation import InvalidInput, require_hashable
from sparsetoken.losses.base import Loss, written_with_jax
from sparsetoken.losses.built_in import check_new_name
from sparsetoken.numerics.backend import compiled, in_float64, namespace

_JUMP = 1e-3  # relative rise of the slope over 1e-11: more is no curvature
_GRID = np.concatenate([-np.geomspace(1e4, 1e-3, 400), [0.0], np.geomspace(1e-3, 1e4, 400)])
_Function = Callable[[Any, Any], Any]


class CustomLoss(Loss):
    """A convex loss l(y, z) given by its value; the rest is derived.

    Slope and curvature come from automatic differentiation, the prox from Newton's
    method in a bracket, Gaussian means from quadrature over panels.

    Two losses are equal if they have the same name, function and version. The function is
    compiled: where something that it refers to has changed, define it anew.

    Parameters
    ----------
    name : str
        A word other than the names of the built-in losses.
    value : callable
        Maps scalars (y, z) to l(y, z), written with ``jax.numpy``.
    version : str or int
        Of the function, for calls with ``keep=``: any text or whole number, to be changed whenever
        its code changes.

    Raises
    ------
    InvalidInput
        If JAX is not installed; if the value is not finite, not convex in z or has a kink on a
        grid of |z| <= 1e4, with the place; if it is not written with ``jax.numpy``; if the name
        is that of a built-in loss; or if the version is neither a text nor a whole number.

    See Also
    --------
    Loss : The interface of a loss.
    get_loss : A built-in loss by its name.

    Examples
    --------
    >>> import jax.numpy as jnp
    >>> from sparsetoken.losses import CustomLoss
    >>> soft_hinge = CustomLoss("soft_hinge", lambda y, z: jnp.logaddexp(0.0, 1.0 - y * z))
    """

    def __init__(
        self, name: str, value: Callable[[Any, Any], Any], *, version: str | int = ""
    ) -> None:
        need_jax()
        self.name = check_new_name(name)
        if not callable(value):
            raise InvalidInput("loss value", "a function of (y, z)", value)
        require_hashable("loss value", value, "y, z")
        self._function, self.version = value, code_version(version)
        _check_scalar(value)
        self._check_convex()
        self._check_kinks()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, CustomLoss) and vars(self) == vars(other)

    def __hash__(self) -> int:
        return hash((self.name, self._function))

    def value(self, y: Any, z: Any) -> Any:
        return _derivative(self._function, 0, y, z)

    def slope(self, y: Any, z: Any) -> Any:
        return _derivative(self._function, 1, y, z)

    def curvature(self, y: Any, z: Any) -> Any:
        return _derivative(self._function, 2, y, z)

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
                    "The theory requires convex losses.",
                )

    def _check_kinks(self) -> None:
        """Follow the larger rise of the slope into each interval of the grid."""
        remedy = "Smooth it, as logaddexp smooths a maximum; see docs/extending.md."
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


def _check_scalar(value: Callable[[Any, Any], Any]) -> None:
    """Raise `InvalidInput` unless a function of scalars is written with ``jax.numpy``."""
    import jax
    import jax.numpy as jnp

    scalar = jax.ShapeDtypeStruct((), np.float64)
    try:
        with written_with_jax("loss value", value):
            found = in_float64(jax.eval_shape)(value, scalar, scalar)
    except TypeError as error:  # other arguments, or a result that is no number
        legal = "a function of (y, z) that returns a number"
        raise InvalidInput("loss value", legal, value, f"{error}") from None
    if getattr(found, "shape", None) != () or not jnp.issubdtype(found.dtype, jnp.floating):
        remedy = "An integer cannot be differentiated: write 1.0 * z, for example."
        raise InvalidInput("loss value", "one float for each (y, z)", "another result", remedy)


def _derivative(function: _Function, order: int, y: Any, z: Any) -> Any:
    if namespace(y, z) is np:
        y, z = np.asarray(y, dtype=float), np.asarray(z, dtype=float)
    return _compiled(y, z, function, order)


@compiled("function", "order")
def _compiled(y: Any, z: Any, function: _Function, order: int) -> Any:
    """Return a derivative in float64; arrays of another type give their own type back."""
    import jax
    import jax.numpy as jnp

    for _ in range(order):
        function = jax.grad(function, argnums=1)
    values = jnp.vectorize(function)(jnp.asarray(y, dtype=float), jnp.asarray(z, dtype=float))
    return values.astype(jnp.promote_types(jnp.result_type(y, z), jnp.float32))
