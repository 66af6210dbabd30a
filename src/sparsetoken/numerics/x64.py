"""Float64 inside our functions, whatever the caller's JAX settings."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import ParamSpec, TypeVar

import jax
import numpy as np

_P = ParamSpec("_P")
_T = TypeVar("_T")


def with_x64(function: Callable[_P, _T]) -> Callable[_P, _T]:
    """Run a function with float64 enabled in JAX, and with underflow to 0 in NumPy.

    The global settings stay as they are.
    """

    @functools.wraps(function)
    def wrapped(*args: _P.args, **kwargs: _P.kwargs) -> _T:
        with jax.enable_x64(True), np.errstate(under="ignore"):
            return function(*args, **kwargs)

    return wrapped
