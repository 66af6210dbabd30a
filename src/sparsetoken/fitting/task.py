"""One two-class problem, and what all trainings of a query do with it."""

from __future__ import annotations

import dataclasses
import functools
from typing import Literal

import numpy as np
from jaxtyping import Bool, Float

from sparsetoken.bags import Bags
from sparsetoken.fitting.features import BagFeatures
from sparsetoken.fitting.linear_fit import LinearFit, choose_ridge
from sparsetoken.fitting.samples import Samples
from sparsetoken.losses import Loss

__all__ = ["Task"]


@dataclasses.dataclass(frozen=True, eq=False)
class Task:
    """One class against another, or against the rest.

    Attributes
    ----------
    features : BagFeatures
    samples : Samples
    loss : Loss
    ridge : float or "auto"
    """

    features: BagFeatures
    samples: Samples
    loss: Loss
    ridge: float | Literal["auto"]

    @property
    def bags(self) -> Bags:
        """The bags that features are made of."""
        return self.features.bags

    @functools.cached_property
    def mean_fit(self) -> LinearFit:
        """The readout of the mean token."""
        return self.fit(self.features.means)

    @functools.cached_property
    def unsharpened_fit(self) -> LinearFit:
        """The readout of what sharpness 0 makes of the bags: for softmax, the mean token."""
        if self.features.activation == "softmax":
            return self.mean_fit
        return self.fit(self.features.pooled(np.zeros(len(self.bags.tokens), self.bags.dtype)))

    def fit(self, features: Float[np.ndarray, "n d"]) -> LinearFit:
        """Return the readout of features."""
        return choose_ridge(features, self.samples, self.loss, self.ridge)

    def spread(self, scores: Float[np.ndarray, " N"]) -> float:
        """Return the standard deviation of token scores, each weighted as its bag."""
        weight, sizes = self.samples.copies, self.bags.sizes
        share = np.repeat(weight / (weight @ sizes), sizes)
        moved = scores.astype(np.float64) - float(scores[0])  # equal scores become exact zeros
        return float(np.sqrt(share @ np.square(moved - share @ moved)))

    def take(self, rows: Bool[np.ndarray, " n"]) -> Task:
        """Return the task of some bags."""
        features, samples = self.features.take(rows), self.samples.take(rows)
        return dataclasses.replace(self, features=features, samples=samples)
