"""Float64 inside our functions, whatever the caller's JAX settings."""

from __future__ import annotations

import contextlib
import functools
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import ParamSpec, TypeVar

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


def _x64() -> AbstractContextManager[object]:
    if "jax" not in sys.modules:
        return contextlib.nullcontext()
    import jax

    return jax.enable_x64(True)
