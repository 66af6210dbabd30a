"""Scaled tokens without a copy of the tokens: the scales act on queries, readouts and features."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from sparsetoken.bags import Bags
from sparsetoken.estimators.moments import chunks

__all__ = ["Coordinates"]


class Coordinates(NamedTuple):
    """Tokens z = (x - mean) / scale, column by column, of which x alone is stored.

    Attributes
    ----------
    mean, scale : array of shape (d,)
        Over all tokens, each weighted as its bag. The scale of constant columns is 1.
    """

    mean: Float[np.ndarray, " d"]
    scale: Float[np.ndarray, " d"]

    @classmethod
    def of(cls, bags: Bags, weight: Float[np.ndarray, " n"], standardize: bool) -> Coordinates:
        """Learn mean and scale of the columns, or return those that change nothing."""
        d = bags.dimension
        if not standardize:
            return cls(np.zeros(d), np.ones(d))
        tokens = bags.tokens
        share = np.repeat(weight / (weight @ bags.sizes), bags.sizes)
        first = tokens[0].astype(np.float64)
        shift: Any = sum(share[rows] @ (tokens[rows] - first) for rows in chunks(tokens))
        mean = first + shift
        square: Any = sum(share[rows] @ np.square(tokens[rows] - mean) for rows in chunks(tokens))
        deviation, number = np.sqrt(square), np.finfo(tokens.dtype)
        constant = deviation <= np.maximum(4 * number.eps * np.abs(mean), number.tiny)
        return cls(mean, np.where(constant, 1.0, deviation))

    def raw(self, direction: Float[np.ndarray, " d"]) -> Float[np.ndarray, " d"]:
        """Return what a direction of z is for x: <z, v> = <x - mean, raw(v)>."""
        return direction / self.scale

    def offset(self, direction: Float[np.ndarray, " d"]) -> float:
        """Return <z, v> - <x, raw(v)>."""
        return -float(self.mean @ (direction / self.scale))

    def summed(
        self, sums: Float[np.ndarray, "*n d"], total: Float[np.ndarray, "*n"] | float = 1.0
    ) -> Float[np.ndarray, "*n d"]:
        """Return weighted sums of z from those of x and the sums of their weights, in float64."""
        return (sums - np.asarray(total)[..., None] * self.mean) / self.scale
