"""Design matrices of stage 4, and readouts by what their scores depend on."""

from __future__ import annotations

import dataclasses
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from sparsetoken.simulation.frames import TokenFrame, TrainedQuery


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


class Design(NamedTuple):
    """Features and labels of stage 4 in the coordinates of a frame, and the query in these."""

    features: Float[np.ndarray, "n m"]
    labels: Int[np.ndarray, " n"]
    frame: TokenFrame
    query: TrainedQuery | None


def training_size(alpha: float, dimension: int) -> int:
    """Return round(alpha d), at least 1."""
    return max(1, round(alpha * dimension))
