"""Standardised tokens without a copy of them: scales act on queries, readouts and features."""

from __future__ import annotations

import dataclasses

import numpy as np
from jaxtyping import Float

from sparsetoken.bags import Bags
from sparsetoken.base.validation import InvalidInput
from sparsetoken.estimators.fitting import moments


@dataclasses.dataclass(frozen=True, eq=False)
class Standardization:
    """Standardised tokens z = (x - mean) / scale, column by column; only x is stored.

    Attributes
    ----------
    mean, scale : array of shape (d,)
        Over all tokens, each weighted as its bag. The scale of constant columns is 1.
    """

    mean: Float[np.ndarray, " d"]
    scale: Float[np.ndarray, " d"]

    @classmethod
    def of(cls, bags: Bags, weight: Float[np.ndarray, " n"], standardize: bool) -> Standardization:
        """Learn mean and scale of the columns, or return those that change nothing.

        Raises
        ------
        InvalidInput
            If `standardize` is neither True nor False.
        """
        if not isinstance(standardize, (bool, np.bool_)):
            raise InvalidInput("standardize", "True or False", standardize)
        d = bags.dimension
        if not standardize:
            return cls(np.zeros(d), np.ones(d))
        share = np.repeat(weight / (weight @ bags.sizes), bags.sizes)
        mean, variance = moments.mean_and_variance(bags.tokens, share)
        # A weighted mean of equal values is exact to a few roundings, not to one.
        return cls(mean, moments.scales(np.sqrt(variance), mean, bags.dtype, roundings=4))

    def coefficients(self, v: Float[np.ndarray, "*K d"]) -> Float[np.ndarray, "*K d"]:
        """Return what acts on x as directions v act on z: <z, v> = <x, coefficients> + offset."""
        return v / self.scale

    def offset(self, v: Float[np.ndarray, " d"]) -> float:
        """Return <z, v> - <x, coefficients(v)>, the same number for all tokens."""
        return -float(self.mean @ (v / self.scale))

    def means(self, means: Float[np.ndarray, "n d"]) -> Float[np.ndarray, "n d"]:
        """Return mean tokens z from those of x, in float64."""
        return (means - self.mean) / self.scale
