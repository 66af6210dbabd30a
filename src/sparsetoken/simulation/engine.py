"""What an engine hands to a trial: a query, and the design matrix of stage 4."""

from __future__ import annotations

import dataclasses
from typing import NamedTuple, Protocol

import numpy as np
from jaxtyping import Float, Int

from sparsetoken.stages import Query


@dataclasses.dataclass(frozen=True)
class TrainedQuery:
    """A query of stage 3, or a given one.

    Attributes
    ----------
    query : Query
    overlap : float
        <q, xi>.
    norm : float
        |q|.
    readout_cosine : float
        <w1, xi> / |w1|; nan for a given query.
    direction : array of shape (d,) or None
        q / |q|; None where the engine has no vectors. For q = 0 it is a unit vector
        orthogonal to xi.
    scale : float
        What a projection on the direction is multiplied with to have noise of width 1.
    """

    query: Query
    overlap: float
    norm: float
    readout_cosine: float = float("nan")
    direction: Float[np.ndarray, " d"] | None = None
    scale: float = 1.0

    @property
    def vector(self) -> Float[np.ndarray, " d"]:
        """The direction, of an engine that has vectors."""
        if self.direction is None:
            raise ValueError("The reduced engine has no vectors.")
        return self.direction


class ScoreMoments(NamedTuple):
    """What scores depend on among tokens of a covariance.

    Attributes
    ----------
    signal : array of shape (positions,)
        <w, xi>, for each position that has weights of its own.
    along : float
        <w, u>, u = S_w q/sigma.
    within : float
        w^T S_w w, added up over positions.
    between : float
        w^T S_b w, of the sum over positions.
    projected : float
        <q, xi>/sigma.
    """

    signal: Float[np.ndarray, " positions"]
    along: float
    within: float
    between: float
    projected: float


@dataclasses.dataclass(frozen=True)
class Split:
    """A readout in the coordinates that the score depends on.

    Attributes
    ----------
    named : array of shape (k,)
        attention, elementwise: (w_1, w_2). pooled: (<w, xi>,). vectorized: <W_l, xi>
        for each position l.
    rest : float
        Length of what is left.
    moments : ScoreMoments or None
        What scores depend on, where tokens have a covariance.
    dimension : int or None
        Number of features, on which it depends how exact an average over draws need be.
    """

    named: Float[np.ndarray, " k"]
    rest: float
    moments: ScoreMoments | None = None
    dimension: int | None = None


class Design(Protocol):
    """Features and labels of stage 4, and the way from a readout to its overlaps."""

    @property
    def features(self) -> Float[np.ndarray, "n m"]:
        """The design matrix."""

    @property
    def labels(self) -> Int[np.ndarray, " n"]:
        """Labels in {-1, +1}."""

    def split(self, w: Float[np.ndarray, " m"]) -> Split:
        """Return the named coordinates of a readout."""


def training_size(alpha: float, dimension: int) -> int:
    """Return round(alpha d), at least 1."""
    return max(1, round(alpha * dimension))
