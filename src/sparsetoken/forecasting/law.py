"""What a pilot shows of the law of its tokens: effects of bags, dimension and separation."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
from jaxtyping import Float

from sparsetoken.bags import Bags
from sparsetoken.fitting.features import BagFeatures
from sparsetoken.fitting.standardization import Standardization
from sparsetoken.forecasting.inputs import Labelled
from sparsetoken.forecasting.scales import MOST_TOKENS, effective_dimension
from sparsetoken.forecasting.separation import UNKNOWN, SquaredSeparation, squared_separation

__all__ = ["LONGEST", "BagLaw", "bag_law"]

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
    dimension : float
        Geometric mean of the number of columns that vary and the effective dimension (the
        participation ratio) of the covariance within bags.
    positive_rate : float
    squared : SquaredSeparation
        Of the mean tokens of the two classes; unknown where all bags have one token.
    """

    length: int
    averaging: float
    between: float
    dimension: float
    positive_rate: float
    squared: SquaredSeparation = UNKNOWN


def bag_law(data: Labelled, rng: np.random.RandomState) -> BagLaw:
    """Estimate the law of the bags on columns scaled by the deviations of all tokens."""
    bags = data.bags
    scaling = Standardization.of(bags, np.ones(len(bags)), True)
    means = BagFeatures(bags, scaling).means
    columns = int((np.square(means).sum(axis=0) > 0).sum())
    averaging = float(1 / np.mean(1 / bags.sizes))
    length = max(1, round(float(np.median(bags.sizes))))
    residuals = _residuals(bags, scaling, means, rng)
    between = _between(data, means, columns, averaging)
    squared = UNKNOWN
    if bags.sizes.max() > 1:
        N = len(bags.tokens)
        squared = squared_separation(
            residuals * np.sqrt(N / (N - len(bags))), between + 1 / averaging, means, data.positive
        )
    return BagLaw(
        length=min(length, LONGEST),
        averaging=min(averaging, float(LONGEST)),
        between=between,
        dimension=float(np.sqrt(max(columns, 1) * effective_dimension(residuals))),
        positive_rate=float(data.positive.mean()),
        squared=squared,
    )


def _between(
    data: Labelled, means: Float[np.ndarray, "n d"], columns: int, averaging: float
) -> float:
    """Return the variance of the bags' effects over that of tokens in a bag, by moments."""
    sizes, N, n = data.bags.sizes, len(data.bags.tokens), len(data.bags)
    if n == N:
        return 0.0
    # Standardised columns have a mean square of 1 over all tokens.
    within = (N * columns - float(sizes @ np.square(means).sum(axis=1))) / (N - n)
    rows = (data.positive, ~data.positive)
    squares = sum(float(np.square(means[r] - means[r].mean(axis=0)).sum()) for r in rows)
    excess = squares / (n - 2) - within / averaging
    return max(excess, 0.0) / within if within > 0 else 0.0


def _residuals(
    bags: Bags,
    scaling: Standardization,
    means: Float[np.ndarray, "n d"],
    rng: np.random.RandomState,
) -> Float[np.ndarray, "N d"]:
    """Return standardised tokens less the mean of their bag, of about 20000 tokens at most."""
    if bags.sizes.max() == 1:
        return means
    order = rng.permutation(len(bags))
    last = int(np.searchsorted(np.cumsum(bags.sizes[order]), MOST_TOKENS)) + 1
    rows: Any = np.sort(order[: max(2, last)])
    few = bags[rows]
    tokens = (few.tokens - scaling.mean) / scaling.scale
    return tokens - np.repeat(means[rows], few.sizes, axis=0)
