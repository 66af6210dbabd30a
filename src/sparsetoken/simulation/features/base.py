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
from sparsetoken.simulation.engine import ScoreMoments, Split, TrainedQuery
from sparsetoken.simulation.frames import TokenFrame
from sparsetoken.simulation.performance import ClassScores
from sparsetoken.stages import Query
from sparsetoken.validation import InvalidInput


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

    def check_tokens(self, problem: SparseTokenProblem) -> None:  # noqa: B027
        """Raise `InvalidInput` if the model cannot work with these tokens."""

    def draw_vectors(
        self,
        problem: SparseTokenProblem,
        frame: TokenFrame,
        trained: TrainedQuery | None,
        y: Int[np.ndarray, " n"],
        rng: np.random.Generator,
    ) -> Float[np.ndarray, "n m"]:
        """Draw features of tokens of a covariance without the tokens."""
        raise self._unknown(problem)

    def correlated_scores(
        self,
        problem: SparseTokenProblem,
        query: Query | None,
        moments: ScoreMoments,
        bias: float,
        rng: np.random.Generator,
    ) -> Iterator[ClassScores]:
        """Yield the Gaussian scores of new samples among tokens of a covariance."""
        raise self._unknown(problem)

    def _unknown(self, problem: SparseTokenProblem) -> InvalidInput:
        return InvalidInput("tokens", f"Isotropic() for {self.model.name}", problem.tokens)

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
