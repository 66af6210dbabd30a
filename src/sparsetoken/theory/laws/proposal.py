"""Normal laws from which coordinates are drawn where an integrand is large.

Importance sampling by the cross-entropy method: R. Y. Rubinstein and D. P. Kroese, The
Cross-Entropy Method, 2004.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping

import numpy as np
from jaxtyping import Float
from scipy.special import ndtri

LABELS = (1, -1)
_LEADING = 8  # coordinates that a proposal changes
_WIDER = 1.2  # a proposal narrower than the integrand would miss its tails
_NARROWEST = 0.7


@dataclasses.dataclass(frozen=True)
class Proposal:
    """The normal law N(mean, root root^T) from which leading coordinates are drawn.

    With the share `plain` draws are from N(0, I) in its place: no ratio of densities is above one
    over it.
    """

    mean: Float[np.ndarray, " size"]
    root: Float[np.ndarray, "size size"]
    plain: float = 0.0

    @classmethod
    def of_classes(cls, length: int) -> dict[int, Proposal]:
        """Return the law that the coordinates have, by label."""
        size = min(length, _LEADING)
        return dict.fromkeys(LABELS, cls(np.zeros(size), np.eye(size)))

    @property
    def standard(self) -> bool:
        """Whether the law is N(0, I)."""
        return not self.mean.any()

    @classmethod
    def fitted(
        cls, z: Float[np.ndarray, "n size"], share: Float[np.ndarray, " n"], plain: float = 0.0
    ) -> Proposal:
        """Return the law with the moments of points z, each counted by its share.

        Moments of few effective points are drawn towards those of N(0, I).
        """
        size, total = z.shape[1], float(share.sum())
        if not 0 < total < math.inf:
            return cls(np.zeros(size), np.eye(size), plain)
        p = share / total
        effective = 1 / float(np.sum(p**2))
        trust = effective / (effective + size + 5)
        mean = p @ z
        apart = z - mean
        covariance = trust * (apart.T @ (apart * p[:, None])) + (1 - trust) * np.eye(size)
        return cls(trust * mean, _root(covariance), plain)

    def draw(self, uniforms: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return coordinates and the logs of N(0, I) density over the law's density."""
        log_size = float(np.log(np.abs(np.diag(self.root))).sum())
        if self.plain == 0:
            e = ndtri(uniforms)
            z = e @ self.root.T + self.mean
            return z, 0.5 * (np.sum(e**2, axis=1) - np.sum(z**2, axis=1)) + log_size
        first = uniforms[:, 0]  # chooses the law, and what is left of it is uniform again
        own = first >= self.plain
        rest = np.where(own, (first - self.plain) / (1 - self.plain), first / self.plain)
        e = ndtri(np.column_stack([rest, uniforms[:, 1:]]))
        z = np.where(own[:, None], e @ self.root.T + self.mean, e)
        back = np.linalg.solve(self.root, (z - self.mean).T)
        log_own = 0.5 * (np.sum(z**2, axis=1) - np.sum(back**2, axis=0)) - log_size
        return z, -np.logaddexp(math.log(self.plain), math.log(1 - self.plain) + log_own)


def refitted(
    proposals: Mapping[int, Proposal],
    leading: Mapping[int, Float[np.ndarray, "n size"]],
    shares: Mapping[int, Float[np.ndarray, "scrambles nodes"]],
    *,
    plain: float = 0.0,
    even: float = 1.0,
) -> dict[int, Proposal]:
    """Return proposals by label from the shares in a mean of nodes that others have drawn.

    A class that is drawn from its own law with an effective share of nodes above `even` keeps it.
    """
    return {
        label: own
        if own.standard and effective_share(shares[label]) > even
        else Proposal.fitted(leading[label], shares[label].ravel(), plain)
        for label, own in proposals.items()
    }


def by_label(
    values: Float[np.ndarray, "s n"], y: Float[np.ndarray, "s n"]
) -> dict[int, Float[np.ndarray, "s m"]]:
    """Return values of the nodes of each class, which stand in the same places in all scrambles."""
    return {label: values[:, y[0] == label] for label in LABELS}


def effective_share(share: np.ndarray) -> float:
    """Return the effective number of nodes over their number."""
    total = float(np.sum(share))
    return 1 / (share.size * float(np.sum((share / total) ** 2))) if total > 0 else 0.0


def _root(covariance: np.ndarray) -> np.ndarray:
    """Return a lower triangular root of a covariance, made somewhat wider.

    A law with much less variance than N(0, I) gives weights of infinite variance.
    """
    variance, axes = np.linalg.eigh(_WIDER * covariance)
    return np.linalg.cholesky((axes * np.maximum(variance, _NARROWEST)) @ axes.T)
