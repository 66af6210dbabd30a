"""One row of features for each bag: moments and extremes of its columns, and its size."""

from __future__ import annotations

import dataclasses
import functools

import numpy as np
from jaxtyping import Float, Shaped

from sparsetoken.bags import Bags
from sparsetoken.bags.segments import segment_deviation, segment_max, segment_mean
from sparsetoken.estimators.fitting.projection import Projection
from sparsetoken.estimators.fitting.standardization import Standardization


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
