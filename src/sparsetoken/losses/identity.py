"""The identity of a loss: a digest of its computations."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from sparsetoken.base.validation import InvalidInput


def not_traceable() -> tuple[type[Exception], ...]:
    """Return what JAX raises where a function is written for NumPy or branches on arguments."""
    from jax.errors import ConcretizationTypeError, TracerArrayConversionError

    return TracerArrayConversionError, ConcretizationTypeError


def digest_of(functions: Sequence[tuple[Callable[..., Any], int]]) -> str:
    """Return a hash of what functions of float64 scalars compute.

    Each is given with the number of its arguments. The hash is taken over the StableHLO text of the
    functions, which holds every operation and every constant, derivatives that are given by rule
    included. It is the same in every process and on every machine that has the same version of JAX.

    Raises
    ------
    InvalidInput
        If a function is not written with ``jax.numpy``.
    """
    text = hashlib.blake2b(digest_size=8)
    for function, arguments in functions:
        text.update(_lowered(function, arguments).encode())
    return text.hexdigest()


def _lowered(function: Callable[..., Any], arguments: int) -> str:
    import jax

    scalars = [jax.ShapeDtypeStruct((), np.float64)] * arguments
    try:
        with jax.enable_x64(True):
            traced = jax.jit(lambda *given: function(*given)).trace(*scalars)
            return traced.lower(lowering_platforms=("cpu",)).as_text()
    except not_traceable():
        remedy = "Use jnp.exp in place of np.exp, jnp.where in place of if, and so on."
        raise InvalidInput("loss", "written with jax.numpy", function, remedy) from None
