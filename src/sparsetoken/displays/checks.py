"""Checks of a precomputed learning curve."""

from __future__ import annotations

from typing import Any

import numpy as np
from jaxtyping import Float

from sparsetoken.bags.convert import as_floats
from sparsetoken.validation import InvalidInput


def rising(name: str, values: Any) -> Float[np.ndarray, " m"]:
    """Return rising numbers > 0, or raise `InvalidInput`."""
    given = as_floats(values, float, name)
    if given.ndim != 1 or not given.size or not (given > 0).all() or (np.diff(given) <= 0).any():
        raise InvalidInput(name, "rising numbers > 0, an array of shape (m,)", values)
    return given


def read_errors(errors: Any, m: int) -> Float[np.ndarray, "m folds"]:
    """Return the errors of m sizes and at least two folds, or raise `InvalidInput`."""
    given = as_floats(errors, float, "test_errors")
    fits = given.ndim == 2 and len(given) == m and given.shape[1] > 1
    if not fits or not ((given >= 0) & (given <= 1)).all():
        legal = f"an array of shape ({m}, folds >= 2) with values in [0, 1]"
        raise InvalidInput("test_errors", legal, f"shape {given.shape}, or values outside")
    return given


def read_curve(sizes: Any, errors: Any) -> tuple[np.ndarray, np.ndarray] | tuple[None, None]:
    """Return sizes and errors of one length, or two times None, or raise `InvalidInput`."""
    if sizes is None and errors is None:
        return None, None
    legal = "both given or both None, of one length, with errors in [0, 1] or nan"
    if sizes is None or errors is None:
        missing = "predicted_sizes" if sizes is None else "predicted_errors"
        raise InvalidInput("predicted_sizes and predicted_errors", legal, f"no {missing}")
    x, value = rising("predicted_sizes", sizes), as_floats(errors, float, "predicted_errors")
    inside = np.isnan(value) | ((value >= 0) & (value <= 1))
    if value.shape != x.shape or not inside.all():
        got = f"shapes {x.shape} and {value.shape}, or errors outside"
        raise InvalidInput("predicted_sizes and predicted_errors", legal, got)
    return x, value
