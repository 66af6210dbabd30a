"""How strong the signal is and how many tokens carry it, from bags and labels."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int

from sparsetoken.advice.inputs import Labelled
from sparsetoken.advice.scales import Scales
from sparsetoken.bags.segments import segment_mean

__all__ = ["Signal", "bootstrap_weights", "estimate_signal"]

FOLDS = 5
_LEAST_NOISE = 1e-3  # variance along the signal, where that of a column is 1
_TOGETHER = 1 << 23  # projections held at a time


class Signal(NamedTuple):
    """Estimates, one for each set of weights of the bags.

    Attributes
    ----------
    shift : array of shape (B,)
        theta R / L: distance of the mean tokens of the two classes, in units of the noise.
    share : array of shape (B,)
        R / L, in [1/(2 L), 1]; nan where no signal is seen. A limit of 1/L would make theta too
        small on average where R = 1.
    strength : array of shape (B,)
        theta = shift / share; 0 where no signal is seen, nan where the draw has too few bags.
    excess : array of shape (B,)
        Variance of held-out tokens of positive bags along the signal less that of negative ones;
        below 0 it is the negative bags that look like a mixture.
    evidence : float
        Squared distance of the mean tokens of the classes, in its standard deviations where
        there is no signal.
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
    gap, excess, noise = _held_out_moments(data, scales, means, weights, rng)
    seen = (squared > 0) & (gap > 0)
    safe = np.where(seen, gap, 1.0) ** 2
    share = np.clip(safe / np.maximum(safe + excess, 1e-300), 0.5 / length, 1.0)
    shift = np.sqrt(np.maximum(squared, 0.0) / np.maximum(noise, _LEAST_NOISE))
    return Signal(
        shift=shift,
        share=np.where(seen, share, np.nan),
        strength=np.where(seen, shift / share, np.where(np.isnan(gap), np.nan, 0.0)),
        excess=excess,
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


class _Moments(NamedTuple):
    """What held-out tokens show along a direction of length 1."""

    gap: Float[np.ndarray, " B"]
    excess: Float[np.ndarray, " B"]
    noise: Float[np.ndarray, " B"]


def _held_out_moments(
    data: Labelled,
    scales: Scales,
    means: Float[np.ndarray, "n d"],
    weights: np.ndarray,
    rng: np.random.Generator,
) -> _Moments:
    folds = _folds(data.positive, rng)
    parts = []
    for fold in range(FOLDS):
        rest, held = folds != fold, np.flatnonzero(folds == fold)
        U = _directions(means[rest], data.positive[rest], weights[:, rest])
        first, second = _bag_moments(data, scales, held, U)
        parts.append(_fold_moments(first, second, data.positive[held], weights[:, held]))
    *moments, weight = (np.stack(part) for part in zip(*parts, strict=True))
    total = weight.sum(axis=0)
    # Few bags drawn with replacement may leave no fold with two different ones of each class.
    weight = np.where(total > 0, weight / np.where(total > 0, total, 1.0), np.nan)
    return _Moments(*((weight * part).sum(axis=0) for part in moments))


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


def _bag_moments(
    data: Labelled, scales: Scales, held: Int[np.ndarray, " h"], U: Float[np.ndarray, "d B"]
) -> tuple[Float[np.ndarray, "h B"], Float[np.ndarray, "h B"]]:
    """Return the mean and the mean square of the projected tokens of each bag."""
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
    return np.concatenate(first).astype(np.float64), np.concatenate(second).astype(np.float64)


def _fold_moments(
    first: Float[np.ndarray, "h B"],
    second: Float[np.ndarray, "h B"],
    positive: Bool[np.ndarray, " h"],
    weights: np.ndarray,
) -> tuple[np.ndarray, ...]:
    """Return gap, excess variance, noise and weight of one fold."""
    found = []
    for rows in (positive, ~positive):
        w = weights[:, rows].T.astype(np.float64)
        m, q = first[rows], second[rows]
        total, own = w.sum(axis=0), np.square(w).sum(axis=0)
        pairs = total**2 - own
        fit = pairs > 0.5  # two different bags
        safe = np.where(fit, pairs, 1.0)
        mean = (w * m).sum(axis=0) / np.maximum(total, 1)
        squared_mean = (np.square((w * m).sum(axis=0)) - (np.square(w * m)).sum(axis=0)) / safe
        variance = (w * q).sum(axis=0) / np.maximum(total, 1) - squared_mean
        found.append((mean, variance, np.where(fit, total, 0.0)))
    (mean, variance, count), (mean_0, variance_0, count_0) = found
    weight = count * count_0 / np.maximum(count + count_0, 1)
    return mean - mean_0, variance - variance_0, variance_0, weight
