"""JAX beside NumPy: float64 whatever the caller's settings, one formula for both."""

from __future__ import annotations

import contextlib
import functools
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from types import ModuleType
from typing import Any, ParamSpec, TypeVar

import numpy as np

_P = ParamSpec("_P")
_T = TypeVar("_T")


def with_x64(function: Callable[_P, _T]) -> Callable[_P, _T]:
    """Run a function with float64 enabled in JAX, and with underflow to 0 in NumPy.

    The global settings stay as they are. Functions that import JAX themselves, which costs half
    a second where nobody has, enable float64 around their own calls of it.
    """

    @functools.wraps(function)
    def wrapped(*args: _P.args, **kwargs: _P.kwargs) -> _T:
        with _x64(), np.errstate(under="ignore"):
            return function(*args, **kwargs)

    return wrapped


def with_jax_x64(function: Callable[_P, _T]) -> Callable[_P, _T]:
    """Run a function that computes with JAX with float64 enabled; it may be the first to do so."""

    @functools.wraps(function)
    def wrapped(*args: _P.args, **kwargs: _P.kwargs) -> _T:
        import jax

        with jax.enable_x64(True), np.errstate(under="ignore"):
            return function(*args, **kwargs)

    return wrapped


def _x64() -> AbstractContextManager[object]:
    if sys.modules.get("jax") is None:
        return contextlib.nullcontext()
    import jax

    return jax.enable_x64(True)


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
