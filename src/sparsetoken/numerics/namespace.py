"""One formula for NumPy and JAX."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

import numpy as np
import scipy

_PLAIN = (np.ndarray, float, int)
"""What surely is no JAX array, which takes far longer to ask."""


def namespace(*arrays: Any) -> ModuleType:
    """Return jax.numpy if any argument is a JAX array or tracer, else numpy.

    Nothing is one before JAX is imported, which takes half a second and is left to those who
    need it.
    """
    for array in arrays:
        if not isinstance(array, _PLAIN):
            break
    else:
        return np
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
