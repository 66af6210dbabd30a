"""Standardised tokens without a copy of them: scales, products with directions, bag features."""

from __future__ import annotations

import dataclasses
import functools

import numpy as np
from jaxtyping import Float, Shaped

from sparsetoken.bags import Bags
from sparsetoken.bags.segments import segment_deviation, segment_max, segment_mean
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


@dataclasses.dataclass(frozen=True, eq=False)
class BagFeatures:
    """One row of features for each bag, made of its tokens.

    Attributes
    ----------
    bags : Bags
    standardization : Standardization
    """

    bags: Bags
    standardization: Standardization

    @functools.cached_property
    def means(self) -> Float[np.ndarray, "n d"]:
        """The mean standardised token of each bag."""
        return self.standardization.means(segment_mean(self.bags.tokens, self.bags.offsets))

    @functools.cached_property
    def largest(self) -> Float[np.ndarray, "n d"]:
        """The largest value of each standardised column within each bag."""
        scaling, tokens = self.standardization, self.bags.tokens
        return (segment_max(tokens, self.bags.offsets) - scaling.mean) / scaling.scale

    @functools.cached_property
    def summary(self) -> Float[np.ndarray, "n m"]:
        """Mean, largest, smallest value and deviation of each standardised column; log size.

        Of bags of one token it is the token, with m = d, else m = 4 d + 1.
        """
        if self.bags.sizes.max() == 1:
            return self.means
        scaling, tokens, offsets = self.standardization, self.bags.tokens, self.bags.offsets
        smallest = (-segment_max(-tokens, offsets) - scaling.mean) / scaling.scale
        means = segment_mean(tokens, offsets)
        deviations = segment_deviation(tokens, means, offsets) / scaling.scale
        sizes = np.log(self.bags.sizes)[:, None]
        return np.concatenate([self.means, self.largest, smallest, deviations, sizes], axis=1)

    @functools.cached_property
    def projection(self) -> Projection:
        """The standardised tokens as a linear map."""
        return Projection(self.bags, self.standardization)

    @functools.cached_property
    def token_variance(self) -> float:
        """The mean variance of the columns of the tokens, in the scale of the fit."""
        variance = self.projection.moments[1]
        return float((variance / np.square(self.standardization.scale)).mean()) or 1.0

    def take(self, rows: Shaped[np.ndarray, " m"]) -> BagFeatures:
        """Return those of some bags; rows are positions or a mask."""
        return dataclasses.replace(self, bags=self.bags[rows])
