"""The scale of the noise in each column, and the effective number of columns."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
from jaxtyping import Float

from sparsetoken.bags import Bags
from sparsetoken.fitting import moments
from sparsetoken.forecasting.inputs import Labelled
from sparsetoken.validation import InvalidInput

_MOST_TOKENS = 20_000  # for covariances and higher moments
_LEAST_SHARE = 0.25  # of the variance over all tokens, for the noise of a column
_SAFE = 1e6  # times the square root of the smallest normal number: squares do not underflow


@dataclasses.dataclass(frozen=True)
class Scales:
    """Noise of the columns that vary: z = (x - mean) / scale has noise of variance 1.

    Attributes
    ----------
    mean, scale : array of shape (d,)
        Of the tokens of negative bags; the scale of constant columns, and of those whose
        values are too small to be squared, is infinite.
    """

    mean: Float[np.ndarray, " d"]
    scale: Float[np.ndarray, " d"]

    @classmethod
    def of(cls, data: Labelled) -> Scales:
        """Learn the scales from negative bags, which hold no signal.

        A column that is almost constant there, such as the count of a rare word, takes half
        the scale that it has over all tokens.

        Raises
        ------
        InvalidInput
            If no column varies.
        """
        negative = data.bags[~data.positive].tokens
        mean = moments.mean(negative)
        centre = moments.mean(data.bags.tokens)
        overall = moments.variance(data.bags.tokens, centre)
        kind = np.finfo(data.bags.dtype)
        least = np.maximum(_SAFE * math.sqrt(kind.tiny), 4 * kind.eps * np.abs(centre))
        constant = np.sqrt(overall) <= least
        if constant.all():
            got = f"standard deviations up to {np.sqrt(overall.max()):.3g}"
            legal = "with a column that varies beyond rounding and underflow"
            raise InvalidInput("bags", legal, got)
        noise = np.maximum(moments.variance(negative, mean), _LEAST_SHARE * overall)
        return cls(mean, np.where(constant | (noise <= 0), np.inf, np.sqrt(noise)))

    def applied(self, tokens: Float[np.ndarray, "N d"]) -> Float[np.ndarray, "N k"]:
        """Return scaled tokens, without the constant columns."""
        kept = np.isfinite(self.scale)
        return (tokens[:, kept] - self.mean[kept]) / self.scale[kept]


def sample_of_tokens(data: Labelled, scales: Scales, rng: np.random.Generator) -> Bags:
    """Return randomly chosen negative bags with scaled tokens, about 20000 tokens at most."""
    order = rng.permutation(np.flatnonzero(~data.positive))
    total = np.cumsum(data.bags.sizes[order])
    few = data.bags[np.sort(order[: max(2, int(np.searchsorted(total, _MOST_TOKENS)))])]
    return few.with_tokens(np.ascontiguousarray(scales.applied(few.tokens.astype(np.float64))))


def effective_dimension(tokens: Float[np.ndarray, "N d"]) -> float:
    """Return the participation ratio (tr S)^2 / tr S^2 of the covariance S of tokens.

    It is d for independent columns of one variance. What the finite number of tokens adds to
    tr S^2, (tr S)^2 / N, is subtracted.
    """
    N, d = tokens.shape
    centred = tokens - tokens.mean(axis=0)
    product = centred.T @ centred if d <= N else centred @ centred.T
    trace = float(np.trace(product)) / (N - 1)
    squares = float(np.square(product).sum()) / (N - 1) ** 2 - trace**2 / (N - 1)
    ratio = trace**2 / squares if squares > 0 else float(d)
    return min(max(ratio, 1.0), float(d))
