"""The features of softmax attention."""

from __future__ import annotations

import numpy as np

from sparsetoken.attention import softmax_weights
from sparsetoken.simulation.features.queried import QueriedSampler


class SoftmaxSampler(QueriedSampler):
    """Samples X^T softmax(beta X q)."""

    def weights(self, scores: np.ndarray) -> np.ndarray:
        """Return softmax(scores)."""
        return softmax_weights(scores)
