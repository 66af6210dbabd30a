"""What an engine hands to a trial: a query, and the design matrix of stage 4."""

from __future__ import annotations

import dataclasses
from typing import Protocol

import numpy as np
from jaxtyping import Float, Int

from sparsetoken.stages import Query

__all__ = ["Design", "Split", "TrainedQuery", "training_size"]


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
    """

    query: Query
    overlap: float
    norm: float
    readout_cosine: float = float("nan")
    direction: Float[np.ndarray, " d"] | None = None

    @property
    def vector(self) -> Float[np.ndarray, " d"]:
        """The direction, of an engine that has vectors."""
        if self.direction is None:
            raise ValueError("The reduced engine has no vectors.")
        return self.direction


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
    """

    named: Float[np.ndarray, " k"]
    rest: float


class Design(Protocol):
    """Features and labels of stage 4, and the way from a readout to its overlaps."""

    @property
    def features(self) -> Float[np.ndarray, "n m"]:
        """The design matrix."""
        ...

    @property
    def labels(self) -> Int[np.ndarray, " n"]:
        """Labels in {-1, +1}."""
        ...

    def split(self, w: Float[np.ndarray, " m"]) -> Split:
        """Return the named coordinates of a readout."""
        ...


def training_size(alpha: float, dimension: int) -> int:
    """Return round(alpha d), at least 1."""
    return max(1, round(alpha * dimension))
