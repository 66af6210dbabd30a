"""Standardised tokens without a copy of them: products, mean tokens and maxima, chunk by chunk.

Moments are in float64 whatever the tokens are, and products in the dtype of the tokens.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterator

import numpy as np
from jaxtyping import Bool, Float, Int

from sparsetoken.bags import Bags
from sparsetoken.bags.segments import (
    segment_deviation,
    segment_max,
    segment_mean,
    segment_min,
    weighted_sum,
)
from sparsetoken.base.validation import truth

CHUNK = 1 << 18  # values worked on together: 2 MB in float64
NEAR = 0.9  # of the mean square of a column is that of its mean: three standard deviations


@dataclasses.dataclass(frozen=True, eq=False)
class StandardTokens:
    """Standardised tokens z = (x - mean) / scale, column by column; only x is stored.

    Attributes
    ----------
    bags : Bags
    mean, scale : array of shape (d,)
        Over all tokens, each weighted as its bag. The scale of constant columns is 1.
    learned : bool array of shape (d,), optional
        Whether the scale of a column is its deviation; None where none is.
    """

    bags: Bags
    mean: Float[np.ndarray, " d"]
    scale: Float[np.ndarray, " d"]
    learned: Bool[np.ndarray, " d"] | None = None

    @classmethod
    def of(cls, bags: Bags, weight: Float[np.ndarray, " n"], standardize: object) -> StandardTokens:
        """Learn mean and scale of the columns, or return those that change nothing.

        Raises
        ------
        InvalidInput
            If `standardize` is neither True nor False.
        """
        if not truth("standardize", standardize):
            return cls(bags, np.zeros(bags.dimension), np.ones(bags.dimension))
        share = np.repeat(weight / (weight @ bags.sizes), bags.sizes)
        mean, variance = mean_and_variance(bags.tokens, share)
        deviation = np.sqrt(variance)
        scale = scales(deviation, mean, bags.dtype)
        return cls(bags, mean, scale, scale == deviation)

    def coefficients(self, v: Float[np.ndarray, "*K d"]) -> Float[np.ndarray, "*K d"]:
        """Return what acts on x as directions v act on z: <z, v> = <x, coefficients> + offset."""
        return v / self.scale

    def offset(self, v: Float[np.ndarray, " d"]) -> float:
        """Return <z, v> - <x, coefficients(v)>, the same number for all tokens."""
        return -float(self.mean @ (v / self.scale))

    @functools.cached_property
    def _mean_tokens(self) -> Float[np.ndarray, "n d"]:
        """The mean of the tokens of each bag as they are given."""
        return segment_mean(self.bags.tokens, self.bags.offsets)

    @property
    def means(self) -> Float[np.ndarray, "n d"]:
        """The mean token of each bag."""
        return (self._mean_tokens - self.mean) / self.scale

    @functools.cached_property
    def largest(self) -> Float[np.ndarray, "n d"]:
        """The largest value of each column within each bag."""
        return (segment_max(self.bags.tokens, self.bags.offsets) - self.mean) / self.scale

    def summary(self) -> Float[np.ndarray, "n m"]:
        """Return mean, largest, smallest value and deviation of each column; log size."""
        tokens, offsets = self.bags.tokens, self.bags.offsets
        smallest = (segment_min(tokens, offsets) - self.mean) / self.scale
        sizes = np.log(self.bags.sizes)[:, None]
        return np.concatenate([self.means, self.largest, smallest, self.deviations, sizes], axis=1)

    @functools.cached_property
    def deviations(self) -> Float[np.ndarray, "n d"]:
        """The standard deviation of each column within each bag."""
        tokens, offsets = self.bags.tokens, self.bags.offsets
        return segment_deviation(tokens, self._mean_tokens, offsets) / self.scale

    def variance_without(
        self, weight: Float[np.ndarray, " n"], groups: Int[np.ndarray, " n"]
    ) -> Float[np.ndarray, "G d"]:
        """Return the variance of each column over the tokens of all bags but those of a group.

        Each token is weighted as its bag, as for `of`. It is 1 where the scale was not learned.
        """
        share = weight * self.bags.sizes
        squares = np.square(self.deviations) + np.square(self.means)
        found = without(self.means, squares, share / share.sum(), groups)
        return found if self.learned is None else np.where(self.learned, found, 1.0)

    @functools.cached_property
    def _moments(self) -> tuple[Float[np.ndarray, " d"], Float[np.ndarray, " d"]]:
        """Mean and variance of x, in which each token counts alike."""
        return mean_and_variance(self.bags.tokens, np.ones(len(self.bags.tokens)))

    @functools.cached_property
    def variance(self) -> float:
        """The mean variance of the columns of z."""
        return float((self._moments[1] / np.square(self.scale)).mean()) or 1.0

    @functools.cached_property
    def _centre(self) -> tuple[Float[np.ndarray, " d"], bool]:
        """The mean of x in its dtype, and whether products may leave it to be subtracted later.

        They may where no column is far from 0: this spares a copy, for at most two bits.
        """
        mean, variance = self._moments
        near = (1 - NEAR) * np.square(mean) <= NEAR * variance
        return mean.astype(self.bags.dtype), bool(near.all())

    @property
    def centre(self) -> Float[np.ndarray, " d"]:
        """The standardised token at the mean of x: what `projected` and `summed` leave out."""
        return (self._centre[0] - self.mean) / self.scale

    def _chunks(self) -> Iterator[tuple[slice, Float[np.ndarray, "m d"]]]:
        centre, later = self._centre
        for rows in chunks(self.bags.tokens):
            yield rows, self.bags.tokens[rows] if later else self.bags.tokens[rows] - centre

    def projected(self, directions: Float[np.ndarray, "d k"]) -> Float[np.ndarray, "k N"]:
        """Return the products of z, less the centre, with directions; float32 loses no digits."""
        centre, later = self._centre
        raw = (directions / self.scale[:, None]).astype(self.bags.dtype)
        found = np.empty((raw.shape[1], len(self.bags.tokens)), raw.dtype)
        for rows, x in self._chunks():
            found[:, rows] = (x @ raw - later * centre @ raw).T
        return found

    def summed(self, weights: Float[np.ndarray, "k N"]) -> Float[np.ndarray, "k d"]:
        """Return the weighted sums of z less the centre."""
        centre, later = self._centre
        total = np.zeros((len(weights), len(self.mean)))
        for rows, x in self._chunks():
            total += weights[:, rows] @ x
        if later:
            total -= weights.sum(axis=1, dtype=float)[:, None] * centre
        return total / self.scale


class CentredTokens(StandardTokens):
    """Tokens less the mean of their bag, standardised; of them too only x is stored.

    Their products with a direction are those of x, less the mean of these within the bag. Columns
    that are constant in each bag have the scale inf, so that nothing is left of their rounding.
    """

    @classmethod
    def of(cls, bags: Bags, weight: Float[np.ndarray, " n"], standardize: object) -> CentredTokens:
        """As that of `StandardTokens`, of variances within bags."""
        plain = StandardTokens.of(bags, weight, standardize)
        if plain.learned is None:
            return cls(bags, plain.mean, plain.scale)
        share = weight * bags.sizes / (weight @ bags.sizes)
        deviation = plain.scale * np.sqrt(share @ np.square(plain.deviations))
        size = np.hypot(plain.mean, plain.scale)  # of x, whose rounding is left in centred tokens
        learned = ~_constant(deviation, size, bags.dtype)
        return cls(bags, np.zeros_like(plain.mean), np.where(learned, deviation, np.inf), learned)

    @property
    def means(self) -> Float[np.ndarray, "n d"]:
        """The mean token of each bag: 0."""
        return np.zeros_like(self._mean_tokens)

    @functools.cached_property
    def largest(self) -> Float[np.ndarray, "n d"]:
        """The largest value of each column within each bag."""
        return (segment_max(self.bags.tokens, self.bags.offsets) - self._mean_tokens) / self.scale

    @functools.cached_property
    def variance(self) -> float:
        """The mean variance of the columns of z."""
        sizes = self.bags.sizes / len(self.bags.tokens)
        return float((sizes @ np.square(self.deviations)).mean()) or 1.0

    @property
    def centre(self) -> Float[np.ndarray, " d"]:
        """What `projected` and `summed` leave out: nothing."""
        return np.zeros_like(self.mean)

    def projected(self, directions: Float[np.ndarray, "d k"]) -> Float[np.ndarray, "k N"]:
        """Return the products of z with directions."""
        return less_means(super().projected(directions), self.bags)

    def summed(self, weights: Float[np.ndarray, "k N"]) -> Float[np.ndarray, "k d"]:
        """Return the weighted sums of z."""
        return super().summed(less_means(weights, self.bags))


def less_means(scores: Float[np.ndarray, "k N"], bags: Bags) -> Float[np.ndarray, "k N"]:
    """Return scores of tokens less their mean within each bag."""
    bags = bags.nonempty
    means = np.add.reduceat(scores, bags.offsets[:-1], axis=1, dtype=np.float64) / bags.sizes
    return scores - np.repeat(means.astype(scores.dtype), bags.sizes, axis=1)


def chunks(tokens: Float[np.ndarray, "N d"]) -> Iterator[slice]:
    """Return runs of rows that together are all tokens."""
    step = max(1, CHUNK // tokens.shape[1])
    return (slice(start, start + step) for start in range(0, len(tokens), step))


def mean_and_variance(
    tokens: Float[np.ndarray, "N d"], weight: Float[np.ndarray, " N"]
) -> tuple[Float[np.ndarray, " d"], Float[np.ndarray, " d"]]:
    """Return weighted mean and variance of each column, in one pass over the tokens.

    Both are exact for a constant column. Mean and sum of squares of a chunk join those of the
    chunks before it (Chan, Golub and LeVeque, 1983), so that no digits cancel.
    """
    centre, squares, total = tokens[0].astype(np.float64), np.zeros(tokens.shape[1]), 0.0
    for rows in chunks(tokens):
        share, first = weight[rows], tokens[rows][0].astype(np.float64)
        more = float(share.sum())
        if more == 0:
            continue
        moved = tokens[rows] - first
        shift = share @ moved / more
        moved -= shift
        step = first + shift - centre
        total += more
        squares += share @ np.square(moved, out=moved) + np.square(step) * (more - more**2 / total)
        centre += step * (more / total)
    return centre, squares / total


def without(
    first: Float[np.ndarray, "n m"],
    second: Float[np.ndarray, "n m"],
    share: Float[np.ndarray, " n"],
    groups: Int[np.ndarray, " n"],
) -> Float[np.ndarray, "G m"]:
    """Return variances over all samples but those of each group, from their moments.

    The first and second moments of a sample are about the mean of all. A variance that is lost to
    rounding may be below 0.
    """
    order = np.argsort(groups, kind="stable")
    offsets = np.concatenate([[0], np.cumsum(np.bincount(groups))])
    sums = [weighted_sum(one[order], share[order], offsets) for one in (first, second)]
    rest = 1 - np.add.reduceat(share[order], offsets[:-1])[:, None]
    if len(rest) == 1:  # nothing is left
        return np.zeros((1, first.shape[1]))
    return (share @ second - sums[1]) / rest - np.square(sums[0] / rest)


def scales(
    deviation: Float[np.ndarray, " d"], mean: Float[np.ndarray, " d"], dtype: np.dtype
) -> Float[np.ndarray, " d"]:
    """Return what to divide columns by: their standard deviation, or 1 if they are constant."""
    return np.where(_constant(deviation, mean, dtype), 1.0, deviation)


def _constant(
    deviation: Float[np.ndarray, " d"], size: Float[np.ndarray, " d"], dtype: np.dtype
) -> Bool[np.ndarray, " d"]:
    """Return which deviations are at most four roundings of values of a size.

    The deviation of equal values with weights is exact to a few roundings, not to one.
    """
    number = np.finfo(dtype)
    return deviation <= np.maximum(4 * number.eps * np.abs(size), number.tiny)
