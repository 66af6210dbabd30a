"""Points that are means over trials."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sparsetoken.experiments.points import Point

__all__ = ["averaged"]


def averaged(
    curve: str,
    quantity: str,
    x: float,
    values: Sequence[float],
    *,
    dimension: int,
    **more: Any,
) -> Point:
    """Return the mean of one value for each trial, with its standard error.

    The error is nan for a single trial. The source is real tokens unless `more` says
    otherwise.
    """
    n = len(values)
    error = float(np.std(values, ddof=1) / np.sqrt(n)) if n > 1 else float("nan")
    more = {"source": "tensors", **more}
    return Point(
        curve, quantity, x, float(np.mean(values)), error, dimension=dimension, trials=n, **more
    )
