"""A custom loss, from its value alone."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import cloudpickle
import numpy as np

from sparsetoken.base.machine import need_jax
from sparsetoken.base.validation import InvalidInput
from sparsetoken.losses.base import Loss
from sparsetoken.losses.built_in import check_new_name
from sparsetoken.losses.identity import digest_of, not_traceable
from sparsetoken.numerics.backend import namespace

_JUMP = 1e-3  # relative rise of the slope over 1e-11: more is no curvature
_GRID = np.concatenate([-np.geomspace(1e4, 1e-3, 400), [0.0], np.geomspace(1e-3, 1e4, 400)])
_Scalar = Callable[[Any, Any], Any]


class _Traced(NamedTuple):
    """Value, slope and curvature as functions of scalars (y, z)."""

    value: _Scalar
    slope: _Scalar
    curvature: _Scalar

    @property
    def digest(self) -> str:
        return digest_of([(function, 2) for function in self])


class CustomLoss(Loss):
    """A convex loss l(y, z) given by its value; the rest is derived.

    Slope and curvature come from automatic differentiation, the prox from Newton's
    method in a bracket, Gaussian means from quadrature over panels.

    The function is traced once, here: if a variable that it uses changes afterwards, the loss
    stays what it is. Two losses of one name are equal if they compute the same. A loss can be
    pickled, and so sent to other processes, if its function can be pickled by cloudpickle.

    Parameters
    ----------
    name : str
        A word other than the names of the built-in losses.
    value : callable
        Maps scalars (y, z) to l(y, z), written with ``jax.numpy``.

    Raises
    ------
    InvalidInput
        If JAX is not installed; if the value is not finite, not convex in z or has a kink on a
        grid of |z| <= 1e4, with the place; if it is not written with ``jax.numpy``; or if the
        name is that of a built-in loss. Pickling raises it if the function cannot be pickled.

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

    def __init__(self, name: str, value: Callable[[Any, Any], Any]) -> None:
        need_jax()
        self.name = check_new_name(name)
        if not callable(value):
            raise InvalidInput("loss value", "a function of (y, z)", value)
        self._function = value
        self._traced = _trace(value)
        self._check_convex()
        self._check_kinks()

    def __deepcopy__(self, memory: Any) -> CustomLoss:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return _unpickled, (self.name, self.digest, self._pickled)

    @functools.cached_property
    def _pickled(self) -> bytes:
        """The function as bytes, which were seen to give the same loss again."""
        try:
            pickled = cloudpickle.dumps(self._function)
            digest = _trace(cloudpickle.loads(pickled)).digest
        except Exception as error:
            got = f"{self.name!r}, which cannot be ({type(error).__name__}: {error})"
            remedy = "Use a function that refers only to numbers, arrays and jax.numpy."
            raise InvalidInput("loss", "one that can be pickled", got, remedy) from None
        if digest != self.digest:
            got = f"{self.name!r}, whose variables have changed since it was made"
            raise InvalidInput("loss", "one that can be pickled", got, "Create it again.")
        return pickled

    @functools.cached_property
    def _traced(self) -> _Traced:
        """Return the functions of a loss that came from another process."""
        legal = "one whose function means the same in every process"
        try:
            traced = _trace(cloudpickle.loads(self._pickled))
        except Exception as error:
            got = f"{self.name!r}, which cannot be read back ({type(error).__name__}: {error})"
            remedy = "Define the function in the script, or in a module that workers can import."
            raise InvalidInput("loss", legal, got, remedy) from None
        if traced.digest != self.digest:
            got = f"{self.name!r}, which computes something else here"
            raise InvalidInput("loss", legal, got, "Use the same code in all processes.")
        return traced

    @functools.cached_property
    def digest(self) -> str:
        """A hash of what value, slope and curvature compute. It holds for one version of JAX."""
        return self._traced.digest

    @functools.cached_property
    def _arrays(self) -> _Traced:
        """The same for arrays, compiled."""
        import jax
        import jax.numpy as jnp

        return _Traced(*(jax.jit(jnp.vectorize(function)) for function in self._traced))

    def value(self, y: Any, z: Any) -> Any:
        return _evaluate(self._arrays.value, y, z)

    def slope(self, y: Any, z: Any) -> Any:
        return _evaluate(self._arrays.slope, y, z)

    def curvature(self, y: Any, z: Any) -> Any:
        return _evaluate(self._arrays.curvature, y, z)

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


def _trace(value: Callable[[Any, Any], Any]) -> _Traced:
    """Trace a function of scalars in float64, with the variables that it uses as they are now."""
    import jax
    import jax.numpy as jnp
    from jax.extend.core import jaxpr_as_fun

    scalar = jax.ShapeDtypeStruct((), np.float64)
    try:
        with jax.enable_x64(True):
            # JAX remembers what it traced by the function, and this one is new.
            traced = jax.make_jaxpr(lambda y, z: value(y, z))(scalar, scalar)
    except not_traceable():
        remedy = "Use jnp.exp in place of np.exp, jnp.where in place of if, and so on."
        raise InvalidInput("loss value", "written with jax.numpy", value, remedy) from None
    except TypeError as error:  # other arguments, or a result that is no number
        legal = "a function of (y, z) that returns a number"
        raise InvalidInput("loss value", legal, value, f"{error}") from None

    results = [
        (value.shape, jnp.issubdtype(value.dtype, jnp.floating)) for value in traced.out_avals
    ]
    if results != [((), True)]:
        remedy = "An integer cannot be differentiated: write 1.0 * z, for example."
        raise InvalidInput("loss value", "one float for each (y, z)", "another result", remedy)

    def again(y: Any, z: Any) -> Any:
        return jaxpr_as_fun(traced)(y, z)[0]

    slope = jax.grad(again, argnums=1)
    return _Traced(again, slope, jax.grad(slope, argnums=1))


def _unpickled(name: str, digest: str, pickled: bytes) -> CustomLoss:
    """Return a loss whose function is read when it is first used.

    An error of reading then belongs to the call that uses it, and does not end the process.
    """
    loss = CustomLoss.__new__(CustomLoss)
    loss.name, loss.digest, loss._pickled = name, digest, pickled
    return loss


def _evaluate(function: _Scalar, y: Any, z: Any) -> Any:
    """Evaluate in float64; JAX arrays of another type give their own type back."""
    import jax
    import jax.numpy as jnp

    with jax.enable_x64(True):
        values = function(jnp.asarray(y, dtype=float), jnp.asarray(z, dtype=float))
        if namespace(y, z) is np:
            return np.asarray(values)
        return values.astype(jnp.promote_types(jnp.result_type(y, z), jnp.float32))
