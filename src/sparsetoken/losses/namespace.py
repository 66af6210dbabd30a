"""One formula for NumPy and JAX."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np


def namespace(*arrays: Any) -> ModuleType:
    """Return jax.numpy if any argument is a JAX array or tracer, else numpy."""
    return jnp if any(isinstance(a, jax.Array) for a in arrays) else np
