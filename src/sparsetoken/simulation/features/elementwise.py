"""The features of attention without normalisation."""

from __future__ import annotations

import numpy as np

from sparsetoken.attention import check_exponent, elementwise_weights
from sparsetoken.problem import SparseTokenProblem
from sparsetoken.simulation.features.queried import QueriedSampler
from sparsetoken.stages import Query


class ElementwiseSampler(QueriedSampler):
    """Samples (1/L) X^T phi(beta X q)."""

    sees_mean = True

    def check_query(self, problem: SparseTokenProblem, query: Query) -> None:
        """Refuse exponential weights that overflow."""
        shift = problem.strength * abs(query.cosine)
        check_exponent(self.model.activation, query.sharpness, shift)

    def weights(self, scores: np.ndarray) -> np.ndarray:
        """Return phi(scores) / L."""
        return elementwise_weights(scores, self.model.activation)
