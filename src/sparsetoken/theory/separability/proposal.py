"""Normal laws from which coordinates are drawn where an integrand is large.

Importance sampling by the cross-entropy method: R. Y. Rubinstein and D. P. Kroese, The
Cross-Entropy Method, 2004.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence

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
    def standard(cls, size: int) -> Proposal:
        """Return the law that the coordinates have."""
        size = min(size, _LEADING)
        return cls(np.zeros(size), np.eye(size))

    @classmethod
    def fitted(
        cls, z: Float[np.ndarray, "n size"], share: Float[np.ndarray, " n"]
    ) -> dict[str, Proposal]:
        """Return laws with the moments of points z, each counted by its share.

        Moments of few effective points are drawn towards those of N(0, I). ``all`` has all the
        moments. ``two`` and ``four`` have those of the coordinates that differ most from N(0, 1),
        and ``moved`` the means of four: the fewer weights depend on, the better Sobol points do.
        """
        size, total = z.shape[1], float(share.sum())
        if not 0 < total < math.inf:
            return {"all": cls.standard(size)}
        p = share / total
        effective = 1 / float(np.sum(p**2))
        trust = effective / (effective + size + 5)
        mean = p @ z
        apart = z - mean
        covariance = trust * (apart.T @ (apart * p[:, None])) + (1 - trust) * np.eye(size)
        mean = trust * mean
        variance = np.diag(covariance)
        first = np.argsort(-(mean**2 + variance - 1 - np.log(variance)), kind="stable")
        whole = cls(mean, _root(covariance))
        return {
            "all": whole,
            "two": whole._only(first[:2], covariance),
            "four": whole._only(first[:4], covariance),
            "moved": whole._only(first[:4], None),
        }

    def _only(self, kept: np.ndarray, covariance: np.ndarray | None) -> Proposal:
        """Return the law in which the other coordinates are N(0, 1)."""
        mean, root = np.zeros_like(self.mean), np.eye(len(self.mean))
        mean[kept] = self.mean[kept]
        if covariance is not None:
            block = np.ix_(kept, kept)
            root[block] = _root(covariance[block])
        return Proposal(mean, root)

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


def fitted_proposals(
    leading: Float[np.ndarray, "classes n size"], shares: Sequence[np.ndarray], plain: float = 0.0
) -> dict[int, Proposal]:
    """Return proposals with all moments of the leading coordinates of each class, by label."""
    return {
        label: dataclasses.replace(Proposal.fitted(z, share.ravel())["all"], plain=plain)
        for label, z, share in zip(LABELS, leading, shares, strict=True)
    }


def _root(covariance: np.ndarray) -> np.ndarray:
    """Return a lower triangular root of a covariance, made somewhat wider.

    A law with much less variance than N(0, I) gives weights of infinite variance.
    """
    variance, axes = np.linalg.eigh(_WIDER * covariance)
    return np.linalg.cholesky((axes * np.maximum(variance, _NARROWEST)) @ axes.T)
