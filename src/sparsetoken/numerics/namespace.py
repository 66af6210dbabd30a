"""One formula for NumPy and JAX."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

import numpy as np
import scipy


def namespace(*arrays: Any) -> ModuleType:
    """Return jax.numpy if any argument is a JAX array or tracer, else numpy.

    Nothing is one before JAX is imported, which takes half a second and is left to those who
    need it.
    """
    if "jax" not in sys.modules:
        return np
    import jax

    return jax.numpy if any(isinstance(a, jax.Array) for a in arrays) else np


def ndtr(x: Any) -> Any:
    """Return the distribution function of N(0, 1)."""
    if namespace(x) is np:
        return scipy.special.ndtr(x)
    from jax.scipy import special

    return special.ndtr(x)
