"""Products of the standardised tokens with a few directions, and back, chunk by chunk."""

from __future__ import annotations

import dataclasses
import functools

import numpy as np
from jaxtyping import Float

from sparsetoken.bags import Bags
from sparsetoken.fitting import moments
from sparsetoken.fitting.standardization import Standardization


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
    def centre(self) -> Float[np.ndarray, " d"]:
        """The mean of the tokens, in their dtype."""
        return moments.mean(self.bags.tokens).astype(self.bags.dtype)

    @property
    def moved(self) -> Float[np.ndarray, " d"]:
        """The standardised token at the centre: what `projected` leaves out."""
        return (self.centre - self.standardization.mean) / self.standardization.scale

    def projected(self, directions: Float[np.ndarray, "d k"]) -> Float[np.ndarray, "k N"]:
        """Return the products of the tokens, less the centre, with directions of z."""
        tokens = self.bags.tokens
        raw = (directions / self.standardization.scale[:, None]).astype(tokens.dtype)
        found = np.empty((raw.shape[1], len(tokens)), tokens.dtype)
        for rows in moments.chunks(tokens):
            found[:, rows] = ((tokens[rows] - self.centre) @ raw).T
        return found

    def summed(self, weights: Float[np.ndarray, "k N"]) -> Float[np.ndarray, "k d"]:
        """Return the weighted sums of the scaled tokens less the centre."""
        tokens = self.bags.tokens
        total = np.zeros((len(weights), tokens.shape[1]))
        for rows in moments.chunks(tokens):
            total += weights[:, rows] @ (tokens[rows] - self.centre)
        return total / self.standardization.scale

    def within(self, directions: Float[np.ndarray, "n d"]) -> Float[np.ndarray, " N"]:
        """Return the product of each token, less the centre, with the direction of its bag."""
        tokens, bag = self.bags.tokens, np.repeat(np.arange(len(self.bags)), self.bags.sizes)
        raw = (directions / self.standardization.scale).astype(tokens.dtype)
        found = np.empty(len(tokens), tokens.dtype)
        for rows in moments.chunks(tokens):
            found[rows] = np.einsum("ij,ij->i", tokens[rows] - self.centre, raw[bag[rows]])
        return found
