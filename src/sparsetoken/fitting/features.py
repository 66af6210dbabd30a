"""Bags pooled by the scores of their tokens: softmax weights, or a function of each score."""

from __future__ import annotations

import dataclasses
import functools

import numpy as np
from jaxtyping import Float, Shaped

from sparsetoken.attention import ACTIVATIONS
from sparsetoken.bags import Bags
from sparsetoken.bags.segments import segment_max, segment_mean, segment_softmax, weighted_sum
from sparsetoken.fitting import moments
from sparsetoken.fitting.projection import Projection
from sparsetoken.fitting.standardization import Standardization

LARGEST_EXPONENT = 40.0  # of activation exp: its square is still a float32


def pooling_weights(
    scores: Float[np.ndarray, " N"], bags: Bags, activation: str = "softmax"
) -> Float[np.ndarray, " N"]:
    """Return the weight of each token: softmax over its bag, or phi(score) / L_i.

    Scores of activation ``exp`` beyond 40 count as 40.
    """
    if activation == "softmax":
        return segment_softmax(scores, bags.offsets)
    if activation == "exp":
        scores = np.minimum(scores, LARGEST_EXPONENT)
    weights = ACTIVATIONS[activation](scores)
    return (weights / np.repeat(bags.sizes, bags.sizes)).astype(scores.dtype)


@dataclasses.dataclass(frozen=True, eq=False)
class BagFeatures:
    """One row of features for each bag, made of its tokens.

    Attributes
    ----------
    bags : Bags
    standardization : Standardization
    activation : str
        ``softmax``, or one of `sparsetoken.attention.ACTIVATIONS`.
    """

    bags: Bags
    standardization: Standardization
    activation: str = "softmax"

    @functools.cached_property
    def means(self) -> Float[np.ndarray, "n d"]:
        """The mean standardised token of each bag."""
        return self.standardization.weighted_sums(segment_mean(self.bags.tokens, self.bags.offsets))

    @functools.cached_property
    def largest(self) -> Float[np.ndarray, "n d"]:
        """The largest value of each standardised column within each bag."""
        scaling, tokens = self.standardization, self.bags.tokens
        return (segment_max(tokens, self.bags.offsets) - scaling.mean) / scaling.scale

    @functools.cached_property
    def projection(self) -> Projection:
        """The standardised tokens as a linear map."""
        return Projection(self.bags, self.standardization)

    @functools.cached_property
    def token_variance(self) -> float:
        """The mean variance of the columns of the tokens, in the scale of the fit."""
        tokens = self.bags.tokens
        variance = moments.variance(tokens, moments.mean(tokens))
        return float((variance / np.square(self.standardization.scale)).mean()) or 1.0

    def pooled(self, scores: Float[np.ndarray, " N"]) -> Float[np.ndarray, "n d"]:
        """Return the sums of the standardised tokens, weighted by what their scores say."""
        bags = self.bags
        weights = pooling_weights(scores, bags, self.activation)
        sums = weighted_sum(bags.tokens, weights, bags.offsets)
        if self.activation == "softmax":
            return self.standardization.weighted_sums(sums)
        total = segment_mean(weights[:, None], bags.offsets)[:, 0] * bags.sizes
        return self.standardization.weighted_sums(sums, total)

    def take(self, rows: Shaped[np.ndarray, " m"]) -> BagFeatures:
        """Return those of some bags; rows are positions or a mask."""
        return dataclasses.replace(self, bags=self.bags[rows])
