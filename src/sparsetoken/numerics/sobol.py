"""SciPy's Sobol sequences, imported on first use: scipy.stats takes half a second to import."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy

BITS = 30  # of a coordinate
MOST_DIMENSIONS = 21201  # for which SciPy has direction numbers


def sobol_sequence(dimensions: int, rng: np.random.Generator | None = None) -> Any:
    """Return a `scipy.stats.qmc.Sobol`, scrambled by a generator if there is one."""
    sequence = scipy.stats.qmc.Sobol  # imported here, on first use
    return sequence(dimensions, scramble=rng is not None, bits=BITS, rng=rng)
