"""Estimates from a pilot of the distribution of its bags: length, bag effects, classes."""

from __future__ import annotations

import dataclasses

import numpy as np
from jaxtyping import Float

from sparsetoken.fitting.features import BagFeatures
from sparsetoken.fitting.standardization import Standardization
from sparsetoken.forecasting.inputs import Labelled

LONGEST = 200  # longer bags count as so long: the curves hardly change, their time does


@dataclasses.dataclass(frozen=True)
class BagLaw:
    """The numbers of the bags that learning curves depend on.

    Attributes
    ----------
    length : int
        L, the median size of a bag.
    averaging : float
        The harmonic mean of the sizes: the noise of a mean token has variance 1/averaging.
    between : float
        Mean variance of the effect of a bag, in units of that of tokens within a bag.
    positive_rate : float
    """

    length: int
    averaging: float
    between: float
    positive_rate: float


def bag_law(data: Labelled) -> BagLaw:
    """Estimate the law of the bags on columns scaled by the deviations of all tokens."""
    bags = data.bags
    means = BagFeatures(bags, Standardization.of(bags, np.ones(len(bags)), True)).means
    averaging = float(1 / np.mean(1 / bags.sizes))
    return BagLaw(
        length=min(max(1, round(float(np.median(bags.sizes)))), LONGEST),
        averaging=min(averaging, float(LONGEST)),
        between=_between(data, means, averaging),
        positive_rate=float(data.positive.mean()),
    )


def _between(data: Labelled, means: Float[np.ndarray, "n d"], averaging: float) -> float:
    """Return the variance of the bags' effects over that of tokens in a bag, by moments."""
    sizes, N, n = data.bags.sizes, len(data.bags.tokens), len(data.bags)
    if n == N:
        return 0.0
    columns = int((np.square(means).sum(axis=0) > 0).sum())
    # Standardised columns have a mean square of 1 over all tokens.
    within = (N * columns - float(sizes @ np.square(means).sum(axis=1))) / (N - n)
    rows = (data.positive, ~data.positive)
    squares = sum(float(np.square(means[r] - means[r].mean(axis=0)).sum()) for r in rows)
    excess = squares / (n - 2) - within / averaging
    return max(excess, 0.0) / within if within > 0 else 0.0
