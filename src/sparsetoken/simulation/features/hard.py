"""The features of hard attention: the token with the largest score."""

from __future__ import annotations

import dataclasses

import numpy as np

from sparsetoken.problem import SparseTokenProblem
from sparsetoken.simulation.engine import TrainedQuery
from sparsetoken.simulation.features.queried import QueriedSampler, Scalars
from sparsetoken.stages import Query


class HardSampler(QueriedSampler):
    """Samples the token with the largest projection on the query, at any sharpness."""

    def weights(self, scores: np.ndarray) -> np.ndarray:
        """Return 1 for the largest score and 0 for all others."""
        chosen = np.zeros_like(scores)
        np.put_along_axis(chosen, scores.argmax(axis=-1)[..., None], 1.0, axis=-1)
        return chosen

    def features(self, X: np.ndarray, trained: TrainedQuery | None) -> np.ndarray:
        """Return the token with the largest projection."""
        assert trained is not None
        return super().features(X, dataclasses.replace(trained, query=_sharp(trained.query)))

    def _scalar_chunk(
        self,
        problem: SparseTokenProblem,
        query: Query,
        positive: np.ndarray,
        rng: np.random.Generator,
    ) -> Scalars:
        return super()._scalar_chunk(problem, _sharp(query), positive, rng)


def _sharp(query: Query) -> Query:
    """Return the query at sharpness 1: the order of the scores must survive a sharpness of 0."""
    return dataclasses.replace(query, sharpness=1.0)
