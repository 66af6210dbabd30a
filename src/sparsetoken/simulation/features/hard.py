"""The features of hard attention: the token with the largest score."""

from __future__ import annotations

import numpy as np

from sparsetoken.simulation.features.queried import QueriedSampler
from sparsetoken.stages import Query


class HardSampler(QueriedSampler):
    """Samples the token with the largest projection on the query, at any sharpness."""

    def sharpness(self, query: Query) -> float:
        """Return 1: the order of the projections must survive a sharpness of 0."""
        return 1.0

    def weights(self, scores: np.ndarray) -> np.ndarray:
        """Return 1 for the largest score and 0 for all others."""
        chosen = np.zeros_like(scores)
        np.put_along_axis(chosen, scores.argmax(axis=-1)[..., None], 1.0, axis=-1)
        return chosen
