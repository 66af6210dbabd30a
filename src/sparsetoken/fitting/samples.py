"""Labels and weights: what a fit knows of its samples besides their tokens."""

from __future__ import annotations

import dataclasses
import functools
from typing import Literal

import numpy as np
from jaxtyping import Bool, Float, Int, Shaped


@dataclasses.dataclass(frozen=True, eq=False)
class Samples:
    """Labels and weights of the samples of a two-class problem.

    Attributes
    ----------
    y : array of shape (n,), in {-1, +1}
    weight : array of shape (n,)
        How much each sample counts, > 0: its sample weight times the weight of its class.
    class_weight : array of shape (n,)
        The weight of the class of each sample. A sample of sample weight 2 is the same as two
        samples, and leave-one-out leaves one of these two copies out.
    """

    y: Float[np.ndarray, " n"]
    weight: Float[np.ndarray, " n"]
    class_weight: Float[np.ndarray, " n"]

    def take(self, rows: Shaped[np.ndarray, " m"]) -> Samples:
        """Return those of some samples; rows are positions or a mask."""
        return Samples(self.y[rows], self.weight[rows], self.class_weight[rows])

    @functools.cached_property
    def share(self) -> Float[np.ndarray, " n"]:
        """The weights, divided by their sum."""
        return self.weight / self.weight.sum()

    @property
    def log_odds(self) -> float:
        """The score of a classifier that knows of the share of each class alone."""
        plus = float(self.share @ (self.y > 0))
        return float(np.log(plus / (1 - plus)))

    @property
    def copies(self) -> Float[np.ndarray, " n"]:
        """The sample weights: of how many equal samples each one stands for."""
        return self.weight / self.class_weight

    @property
    def variance_share(self) -> Float[np.ndarray, " n"]:
        """What to multiply the variance of each sample by, to add up that of the weighted mean.

        It is share^2 / copies: two copies are two independent samples. A sample weight below 1
        is that of one sample.
        """
        return np.square(self.share) * np.minimum(1.0, self.class_weight / self.weight)


@dataclasses.dataclass(frozen=True, eq=False)
class Targets:
    """Labels and weights of any number of classes, of the samples that have any weight.

    Attributes
    ----------
    used : bool array of shape (m,)
        Whether each sample that was given has any weight. The other arrays leave the rest out.
    classes : array of shape (K,)
        The labels in order.
    number : int array of shape (n,)
        The place in `classes` of the label of each sample.
    weight : array of shape (n,)
        The sample weights, > 0.
    class_weight : array of shape (K,) or "balanced"
        Balanced: both sides of every two-class problem count alike.
    """

    used: Bool[np.ndarray, " m"]
    classes: Shaped[np.ndarray, " K"]
    number: Int[np.ndarray, " n"]
    weight: Float[np.ndarray, " n"]
    class_weight: Float[np.ndarray, " K"] | Literal["balanced"]

    def problems(self) -> list[Samples]:
        """Return one problem for two classes, else one for each class against the rest."""
        K = len(self.classes)
        return [self._against_rest(c) for c in ([1] if K == 2 else range(K))]

    def _against_rest(self, c: int) -> Samples:
        plus = (self.number == c).astype(int)
        if isinstance(self.class_weight, str):
            total = np.bincount(plus, self.weight)
            weight = (total.sum() / (2 * total))[plus]
        else:
            weight = self.class_weight[self.number]
        return Samples(2.0 * plus - 1, self.weight * weight, weight)
