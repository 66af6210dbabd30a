"""The area under the ROC curve of a sample of scores."""

from __future__ import annotations

import math

import numpy as np
from jaxtyping import Float, Real


def sample_auc(scores: Float[np.ndarray, " n"], labels: Real[np.ndarray, " n"]) -> float:
    """Return the fraction of correctly ordered pairs of the two classes; a tie counts one half.

    It is nan if the labels are of one class or a score is nan.
    """
    plus, minus = scores[labels > 0], np.sort(scores[labels < 0])
    if len(plus) == 0 or len(minus) == 0 or np.isnan(scores).any():
        return math.nan
    below, up_to = (np.searchsorted(minus, plus, side) for side in ("left", "right"))
    return float((below.sum() + up_to.sum()) / (2 * len(plus) * len(minus)))
