"""Products of the standardised tokens with a few directions, and back, chunk by chunk."""

from __future__ import annotations

import dataclasses
import functools

import numpy as np
from jaxtyping import Float

from sparsetoken.bags import Bags
from sparsetoken.estimators.fitting import moments
from sparsetoken.estimators.fitting.standardization import Standardization

NEAR = 0.9  # of the mean square of a column is that of its mean: three standard deviations


@dataclasses.dataclass(frozen=True, eq=False)
class Projection:
    """The tokens as a linear map; far from their mean float32 products would lose digits.

    Attributes
    ----------
    bags : Bags
    standardization : Standardization
    """

    bags: Bags
    standardization: Standardization

    @functools.cached_property
    def moments(self) -> tuple[Float[np.ndarray, " d"], Float[np.ndarray, " d"]]:
        """Mean and variance of the tokens, each of which counts alike."""
        tokens = self.bags.tokens
        return moments.mean_and_variance(tokens, np.ones(len(tokens)))

    @property
    def centre(self) -> Float[np.ndarray, " d"]:
        """The mean of the tokens, in their dtype."""
        return self.moments[0].astype(self.bags.dtype)

    @functools.cached_property
    def rest(self) -> Float[np.ndarray, " d"]:
        """What products of the tokens leave to take off the result: the centre, or 0.

        It is the centre where no column is far from 0: this spares a copy, for at most two bits.
        """
        mean, variance = self.moments
        near = (1 - NEAR) * np.square(mean) <= NEAR * variance
        # Products of larger tokens overflow in float32, though not those of tokens less the mean.
        large = np.square(mean) + variance > np.finfo(self.bags.dtype).max / len(self.bags.tokens)
        safe = bool((near & ~large).all())
        return self.centre if safe else np.zeros_like(self.centre)

    @property
    def moved(self) -> Float[np.ndarray, " d"]:
        """The standardised token at the centre: what `projected` leaves out."""
        return (self.centre - self.standardization.mean) / self.standardization.scale

    def projected(self, directions: Float[np.ndarray, "d k"]) -> Float[np.ndarray, "k N"]:
        """Return the products of the tokens, less the centre, with directions of z."""
        tokens = self.bags.tokens
        raw = (directions / self.standardization.scale[:, None]).astype(tokens.dtype)
        projected = np.empty((raw.shape[1], len(tokens)), tokens.dtype)
        for rows in moments.chunks(tokens):
            projected[:, rows] = (self._less(rows) @ raw - self.rest @ raw).T
        return projected

    def summed(self, weights: Float[np.ndarray, "k N"]) -> Float[np.ndarray, "k d"]:
        """Return the weighted sums of the scaled tokens less the centre."""
        tokens = self.bags.tokens
        total = np.zeros((len(weights), tokens.shape[1]))
        for rows in moments.chunks(tokens):
            total += weights[:, rows] @ self._less(rows)
        total -= weights.sum(axis=1, dtype=float)[:, None] * self.rest
        return total / self.standardization.scale

    def _less(self, rows: slice) -> Float[np.ndarray, "k d"]:
        """Return tokens less what is taken off them before a product."""
        tokens = self.bags.tokens[rows]
        return tokens if self.rest.any() else tokens - self.centre
