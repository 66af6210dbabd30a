"""One two-class problem or regression, and the readouts of its pooled tokens."""

from __future__ import annotations

import dataclasses
import functools
import math
from typing import Literal

import numpy as np
from jaxtyping import Float, Int

from sparsetoken.bags import Bags
from sparsetoken.estimators.fitting.linear_fit import LinearFit, calibrated, choose_ridge, gain
from sparsetoken.estimators.fitting.standard_tokens import StandardTokens, without
from sparsetoken.estimators.fitting.targets import Samples
from sparsetoken.losses import Loss

Divisor = Literal["tokens", "bags", "common"]
"""What features are divided by: deviations of tokens, those of the features over bags, or one
number that all columns have in common.
"""

Pool = Literal["mean", "max", "statistics"]
"""Features of a bag: its mean token, with column maxima, with deviations within the bag as well."""

LOST = 1e-8  # of a variance: what is left of a difference of two such has too few digits


@dataclasses.dataclass(frozen=True, eq=False)
class Task:
    """One class against another, or against the rest.

    Attributes
    ----------
    tokens : StandardTokens
    samples : Samples
    loss : Loss
    ridge : float or "auto"
    rescale : bool
        Whether readouts may act on features that are divided by their deviations over the bags.
        The penalty is then in that scale; weights always act on the features given.
    of_several : bool
        Whether it is one of several classes against the rest: less is tried for each, as each is
        averaged with the others.
    """

    tokens: StandardTokens
    samples: Samples
    loss: Loss
    ridge: float | Literal["auto"]
    rescale: bool = False
    of_several: bool = False

    @property
    def bags(self) -> Bags:
        """The bags that features are made of."""
        return self.tokens.bags

    @functools.cached_property
    def mean_fit(self) -> LinearFit:
        """The readout of the mean token, in the best of three scales: see `_mean_readout`."""
        return self._mean_readout[0]

    @functools.cached_property
    def _mean_readout(self) -> tuple[LinearFit, Divisor]:
        """The readout of the mean token, and what its features are divided by.

        Columns that differ between bags for any reason get small weights in the scale of mean
        tokens, large ones in that of tokens; rare ones count little in the scale they are given
        in. Each of the latter two must gain one standard error over what comes before it: it errs
        far more where it is wrong.
        """
        means = self.tokens.means
        tried: list[Divisor] = ["tokens"]
        if self.rescale:  # the tokens of bags of one token are their means
            tried = (
                ["bags", "tokens", "common"] if self.bags.sizes.max() > 1 else ["tokens", "common"]
            )
        best, by = self._chosen(means, tried[0]), tried[0]
        for other in tried[1:]:
            fit = self._chosen(means, other)
            if gain(fit, best, self.samples) > 1:
                best, by = fit, other
        return best, by

    def calibrated(self, fit: LinearFit) -> LinearFit:
        """Return a readout with honest probabilities, unless its ridge is given."""
        return calibrated(fit, self.samples, self.loss) if self.ridge == "auto" else fit

    def pooled_fit(self, pool: Pool) -> LinearFit:
        """Return the readout of the mean token, of column maxima too, or of deviations as well.

        It has d, 2 d or 3 d weights. With `rescale` each feature is divided by its deviation over
        the bags; the mean token alone has the best of three scales.
        """
        if pool == "mean":
            return self.mean_fit
        tokens = self.tokens
        features = [tokens.means, tokens.largest]
        features += [tokens.deviations] if pool == "statistics" else []
        return self._chosen(np.concatenate(features, axis=1), "bags" if self.rescale else "tokens")

    def _chosen(self, features: Float[np.ndarray, "n m"], by: Divisor) -> LinearFit:
        """Return a readout of scaled features, as weights of the features given.

        A sample is left out as one that the scales have not seen.
        """
        scale, groups = self._divisor(features, by), self.samples.groups
        scaled, number = features / scale, np.arange(len(features)) if groups is None else groups
        growth = self._growth(features, by, number)
        more = None if growth is None else scaled * (growth - 1)[number]
        fit = choose_ridge(
            scaled, self.samples, self.loss, self.ridge, more, exhaustive=not self.of_several
        )
        return dataclasses.replace(fit, w=fit.w / scale, scale=scale)

    def _divisor(
        self, features: Float[np.ndarray, "n m"], by: Divisor
    ) -> Float[np.ndarray, " m"] | float:
        """Return what features of standardised tokens are divided by, column by column.

        Deviations over bags are at least that of a mean of independent tokens, of the largest bag.
        Bags whose means differ less are alike by chance, or were made alike; a column of them is
        not to be blown up.
        """
        if by == "tokens":
            return 1.0
        if by == "common":
            varies = np.isfinite(self.tokens.scale)
            relative = np.where(varies, self.tokens.scale, 1.0)
            relative = relative / relative.max()
            return math.sqrt(np.square(relative).mean()) / relative
        share = self.samples.sample_weight / self.samples.sample_weight.sum()
        deviation = np.sqrt(share @ np.square(features - share @ features))
        return np.maximum(deviation, 1 / math.sqrt(self.bags.sizes.max()))

    def _growth(
        self, features: Float[np.ndarray, "n m"], by: Divisor, groups: Int[np.ndarray, " n"]
    ) -> Float[np.ndarray, "G m"] | None:
        """Return by how much a weight grows if the scale of its column has not seen a group.

        Equation: unseen-scales. A ridge penalty on weights of columns divided by s is one of s^2
        on those of the columns themselves. Where the penalty decides, a weight so is in proportion
        to 1/s^2, and s^2 is smaller without the bags in which a rare column has its values. None
        where nothing is learned. Where the data decide, the weight grows less than this.
        """
        if self.tokens.learned is None or by == "common":
            return None
        variance = self.tokens.variance_without(self.samples.sample_weight, groups)
        variance = np.tile(variance, features.shape[1] // variance.shape[1])
        before = np.ones(features.shape[1])
        if by == "bags":
            share = self.samples.sample_weight / self.samples.sample_weight.sum()
            moved, floor = features - share @ features, 1 / self.bags.sizes.max()
            of_bags = without(moved, np.square(moved), share, groups)
            variance = np.maximum(of_bags, floor * variance)
            before = np.maximum(share @ np.square(moved), floor)
        return np.where(variance > LOST * before, before / np.maximum(variance, LOST * before), 1.0)

    def unseen_growth(
        self, folds: Int[np.ndarray, " n"], *, mean: bool = False
    ) -> Float[np.ndarray, "d S"]:
        """Return by how much queries found without each fold grow, and 1 for that of all bags.

        They are queries of standardised tokens, or readouts of the mean token.
        """
        by = self._mean_readout[1] if mean else "tokens"
        growth, d = self._growth(self.tokens.means, by, folds), self.bags.dimension
        growth = np.ones((folds.max() + 1, d)) if growth is None else growth
        return np.concatenate([growth, np.ones((1, d))]).T

    def spread(self, scores: Float[np.ndarray, " N"]) -> float:
        """Return the standard deviation of token scores, each weighted as its bag."""
        weight, sizes = self.samples.sample_weight, self.bags.sizes
        share = np.repeat(weight / (weight @ sizes), sizes)
        moved = scores.astype(np.float64) - float(scores[0])  # equal scores become exact zeros
        return float(np.sqrt(share @ np.square(moved - share @ moved)))
