"""Sobol sequences of SciPy, imported on first use: its statistics take half a second to import."""

from __future__ import annotations

from typing import Any

MOST_DIMENSIONS = 21201  # for which SciPy has direction numbers


def sobol_sequence(dimensions: int, **options: Any) -> Any:
    """Return a `scipy.stats.qmc.Sobol` with these options."""
    from scipy.stats import qmc

    return qmc.Sobol(dimensions, **options)
