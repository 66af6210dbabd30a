"""How strong the signal is and how many tokens carry it, from bags and labels."""

from __future__ import annotations

import dataclasses

import numpy as np
from jaxtyping import Bool, Float, Int

from sparsetoken.advice.inputs import Labelled
from sparsetoken.advice.scales import Scales
from sparsetoken.bags.segments import segment_mean

__all__ = ["Signal", "bootstrap_weights", "estimate_signal"]

FOLDS = 5
_LEAST_NOISE = 1e-3  # variance along the signal, where that of a column is 1
_TOGETHER = 1 << 23  # projections held in memory at a time


@dataclasses.dataclass(frozen=True)
class Signal:
    """Estimates, one for each set of weights of the bags.

    Attributes
    ----------
    shift : array of shape (B,)
        theta R / L: distance of the mean tokens of the two classes, in units of the noise.
    share : array of shape (B,)
        R / L, in [1/(2 L), 1]; nan where no signal is seen. The lower limit is not 1/L, which
        would make theta too small on average where R = 1.
    strength : array of shape (B,)
        theta = shift / share; 0 where no signal is seen, nan where a bootstrap sample has too
        few different bags.
    excess : array of shape (B,)
        Variance of held-out tokens of positive bags along the signal, minus that of negative
        ones. Where it is below 0 the negative bags look like the mixture.
    evidence : float
        Squared distance of the mean tokens of the classes, over the standard deviation that it
        has where there is no signal.
    """

    shift: Float[np.ndarray, " B"]
    share: Float[np.ndarray, " B"]
    strength: Float[np.ndarray, " B"]
    excess: Float[np.ndarray, " B"]
    evidence: float


def bootstrap_weights(
    positive: Bool[np.ndarray, " n"], n_boot: int, rng: np.random.Generator
) -> Int[np.ndarray, "B n"]:
    """Return how often each bag is drawn: first once each, then `n_boot` times at random.

    Bags are drawn with replacement within each class, so that both are there.
    """
    weights = np.ones((n_boot + 1, len(positive)), dtype=np.int64)
    for rows in (positive, ~positive):
        count = int(rows.sum())
        weights[1:, rows] = rng.multinomial(count, np.full(count, 1 / count), size=n_boot)
    return weights


def estimate_signal(
    data: Labelled,
    scales: Scales,
    weights: Int[np.ndarray, "B n"],
    length: int,
    rng: np.random.Generator,
) -> Signal:
    """Estimate shift, share and strength of the signal under several weights of the bags.

    Tokens of positive bags are N(0, 1) along the signal, a share rho = R/L of them moved by
    theta. The class means are rho theta apart; seen along a direction u of cosine c to the
    signal, found on other bags, tokens of positive bags have a mean higher by
    m = rho theta c and a variance higher by V = rho (1 - rho) theta^2 c^2. So
    rho = m^2 / (m^2 + V), whatever c is, and theta is the distance of the means over rho.
    The squared distance leaves out the pairs of a bag with itself: it is unbiased, also under
    weights.
    """
    means = scales.means(data.bags)
    squared = _squared_distance(means, data.positive, weights)
    held_out = _held_out_moments(data, scales, means, weights, rng)
    seen = (squared > 0) & (held_out.gap > 0)
    safe = np.where(seen, held_out.gap, 1.0) ** 2
    share = np.clip(safe / np.maximum(safe + held_out.excess, 1e-300), 0.5 / length, 1.0)
    shift = np.sqrt(np.maximum(squared, 0.0) / np.maximum(held_out.noise, _LEAST_NOISE))
    return Signal(
        shift=shift,
        share=np.where(seen, share, np.nan),
        strength=np.where(seen, shift / share, np.where(np.isnan(held_out.gap), np.nan, 0.0)),
        excess=held_out.excess,
        evidence=float(squared[0]) / _null_deviation(means, data.positive),
    )


def _squared_distance(
    means: Float[np.ndarray, "n d"], positive: Bool[np.ndarray, " n"], weights: np.ndarray
) -> Float[np.ndarray, " B"]:
    """Return the squared distance of the class means, without pairs of a bag with itself."""
    squares = np.square(means).sum(axis=1)
    centres, within = [], 0.0
    for rows in (positive, ~positive):
        w = weights[:, rows].astype(np.float64)
        total, own = w.sum(axis=1), np.square(w).sum(axis=1)
        summed = w @ means[rows]
        pairs = np.square(summed).sum(axis=1) - np.square(w) @ squares[rows]
        within = within + pairs / (total**2 - own)
        centres.append(summed / total[:, None])
    return within - 2 * np.sum(centres[0] * centres[1], axis=1)


def _null_deviation(means: Float[np.ndarray, "n d"], positive: Bool[np.ndarray, " n"]) -> float:
    """Return the standard deviation of the squared distance where there is no signal.

    That of Chen and Qin (Annals of Statistics 38, 2010), for any covariance in each class.
    """
    centred = [means[rows] - means[rows].mean(axis=0) for rows in (positive, ~positive)]
    variance = 0.0
    for part in centred:
        m = len(part) - 1
        product = part.T @ part if part.shape[1] <= len(part) else part @ part.T
        squares = np.square(product).sum() / m**2 - np.trace(product) ** 2 / m**3
        variance += 2 * max(float(squares), 0.0) / (m * (m + 1))
    cross = float(np.square(centred[0] @ centred[1].T).sum())
    counts = [len(part) for part in centred]
    variance += 4 * cross / ((counts[0] - 1) * (counts[1] - 1) * counts[0] * counts[1])
    return float(np.sqrt(variance)) if variance > 0 else float("inf")


@dataclasses.dataclass(frozen=True)
class _Moments:
    """What held-out tokens show along a direction of length 1, and how much that weighs."""

    gap: Float[np.ndarray, " B"]
    excess: Float[np.ndarray, " B"]
    noise: Float[np.ndarray, " B"]
    weight: Float[np.ndarray, " B"]


def _held_out_moments(
    data: Labelled,
    scales: Scales,
    means: Float[np.ndarray, "n d"],
    weights: np.ndarray,
    rng: np.random.Generator,
) -> _Moments:
    """Return means over folds of what tokens show along a direction found on the other folds."""
    folds = _folds(data.positive, rng)
    parts = []
    for fold in range(FOLDS):
        rest, held = folds != fold, np.flatnonzero(folds == fold)
        U = _directions(means[rest], data.positive[rest], weights[:, rest])
        bags = _bag_moments(data, scales, held, U)
        parts.append(_fold_moments(bags, data.positive[held], weights[:, held]))
    weight = np.stack([part.weight for part in parts])
    total = weight.sum(axis=0)
    # A bootstrap sample of few bags may leave no fold with two different ones of each class.
    shares = np.where(total > 0, weight / np.where(total > 0, total, 1.0), np.nan)

    def mean(name: str) -> np.ndarray:
        return np.sum(shares * [getattr(part, name) for part in parts], axis=0)

    return _Moments(mean("gap"), mean("excess"), mean("noise"), total)


def _folds(positive: Bool[np.ndarray, " n"], rng: np.random.Generator) -> Int[np.ndarray, " n"]:
    folds = np.empty(len(positive), dtype=np.int64)
    for rows in (positive, ~positive):
        folds[rows] = rng.permutation(np.arange(rows.sum()) % FOLDS)
    return folds


def _directions(
    means: Float[np.ndarray, "n d"], positive: Bool[np.ndarray, " n"], weights: np.ndarray
) -> Float[np.ndarray, "d B"]:
    """Return the directions from the negative to the positive mean token."""
    signed = np.where(positive, 1.0, -1.0) * weights
    for rows in (positive, ~positive):
        signed[:, rows] /= np.maximum(weights[:, rows].sum(axis=1, keepdims=True), 1)
    U = (signed @ means).T
    norm = np.linalg.norm(U, axis=0)
    return U / np.where(norm > 0, norm, 1.0)


@dataclasses.dataclass(frozen=True)
class _BagMoments:
    """Mean and mean square of the projected tokens of each bag."""

    mean: Float[np.ndarray, "h B"]
    square: Float[np.ndarray, "h B"]


def _bag_moments(
    data: Labelled, scales: Scales, held: Int[np.ndarray, " h"], U: Float[np.ndarray, "d B"]
) -> _BagMoments:
    raw = scales.raw(U)
    shift = scales.mean @ raw
    bags = data.bags[held]
    step = max(1, _TOGETHER // (U.shape[1] * max(1, int(bags.sizes.max()))))
    first, second = [], []
    for start in range(0, len(bags), step):
        few = bags[start : start + step]
        t = few.tokens @ raw.astype(few.dtype) - shift.astype(few.dtype)
        first.append(segment_mean(t, few.offsets))
        second.append(segment_mean(np.square(t, out=t), few.offsets))
    return _BagMoments(*(np.concatenate(part).astype(np.float64) for part in (first, second)))


def _fold_moments(
    bags: _BagMoments, positive: Bool[np.ndarray, " h"], weights: np.ndarray
) -> _Moments:
    """Return what the bags of one fold show."""
    plus = _class_moments(bags, weights, positive)
    minus = _class_moments(bags, weights, ~positive)
    return _Moments(
        gap=plus.mean - minus.mean,
        excess=plus.variance - minus.variance,
        noise=minus.variance,
        weight=plus.count * minus.count / np.maximum(plus.count + minus.count, 1),
    )


@dataclasses.dataclass(frozen=True)
class _ClassMoments:
    """Moments of the tokens of one class; the count is 0 without two different bags."""

    mean: Float[np.ndarray, " B"]
    variance: Float[np.ndarray, " B"]
    count: Float[np.ndarray, " B"]


def _class_moments(
    bags: _BagMoments, weights: np.ndarray, rows: Bool[np.ndarray, " h"]
) -> _ClassMoments:
    """Return weighted moments; the squared mean leaves out the pairs of a bag with itself."""
    w = weights[:, rows].T.astype(np.float64)
    m, q = bags.mean[rows], bags.square[rows]
    total = w.sum(axis=0)
    pairs = total**2 - np.square(w).sum(axis=0)
    enough = pairs > 0.5
    apart = np.square((w * m).sum(axis=0)) - np.square(w * m).sum(axis=0)
    squared_mean = apart / np.where(enough, pairs, 1.0)
    count = np.maximum(total, 1)
    return _ClassMoments(
        mean=(w * m).sum(axis=0) / count,
        variance=(w * q).sum(axis=0) / count - squared_mean,
        count=np.where(enough, total, 0.0),
    )
