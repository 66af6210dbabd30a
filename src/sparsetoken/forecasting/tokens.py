"""Tokens of a pilot: their scales, effective dimension, and departures from the Gaussian model."""

from __future__ import annotations

import dataclasses
import math
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from sparsetoken.bags import Bags
from sparsetoken.bags.segments import segment_mean
from sparsetoken.base.validation import InvalidInput
from sparsetoken.estimators.fitting.standard_tokens import mean_and_variance
from sparsetoken.forecasting.inputs import Labelled

_MOST_TOKENS = 20_000  # for covariances and higher moments
_LEAST_SHARE = 0.25  # of the variance over all tokens, for the noise of a column
_SAFE = 1e6  # times the square root of the smallest normal number: squares do not underflow


@dataclasses.dataclass(frozen=True)
class Scales:
    """Noise of the columns that vary: z = (x - mean) / scale has noise of variance 1.

    The scale of constant columns, and of those whose values are too small to be squared, is
    infinite.
    """

    mean: Float[np.ndarray, " d"]
    scale: Float[np.ndarray, " d"]

    @classmethod
    def of(cls, data: Labelled) -> Scales:
        """Learn the scales from negative bags, which hold no signal.

        A column that is almost constant there, such as the count of a rare word, takes half
        the scale that it has over all tokens.
        """
        tokens, negative = data.bags.tokens, data.bags[~data.positive].tokens
        mean, own = mean_and_variance(negative, np.ones(len(negative)))
        centre, overall = mean_and_variance(tokens, np.ones(len(tokens)))
        kind = np.finfo(data.bags.dtype)
        least = np.maximum(_SAFE * math.sqrt(kind.tiny), 4 * kind.eps * np.abs(centre))
        constant = np.sqrt(overall) <= least
        if constant.all():
            got = f"standard deviations up to {np.sqrt(overall.max()):.3g}"
            legal = "with a column that varies beyond rounding and underflow"
            raise InvalidInput("bags", legal, got)
        noise = np.maximum(own, _LEAST_SHARE * overall)
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


_MOST_COLUMNS = 600  # of which principal directions are taken
_MOST_DIRECTIONS = 50


class _Limits(NamedTuple):
    """Values beyond which a departure from the model counts as clear, and as large."""

    clear: float
    large: float


KURTOSIS = _Limits(1.0, 5.0)
SKEW = _Limits(0.5, 1.5)
WITHIN_BAG = _Limits(0.05, 0.2)
NORMS = _Limits(2.0, 6.0)
CORRELATED = _Limits(2.0, 10.0)  # d over the effective d
SIZES = _Limits(0.3, 1.0)


@dataclasses.dataclass(frozen=True)
class TokenCheck:
    """Departures of the tokens of negative bags from independent normals.

    Attributes
    ----------
    kurtosis, skew : float
        Median over the principal directions of the tokens of the excess kurtosis and of the
        absolute skewness; 0 for normals.
    within_bag : float
        Share of the variance that the tokens of a bag have in common; 0 in the model.
    norms : float
        Variance of the squared norms of the tokens over that of normals of the same
        covariance; 1 in the model.
    correlation : float
        Number of columns over their effective number; 1 for independent columns.
    sizes : float
        Standard deviation of the bag sizes over their mean; 0 in the model.
    departures : tuple of str
        What is clearly unlike the model, a phrase for each departure.
    fit : {"close", "rough", "poor"}
        Close without departures; poor with a large one, or three; rough otherwise.

    See Also
    --------
    Diagnosis : Holds it.

    Examples
    --------
    >>> import numpy as np
    >>> import sparsetoken as st
    >>> labels, rng = np.arange(80) % 2, np.random.default_rng(0)
    >>> bags = rng.standard_normal((80, 6, 4))
    >>> found = st.diagnose(bags, labels).tokens
    >>> found.fit, found.departures
    ('close', ())
    """

    kurtosis: float
    skew: float
    within_bag: float
    norms: float
    correlation: float
    sizes: float
    departures: tuple[str, ...]
    fit: str

    @property
    def verdict(self) -> str:
        """One sentence on the reliability of predictions."""
        return {
            "close": "Tokens look like those of the Gaussian model, on which predictions rest.",
            "rough": "Tokens depart from the Gaussian model: predictions are rough.",
            "poor": "Tokens are far from the Gaussian model: predictions are a guess.",
        }[self.fit]


def check_tokens(noise: Bags, sizes: Float[np.ndarray, " n"]) -> TokenCheck:
    """Compare scaled tokens of negative bags with independent normals, given all bag sizes."""
    tokens = noise.tokens
    skew, kurtosis = _shape(tokens)
    values = {
        "kurtosis": kurtosis,
        "skew": skew,
        "within_bag": _within_bag(noise),
        "norms": _norms(tokens),
        "correlation": tokens.shape[1] / effective_dimension(tokens),
        "sizes": float(sizes.std() / sizes.mean()),
    }
    checks = (
        (KURTOSIS, "kurtosis", "heavy tails (excess kurtosis {:.2g})"),
        (SKEW, "skew", "skewed values (skewness {:.2g})"),
        (WITHIN_BAG, "within_bag", "correlated tokens within bags (intra-bag correlation {:.2g})"),
        (NORMS, "norms", "tokens of very different norms ({:.2g} times the spread of normals)"),
        (CORRELATED, "correlation", "correlated columns ({:.2g} for each effective one)"),
        (SIZES, "sizes", "bags of very different sizes (standard deviation {:.2g} of the mean)"),
    )
    departures = tuple(
        text.format(values[name]) for limits, name, text in checks if values[name] > limits.clear
    )
    large = any(values[name] > limits.large for limits, name, _ in checks)
    fit = "poor" if large or len(departures) >= 3 else "rough" if departures else "close"
    return TokenCheck(**values, departures=departures, fit=fit)


def _shape(tokens: Float[np.ndarray, "N d"]) -> tuple[float, float]:
    """Return median absolute skewness and excess kurtosis over directions of variance 1."""
    centred = tokens - tokens.mean(axis=0)
    if tokens.shape[1] <= min(_MOST_COLUMNS, len(tokens)):
        vectors = np.linalg.eigh(centred.T @ centred)[1]
        centred = centred @ vectors[:, -_MOST_DIRECTIONS:]
    deviation = centred.std(axis=0)
    t = centred[:, deviation > 0] / deviation[deviation > 0]
    if not t.size:
        return 0.0, 0.0
    cubes, fourth = (t**3).mean(axis=0), (t**4).mean(axis=0)
    return float(np.median(np.abs(cubes))), float(np.median(fourth)) - 3.0


def _within_bag(bags: Bags) -> float:
    """Return the intra-bag correlation of one-way analysis of variance, over all columns."""
    n, N, sizes = len(bags), len(bags.tokens), bags.sizes
    if n == N:
        return 0.0
    means = segment_mean(bags.tokens, bags.offsets)
    between = float(sizes @ np.square(means - bags.tokens.mean(axis=0)).sum(axis=1)) / (n - 1)
    rest = bags.tokens - np.repeat(means, sizes, axis=0)
    within = float(np.square(rest).sum()) / (N - n)
    typical = (N - float(sizes @ sizes) / N) / (n - 1)
    total = between + (typical - 1) * within
    return max(0.0, (between - within) / total) if total > 0 else 0.0


def _norms(tokens: Float[np.ndarray, "N d"]) -> float:
    """Return Var |z|^2 over the 2 tr S^2 of normals of covariance S."""
    centred = tokens - tokens.mean(axis=0)
    squared = np.square(centred).sum(axis=1)
    expected = 2 * squared.mean() ** 2 / effective_dimension(tokens)
    return float(squared.var() / expected) if expected > 0 else 1.0
