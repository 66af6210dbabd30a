"""Optimizers of SciPy, imported on first use: `scipy.optimize` takes a sixth of a second."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def brentq(function: Callable[..., Any], low: float, high: float, **options: Any) -> float:
    """Return the root of `scipy.optimize.brentq` with these options."""
    from scipy import optimize

    return float(optimize.brentq(function, low, high, **options))


def minimize(function: Callable[..., Any], start: Any, **options: Any) -> Any:
    """Return the result of `scipy.optimize.minimize` with these options."""
    from scipy import optimize

    return optimize.minimize(function, start, **options)


def minimize_scalar(function: Callable[[float], Any], **options: Any) -> Any:
    """Return the result of `scipy.optimize.minimize_scalar` with these options."""
    from scipy import optimize

    return optimize.minimize_scalar(function, **options)
