"""The error that a result states of a mean over few independent values."""

from __future__ import annotations

import functools
import math

import numpy as np
from jaxtyping import Float
from scipy.special import stdtrit


def stated_error(values: Float[np.ndarray, " n *shape"]) -> Float[np.ndarray, " *shape"]:
    """Return the error of a mean over the first axis, such that twice it covers 95%.

    It is the standard error times the quantile of Student's t over 2: so few scrambles or replicas
    know their own spread badly. The error of a single value is 0.
    """
    n = len(values)
    if n < 2:
        return np.zeros(np.shape(values)[1:])
    return np.asarray(np.std(values, axis=0, ddof=1) * (_half_quantile(n - 1) / math.sqrt(n)))


@functools.cache
def _half_quantile(freedom: int) -> float:
    return float(stdtrit(freedom, 0.975)) / 2
