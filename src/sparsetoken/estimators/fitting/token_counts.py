"""How many tokens make a bag positive: the probability of a bag, and of its tokens, from odds."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from jaxtyping import Bool, Float, Int


class CountedTokens:
    """The probability of a bag of which no token, or a number of them, makes it positive.

    Equation: token-counts. Tokens make their bag positive independently, token l with odds o_l,
    but only in numbers that are allowed: none or exactly R, or any number (R = 0). So
    P(y = 1) = E / (1 + E), where E sums over the allowed sets the product of the odds of their
    tokens: the elementary symmetric polynomial e_R(o), or prod_l (1 + o_l) - 1. The probability
    that token l makes its bag positive is the derivative of log(1 + E) in log o_l. In a bag of
    fewer than R tokens all of them do.

    Parameters
    ----------
    sizes : int array of shape (n,)
    count : int
        R, or 0 for any number.
    """

    def __init__(self, sizes: Int[np.ndarray, " n"], count: int) -> None:
        self._sizes, self._count = sizes, count
        self._starts = np.cumsum(sizes) - sizes
        self._pairs = list(_pairs(sizes)) if count > 1 else []

    def __call__(
        self, odds: Float[np.ndarray, " N"]
    ) -> tuple[Float[np.ndarray, " n"], Float[np.ndarray, " N"]]:
        """Return log(1 + E) of each bag and the probability of each token."""
        if self._count == 0:
            return np.add.reduceat(np.log1p(odds), self._starts), odds / (1 + odds)
        if self._count == 1:
            total = np.add.reduceat(odds, self._starts)
            return np.log1p(total), odds / np.repeat(1 + total, self._sizes)
        return self._by_products(odds)

    def _by_products(
        self, odds: Float[np.ndarray, " N"]
    ) -> tuple[Float[np.ndarray, " n"], Float[np.ndarray, " N"]]:
        """Multiply the polynomials 1 + o_l t of neighbours, pairs of pairs and so on, up to t^R.

        All coefficients are >= 0, so that nothing cancels. Derivatives go the same way back.
        """
        R, kept = self._count, []
        P = np.zeros((R + 1, len(odds)))
        P[0], P[1] = 1, odds
        for left, paired in self._pairs:
            product = P[:, left]
            A, B = product[:, paired], P[:, left[paired] + 1]
            product[:, paired] = [sum(A[j] * B[k - j] for j in range(k + 1)) for k in range(R + 1)]
            kept.append((A, B))
            P = product
        place = np.minimum(self._sizes, R), np.arange(len(self._sizes))
        total = P[place]
        G = np.zeros_like(P)
        G[place] = 1 / (1 + total)
        for (left, paired), (A, B) in zip(self._pairs[::-1], kept[::-1], strict=True):
            g, at = G[:, paired], left[paired]
            parts = np.empty((R + 1, len(left) + len(at)))
            parts[:, left] = G
            for j in range(R + 1):
                parts[j, at] = sum(g[k] * B[k - j] for k in range(j, R + 1))
                parts[j, at + 1] = sum(g[k] * A[k - j] for k in range(j, R + 1))
            G = parts
        return np.log1p(total), odds * G[1]


def _pairs(
    sizes: Int[np.ndarray, " n"],
) -> Iterator[tuple[Int[np.ndarray, " m"], Bool[np.ndarray, " m"]]]:
    """Return the first of each pair of neighbours in a bag, and whether it has a second one.

    Then the same of these pairs, until one is left of each bag.
    """
    while sizes.max() > 1:
        half = (sizes + 1) // 2
        within = 2 * (np.arange(half.sum()) - np.repeat(np.cumsum(half) - half, half))
        first = np.repeat(np.cumsum(sizes) - sizes, half) + within
        yield first, within + 1 < np.repeat(sizes, half)
        sizes = half
