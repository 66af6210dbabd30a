"""Where a classifier of two classes draws the line."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Real
from typing import Any

import numpy as np
from jaxtyping import Float

from sparsetoken.base.validation import InvalidInput

Threshold = float | str | Mapping[str, float]

AUTO, SENSITIVITY = "auto", "sensitivity"


def check_threshold(threshold: Any, classes: int) -> None:
    """Raise `InvalidInput` unless a threshold is legal; with more than two classes it is 'auto'."""
    if isinstance(threshold, str) and threshold == AUTO:
        return
    if classes > 2:
        remedy = "predict_proba gives the probability of each."
        raise InvalidInput("threshold", "'auto' for more than two classes", threshold, remedy)
    if isinstance(threshold, Mapping):
        share: Any = threshold.get(SENSITIVITY)
        legal = len(threshold) == 1 and _is_number(share) and 0 < share <= 1
    else:
        legal = _is_number(threshold) and 0 < threshold < 1
    if not legal:
        words = "'auto', a probability in (0, 1), or {'sensitivity': s} with s in (0, 1]"
        raise InvalidInput("threshold", words, threshold)


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


def threshold_of(
    threshold: Threshold, chances: Float[np.ndarray, " m"], weight: Float[np.ndarray, " m"]
) -> float:
    """Return the probability of the second class from which on it is predicted.

    For a sensitivity it is the largest which at least such a share of the weight reaches.

    Parameters
    ----------
    threshold : float, "auto" or mapping
        A legal one.
    chances, weight : arrays of shape (m,)
        Probabilities of the second class of bags of it that are left out, and their weights.
    """
    if not isinstance(threshold, Mapping):
        return 0.5 if isinstance(threshold, str) else float(threshold)
    order = np.argsort(-chances, kind="stable")
    total = np.cumsum(weight[order]) / weight.sum()
    place = int(np.searchsorted(total, threshold[SENSITIVITY] * (1 - 1e-12)))  # sums are rounded
    return float(chances[order[min(place, len(order) - 1)]])
