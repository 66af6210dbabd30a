"""One two-class problem or regression, and the readouts of its pooled tokens."""

from __future__ import annotations

import dataclasses
import functools
import math
from typing import Literal

import numpy as np
from jaxtyping import Float

from sparsetoken.bags import Bags
from sparsetoken.estimators.fitting.linear_fit import LinearFit, calibrated, choose_ridge, gain
from sparsetoken.estimators.fitting.standard_tokens import StandardTokens
from sparsetoken.estimators.fitting.targets import Samples
from sparsetoken.losses import Loss

MOST = 2_000_000  # column maxima, n d: with more the time of a fit goes into their readout


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
    """

    tokens: StandardTokens
    samples: Samples
    loss: Loss
    ridge: float | Literal["auto"]
    rescale: bool = False

    @property
    def bags(self) -> Bags:
        """The bags that features are made of."""
        return self.tokens.bags

    @functools.cached_property
    def mean_fit(self) -> LinearFit:
        """The readout of the mean token, in the better of two scales.

        Columns that differ between bags for any reason get small weights in the scale of mean
        tokens, large ones in that of tokens. The latter must gain one standard error: it
        errs far more where it is wrong.
        """
        means = self.tokens.means
        plain = self._chosen(means, 1.0)
        if not self.rescale or self.bags.sizes.max() == 1:
            return plain
        own = self._chosen(means, self._deviations(means))
        return plain if gain(plain, own, self.samples) > 1 else own

    def calibrated(self, fit: LinearFit) -> LinearFit:
        """Return a readout with honest probabilities, unless its ridge is given."""
        return calibrated(fit, self.samples, self.loss) if self.ridge == "auto" else fit

    def largest_fit(self) -> LinearFit:
        """Return the readout of mean token and column maxima, (w, u) of 2 d entries.

        With `rescale` each of these features is divided by its deviation over the bags. Its
        probabilities are honest, unless its ridge is given.
        """
        both = np.concatenate([self.tokens.means, self.tokens.largest], axis=1)
        return self.calibrated(self._chosen(both, self._deviations(both) if self.rescale else 1.0))

    def _chosen(
        self, features: Float[np.ndarray, "n d"], scale: Float[np.ndarray, " d"] | float
    ) -> LinearFit:
        """Return a readout of scaled features, as weights of the features given."""
        fit = choose_ridge(features / scale, self.samples, self.loss, self.ridge)
        return dataclasses.replace(fit, w=fit.w / scale, scale=scale)

    def _deviations(self, features: Float[np.ndarray, "n d"]) -> Float[np.ndarray, " d"]:
        """Return deviations over bags, at least that of a mean of independent tokens.

        It is that of the largest bag. Bags whose means differ less are alike by chance, or were
        made alike; a column of them is not to be blown up.
        """
        share = self.samples.sample_weight / self.samples.sample_weight.sum()
        deviation = np.sqrt(share @ np.square(features - share @ features))
        return np.maximum(deviation, 1 / math.sqrt(self.bags.sizes.max()))

    def spread(self, scores: Float[np.ndarray, " N"]) -> float:
        """Return the standard deviation of token scores, each weighted as its bag."""
        weight, sizes = self.samples.sample_weight, self.bags.sizes
        share = np.repeat(weight / (weight @ sizes), sizes)
        moved = scores.astype(np.float64) - float(scores[0])  # equal scores become exact zeros
        return float(np.sqrt(share @ np.square(moved - share @ moved)))
