"""What a simulation asks of the features of a model."""

from __future__ import annotations

import abc
from collections.abc import Iterator
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from sparsetoken.problem import SparseTokenProblem
from sparsetoken.results import Overlaps
from sparsetoken.simulation.budget import Columns
from sparsetoken.simulation.designs import ReducedDesign
from sparsetoken.simulation.engine import Split, TrainedQuery
from sparsetoken.simulation.performance import ClassScores
from sparsetoken.stages import Query

__all__ = ["FeatureSampler"]


class FeatureSampler(abc.ABC):
    """How the features of one model are sampled, with tokens and without.

    Parameters
    ----------
    model : Model
    """

    def __init__(self, model: Any) -> None:
        self.model = model

    @abc.abstractmethod
    def columns(self, length: int, dimension: int) -> Columns:
        """Return the numbers of named and of other columns."""

    def check_query(self, problem: SparseTokenProblem, query: Query) -> None:  # noqa: B027
        """Raise `InvalidInput` if the model cannot work with this query."""

    @abc.abstractmethod
    def draw(
        self,
        problem: SparseTokenProblem,
        query: Query | None,
        y: Int[np.ndarray, " n"],
        dimension: int,
        rng: np.random.Generator,
    ) -> ReducedDesign:
        """Draw features without tokens, in a frame whose first columns are named."""

    @abc.abstractmethod
    def features(
        self, X: Float[np.ndarray, "n L d"], trained: TrainedQuery | None
    ) -> Float[np.ndarray, "n m"]:
        """Return the features of real tokens."""

    @abc.abstractmethod
    def axes(
        self, signal: Float[np.ndarray, " d"], trained: TrainedQuery | None
    ) -> Float[np.ndarray, "k d"]:
        """Return the named directions, as orthonormal rows."""

    @abc.abstractmethod
    def overlaps(self, split: Split, bias: float) -> Overlaps:
        """Return a readout as overlaps."""

    @abc.abstractmethod
    def scores(
        self,
        problem: SparseTokenProblem,
        query: Query | None,
        split: Split,
        bias: float,
        rng: np.random.Generator,
    ) -> Iterator[ClassScores]:
        """Yield the Gaussian scores of new samples given the few scalars they depend on."""
