"""The few numbers of each sample that its feature depends on."""

from __future__ import annotations

import dataclasses

import numpy as np
import numpy.typing as npt
from jaxtyping import Float


@dataclasses.dataclass(frozen=True, eq=False)
class FeatureNodes:
    """Weighted nodes of the law of (a, C, y) in ``f = M a + sum_k C_k G_k^(1/2) h_k``.

    The matrix M of fixed directions and the covariances G_k belong to `Covariances`; the
    h_k are standard normal and independent of all else.

    Attributes
    ----------
    a : array of shape (scrambles, nodes, J)
        Amounts of the fixed directions.
    C : array of shape (scrambles, nodes, K)
        Amplitudes of the noise, >= 0.
    y : array of shape (scrambles, nodes)
        Labels in {-1, +1}.
    weight : array of shape (scrambles, nodes)
        Adds up to 1 in each scramble.
    spread : array of shape (J, J)
        Covariance of a Gaussian part of a that is independent of the nodes.
    exact : bool
        Whether the nodes are the law itself, not a sample of it.
    """

    a: Float[np.ndarray, "scrambles nodes J"]
    C: Float[np.ndarray, "scrambles nodes K"]
    y: Float[np.ndarray, "scrambles nodes"]
    weight: Float[np.ndarray, "scrambles nodes"]
    spread: Float[np.ndarray, "J J"]
    exact: bool = False

    @classmethod
    def of(
        cls,
        a: npt.ArrayLike,
        C: npt.ArrayLike,
        y: npt.ArrayLike,
        weight: npt.ArrayLike,
    ) -> FeatureNodes:
        """Return nodes that are the law itself.

        Parameters
        ----------
        a : array of shape (nodes, J)
        C : array of shape (nodes, K)
        y : array of shape (nodes,)
        weight : array of shape (nodes,), of any positive sum
        """
        means, amplitudes, labels, weights = (
            np.asarray(part, dtype=float)[None] for part in (a, C, y, weight)
        )
        none = np.zeros((means.shape[2], means.shape[2]))
        return cls(means, amplitudes, labels, weights / weights.sum(), none, exact=True)

    def coarse(self, most: int = 128) -> FeatureNodes:
        """Return a law of few nodes that stands for this one, to start from."""
        if self.y[0].size <= most:
            return dataclasses.replace(self, **{k: getattr(self, k)[:1] for k in _COLUMNS})
        few = []
        for label in (-1.0, 1.0):
            at = np.flatnonzero(self.y[0] == label)
            few.append(at[np.linspace(0, len(at) - 1, min(len(at), most // 2)).astype(int)])
        some = np.concatenate(few)
        columns = {k: getattr(self, k)[:1, some] for k in _COLUMNS}
        for at in few:
            share = self.weight[0][self.y[0] == self.y[0][at[0]]].sum() if len(at) else 0.0
            here = np.isin(some, at)
            columns["weight"] = np.where(
                here, columns["weight"] * share / self.weight[0][at].sum(), columns["weight"]
            )
        return dataclasses.replace(self, **columns)


_COLUMNS = ("a", "C", "y", "weight")
