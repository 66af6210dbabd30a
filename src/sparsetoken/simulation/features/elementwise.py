"""The features of attention without normalisation."""

from __future__ import annotations

import math

import numpy as np

from sparsetoken.attention import check_exponent, elementwise_weights
from sparsetoken.problem import SparseTokenProblem
from sparsetoken.simulation.features.queried import QueriedSampler
from sparsetoken.simulation.frames import TrainedQuery


class ElementwiseSampler(QueriedSampler):
    """Samples (1/L) X^T phi(beta X q)."""

    sees_mean = True

    def check_query(self, problem: SparseTokenProblem, trained: TrainedQuery) -> None:
        """Refuse exponential weights that overflow."""
        noise = math.hypot(1.0, trained.shared)
        shift = problem.strength * abs(trained.projected) / noise
        check_exponent(self.model.activation, trained.query.sharpness * noise, shift)

    def weights(self, scores: np.ndarray) -> np.ndarray:
        """Return phi(scores) / L."""
        return elementwise_weights(scores, self.model.activation)
