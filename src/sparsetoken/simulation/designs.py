"""Design matrices without tokens, in a frame of a few named directions."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import numpy as np
from jaxtyping import Float, Int

from sparsetoken.simulation.engine import ScoreMoments, Split


@dataclasses.dataclass(frozen=True)
class ReducedDesign:
    """Features in a frame whose first columns are the named directions.

    Attributes
    ----------
    features : array of shape (n, m)
    labels : array of shape (n,), in {-1, +1}
    named : int
    parallel : bool
        Whether query and signal are parallel, so that there is no second direction.
    """

    features: Float[np.ndarray, "n m"]
    labels: Int[np.ndarray, " n"]
    named: int
    parallel: bool = False

    def split(self, w: Float[np.ndarray, " m"]) -> Split:
        """Return the named coordinates of a readout, and the length of the rest."""
        named, rest = w[: self.named].copy(), w[self.named :]
        if self.parallel:
            named[1], rest = 0.0, w[1:]
        return Split(named, float(np.linalg.norm(rest)), dimension=len(w))


@dataclasses.dataclass(frozen=True)
class VectorDesign:
    """Features in R^d; named directions as rows of `axes` (per position).

    `moments` maps a readout, a row for each position, to what scores depend on; None for
    isotropic tokens, where the named coordinates tell it.
    """

    features: np.ndarray
    labels: np.ndarray
    axes: np.ndarray
    moments: Callable[[np.ndarray], ScoreMoments] | None = None

    def split(self, w: np.ndarray) -> Split:
        """Return the coordinates of a readout on the axes, and the length of the rest."""
        W = w.reshape(-1, self.axes.shape[1])
        named = W @ self.axes.T
        rest = float(np.linalg.norm(W - named @ self.axes))
        moments = None if self.moments is None else self.moments(W)
        return Split(named.ravel(), rest, moments, len(w))


def noise_rows(n: int, named: int, p: int, rng: np.random.Generator) -> np.ndarray:
    """Return Gaussian rows of R^named, each with a row that stands for one of R^p.

    For n < p the second part is Bartlett's lower-triangular factor, whose Gram matrix is that
    of n Gaussian vectors of R^p: diagonal chi with p, p - 1, ... degrees of freedom, N(0, 1)
    below. A ridge fit does not see the rotation.
    """
    if n >= p:
        return rng.standard_normal((n, named + p))
    rows = np.zeros((n, named + n))
    for i, row in enumerate(rows):
        rng.standard_normal(out=row[: named + i])
    rows[np.arange(n), named + np.arange(n)] = np.sqrt(rng.chisquare(p - np.arange(n)))
    return rows
