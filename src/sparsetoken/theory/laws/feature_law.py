"""The distribution of the features of a sample, as weighted nodes."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import numpy.typing as npt
from jaxtyping import Float

from sparsetoken.model.problem import SparseTokenProblem

_COARSE = 64  # nodes of each class, or sign of targets


@dataclasses.dataclass(frozen=True, eq=False)
class FeatureLaw:
    """Weighted nodes of the law of (a, C, y) in ``f = M a + sum_k C_k G_k^(1/2) h_k``.

    The h_k are standard normal and independent of all else. The matrix M of fixed directions and
    the covariances G_k are not part of the law. Of isotropic tokens the directions are the query
    and e_2, the rest of the signal; the one amplitude C is the norm of the weights of the tokens,
    and h has no part along the query.

    Attributes
    ----------
    a : array of shape (scrambles, nodes, J)
        Amounts of the fixed directions; theta s A + B and theta sqrt(1 - s^2) A of isotropic
        tokens.
    C : array of shape (scrambles, nodes, K)
        Amplitudes of the noise, >= 0.
    y : array of shape (scrambles, nodes)
        Labels in {-1, +1}, or targets of a task.
    weight : array of shape (scrambles, nodes)
        Adds up to 1 in each scramble.
    covariance : array of shape (J, J)
        Covariance of a Gaussian part of a that is independent of the nodes.
    exact : bool
        Whether the nodes are the law itself, not a sample of it.

    See Also
    --------
    sparsetoken.model.QueriedModel : A model of your own, whose law follows from its weights.

    Examples
    --------
    >>> from sparsetoken.theory import FeatureLaw
    >>> law = FeatureLaw.of(a=[[0, 1], [0, 0]], C=[[1], [1]], y=[1, -1], weight=[0.5, 0.5])
    >>> law.a.shape, law.exact
    ((1, 2, 2), True)
    """

    a: Float[np.ndarray, "scrambles nodes J"]
    C: Float[np.ndarray, "scrambles nodes K"]
    y: Float[np.ndarray, "scrambles nodes"]
    weight: Float[np.ndarray, "scrambles nodes"]
    covariance: Float[np.ndarray, "J J"]
    exact: bool = False

    @classmethod
    def of(
        cls, a: npt.ArrayLike, C: npt.ArrayLike, y: npt.ArrayLike, weight: npt.ArrayLike
    ) -> FeatureLaw:
        """Return nodes that are the law itself, without scrambles; their weights are normalised."""
        amounts, amplitudes, labels, weights = (
            np.asarray(part, dtype=float)[None] for part in (a, C, y, weight)
        )
        none = np.zeros((amounts.shape[2], amounts.shape[2]))
        return cls(amounts, amplitudes, labels, weights / weights.sum(), none, exact=True)

    @property
    def vanishes(self) -> bool:
        """Whether all features vanish."""
        return not self.C.any() and not self.a.any()

    def part(self, at: Any) -> FeatureLaw:
        """Return the scrambles and nodes at an index; their weights stay as they are."""
        a, C, y, weight = self.a[at], self.C[at], self.y[at], self.weight[at]
        return dataclasses.replace(self, a=a, C=C, y=y, weight=weight)

    def turned(self, frame: Float[np.ndarray, "J new"]) -> FeatureLaw:
        """Return the same features with the amounts ``frame^T a`` of other directions."""
        covariance = frame.T @ self.covariance @ frame
        return dataclasses.replace(self, a=self.a @ frame, covariance=covariance)

    def coarse(self) -> FeatureLaw:
        """Return a law of few nodes that stands for this one, to start from.

        The first points of a Sobol sequence are spread evenly themselves.
        """
        signs = np.sign(self.y[0])
        kinds = np.unique(signs)[::-1]
        if self.exact or len(kinds) < len(np.unique(np.sign(self.y))):
            return self
        few, weights = [], []
        for kind in kinds:
            at = np.flatnonzero(signs == kind)
            few.append(at[:_COARSE])
            share = self.weight[0, at].sum() / self.weight[0, few[-1]].sum()
            weights.append(share * self.weight[0, few[-1]])
        some = self.part((slice(1), np.concatenate(few)))
        return dataclasses.replace(some, weight=np.concatenate(weights)[None])


def two_nodes(problem: SparseTokenProblem, along: float, across: float, C: float) -> FeatureLaw:
    """Return the law of features that are Gaussian given the label, with these means on positives.

    Parameters
    ----------
    problem : SparseTokenProblem
    along, across : float
        Means along the query and along the rest of the signal.
    C : float
        Standard deviation in every other direction.
    """
    pi = problem.positive_rate
    return FeatureLaw.of([[along, across], [0.0, 0.0]], [[C], [C]], [1, -1], [pi, 1 - pi])
