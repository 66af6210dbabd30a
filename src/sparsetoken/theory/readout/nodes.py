"""Quadrature nodes: the scalars of a sample that its feature depends on."""

from __future__ import annotations

import dataclasses

import numpy as np
import numpy.typing as npt
from jaxtyping import Float

from sparsetoken.theory.feature_law import FeatureLaw

_COARSE = 64  # nodes of each class


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
    covariance : array of shape (J, J)
        Covariance of a Gaussian part of a that is independent of the nodes.
    exact : bool
        Whether the nodes are the law itself, not a sample of it.
    """

    a: Float[np.ndarray, "scrambles nodes J"]
    C: Float[np.ndarray, "scrambles nodes K"]
    y: Float[np.ndarray, "scrambles nodes"]
    weight: Float[np.ndarray, "scrambles nodes"]
    covariance: Float[np.ndarray, "J J"]
    exact: bool = False

    @classmethod
    def of(
        cls,
        a: npt.ArrayLike,
        C: npt.ArrayLike,
        y: npt.ArrayLike,
        weight: npt.ArrayLike,
    ) -> FeatureNodes:
        """Return nodes that are the law itself, without scrambles; their weights are normalised."""
        means, amplitudes, labels, weights = (
            np.asarray(part, dtype=float)[None] for part in (a, C, y, weight)
        )
        none = np.zeros((means.shape[2], means.shape[2]))
        return cls(means, amplitudes, labels, weights / weights.sum(), none, exact=True)

    @classmethod
    def from_law(cls, law: FeatureLaw) -> FeatureNodes:
        """Return the nodes of features of isotropic tokens, in the directions (qhat, e_2)."""
        a = np.stack([law.along, law.across], axis=-1)
        covariance = np.diag([law.gaussian_variance, 0.0])
        return cls(a, law.C[..., None], law.y, law.weight, covariance, exact=law.exact)

    @property
    def featureless(self) -> bool:
        """Whether all features vanish."""
        return not self.C.any() and not self.a.any()

    def coarse(self) -> FeatureNodes:
        """Return a law of few nodes that stands for this one, to start from.

        The first points of a Sobol sequence are spread evenly themselves.
        """
        if self.exact:
            return self
        few, weights = [], []
        for label in (1.0, -1.0):
            at = np.flatnonzero(self.y[0] == label)
            few.append(at[:_COARSE])
            share = self.weight[0, at].sum() / self.weight[0, few[-1]].sum()
            weights.append(share * self.weight[0, few[-1]])
        some = np.concatenate(few)
        return dataclasses.replace(
            self,
            **{name: getattr(self, name)[:1, some] for name in ("a", "C", "y")},
            weight=np.concatenate(weights)[None],
        )
