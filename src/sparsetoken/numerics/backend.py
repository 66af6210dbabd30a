"""JAX beside NumPy: float64 whatever the caller's settings, one formula for both."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any, ParamSpec, TypeVar

import numpy as np

_P = ParamSpec("_P")
_T = TypeVar("_T")


def in_float64(function: Callable[_P, _T]) -> Callable[_P, _T]:
    """Run a function that may compute with JAX in float64; NumPy in gives NumPy out.

    The global settings stay as they are, and JAX is imported at the first call.
    """

    @functools.wraps(function)
    def wrapped(*args: _P.args, **kwargs: _P.kwargs) -> _T:
        import jax

        with jax.enable_x64(True):
            found = function(*args, **kwargs)
            if namespace(*args) is not np:
                return found
            leaves, tree = jax.tree.flatten(found)  # device_get takes four times as long
            own = [np.asarray(x) if hasattr(x, "__array__") else x for x in leaves]
            return jax.tree.unflatten(tree, own)

    return wrapped


def compiled(*static: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Compile a function with JAX, in float64; NumPy in gives NumPy out.

    Parameters
    ----------
    *static : str
        Names of arguments that are hashable values rather than arrays: what is compiled is kept
        by them, as `jax.jit` does.
    """

    def decorated(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.cache
        def jitted() -> Callable[..., Any]:
            import jax

            return jax.jit(function, static_argnames=static)

        @in_float64
        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            return jitted()(*args, **kwargs)

        return call

    return decorated


_PLAIN = (np.ndarray, float, int)
"""What surely is no JAX array, which takes far longer to ask."""


def namespace(*arrays: Any) -> ModuleType:
    """Return jax.numpy if any argument is a JAX array or tracer, else numpy.

    Nothing is one before JAX is imported, which may not be installed, takes half a second and is
    left to those who need it.
    """
    for array in arrays:
        if not isinstance(array, _PLAIN):
            break
    else:
        return np
    if sys.modules.get("jax") is None:
        return np
    import jax

    return jax.numpy if any(isinstance(a, jax.Array) for a in arrays) else np


def special(*arrays: Any) -> ModuleType:
    """Return jax.scipy.special where `namespace` is jax.numpy, else scipy.special."""
    if namespace(*arrays) is np:
        import scipy.special

        return scipy.special
    from jax.scipy import special

    return special


def ndtr(x: Any) -> Any:
    """Return the distribution function of N(0, 1)."""
    return special(x).ndtr(x)
