"""Tests of numerical errors against a tolerance."""

from __future__ import annotations

import math

from sparsetoken.results import Status, StatusCode

TOLERANCE = 1e-4
"""By default."""

_RELATIVE = 100.0  # times the tolerance: 1% by default


def allowed_error(value: float, tolerance: float) -> float:
    """Return the largest error of a number that a tolerance in (0, 1), or inf, allows.

    It is the tolerance itself for numbers up to 1 and relative to larger ones, but no more than
    100 times the tolerance relative to small ones: at 1e-4 a number of 1e-3 is known to 1e-5.
    """
    if math.isinf(tolerance):
        return math.inf
    size = abs(value)
    return tolerance * min(max(size, 1.0), _RELATIVE * size)


def status_of(value: float, error: float, tolerance: float, basis: str) -> Status:
    """Return whether twice an error, on a basis such as "64 nodes", is allowed."""
    if 2 * error <= allowed_error(value, tolerance):
        return Status(StatusCode.CONVERGED)
    needed = 2.2 * error / allowed_error(value, 1.0) if value else 1.0
    reached = f"Twice the error is {2 * error:.2e} with {basis}"
    remedy = f"{reached}; ask for a tolerance of {needed:.1e}." if needed < 1 else f"{reached}."
    return Status(StatusCode.TOLERANCE_NOT_REACHED, remedy)
