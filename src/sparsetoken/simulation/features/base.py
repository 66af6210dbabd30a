"""The interface of the features of a model in simulations."""

from __future__ import annotations

import abc
import dataclasses
from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np
from jaxtyping import Float, Int

from sparsetoken.model.problem import SparseTokenProblem
from sparsetoken.results import Overlaps
from sparsetoken.simulation.budget import Columns
from sparsetoken.simulation.frames import TokenFrame, TrainedQuery
from sparsetoken.simulation.performance import ClassScores


@dataclasses.dataclass(frozen=True)
class Projections:
    """Projections of a readout w: what is reported of it, and what its scores depend on.

    Attributes
    ----------
    named : array of shape (k,)
        With a query: <w, q>/|q| and the coordinate along the signal beside it. pooled: (<w, xi>,).
        vectorized: <W_l, xi> for each position l.
    rest : float
        Norm of what is left.
    signal : array of shape (positions,)
        <w, xi>, for each position that has weights of its own.
    along : float
        <w, u>, u = S_w q/sigma.
    beside : float
        w^T (S_w - u u^T) w, added up over positions.
    between : float
        w^T S_b w, of the sum over positions.
    along_effect : float
        <w, u_b>, u_b = S_b q/sigma_b.
    dimension : int or None
        Number of features, on which it depends how exact an average over draws need be.
    """

    named: Float[np.ndarray, " k"]
    rest: float
    signal: Float[np.ndarray, " positions"]
    along: float
    beside: float
    between: float = 0.0
    along_effect: float = 0.0
    dimension: int | None = None


class FeatureSampler(abc.ABC):
    """How the features of one model are sampled, with tokens and without.

    Parameters
    ----------
    model : Model

    Attributes
    ----------
    directions : int
        Number of directions that scores depend on, at each position that has weights of its own.
    """

    directions: ClassVar[int] = 1

    def __init__(self, model: Any) -> None:
        self.model = model

    def positions(self, length: int) -> int:
        """Return how many positions have weights of their own."""
        return 1

    def columns(self, length: int, dimension: int) -> Columns:
        """Return the numbers of named and of other columns."""
        named = self.positions(length) * self.directions
        return Columns(named, self.positions(length) * dimension - named)

    def check_query(self, problem: SparseTokenProblem, trained: TrainedQuery) -> None:  # noqa: B027
        """Raise `InvalidInput` if the model cannot work with this query."""

    @abc.abstractmethod
    def draw(
        self,
        problem: SparseTokenProblem,
        frame: TokenFrame,
        trained: TrainedQuery | None,
        y: Int[np.ndarray, " n"],
        rng: np.random.Generator,
    ) -> Float[np.ndarray, "n m"]:
        """Draw features without tokens, in the coordinates of the frame."""

    @abc.abstractmethod
    def features(
        self, X: Float[np.ndarray, "n L d"], trained: TrainedQuery | None
    ) -> Float[np.ndarray, "n m"]:
        """Return the features of real tokens."""

    def project(
        self,
        frame: TokenFrame,
        trained: TrainedQuery | None,
        w: Float[np.ndarray, " m"],
        length: int = 1,
        dimension: int | None = None,
    ) -> Projections:
        """Return what the scores of a readout of samples of a length depend on.

        Its first weights belong to the coordinates of the frame, position after position. Any
        others belong to isotropic noise in other directions.
        """
        positions, k = self.positions(length), len(frame.signal)
        W, others = w[: positions * k].reshape(positions, k), w[positions * k :]
        axes = self.axes(frame.signal, trained)
        named, left = W @ axes.T, float(np.linalg.norm(others))
        rest = float(np.hypot(np.linalg.norm(W - named @ axes), left))
        q = 0 * frame.signal if trained is None else trained.direction
        (width, u), (_, u_b) = frame.along(q), frame.between_along(q)
        along = float(W[0] @ u)
        beside = W - along / width * q if width > 0 else W
        widths = [left, *(frame.along(row).width for row in beside)]
        return Projections(
            named.ravel(),
            rest,
            signal=W @ frame.signal,
            along=along,
            beside=float(np.sum(np.square(widths))),
            between=frame.between_along(W.sum(axis=0)).width ** 2,
            along_effect=float(W[0] @ u_b),
            dimension=dimension,
        )

    @abc.abstractmethod
    def axes(
        self, signal: Float[np.ndarray, " k"], trained: TrainedQuery | None
    ) -> Float[np.ndarray, "directions k"]:
        """Return the named directions, as orthonormal rows."""

    @abc.abstractmethod
    def overlaps(self, projections: Projections, bias: float) -> Overlaps:
        """Return a readout as overlaps."""

    @abc.abstractmethod
    def scores(
        self,
        problem: SparseTokenProblem,
        trained: TrainedQuery | None,
        projections: Projections,
        bias: float,
        rng: np.random.Generator,
    ) -> Iterator[ClassScores]:
        """Yield the Gaussian scores of new samples given the few scalars they depend on."""
