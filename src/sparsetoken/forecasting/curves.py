"""Learning curves of the two classifiers in closed form, for many settings at once.

The comparison of section "general convex readout" has a closed form where the ridge is large: the
readout of n features of two classes, a separation D apart in units of their noise in d
directions, has a cosine c with the best one, c^2 = 1 / (1 + 4 d / (m D^2)), m = 4 n pi (1 - pi),
and errs as if the separation were c D. Good ridges are large, and what a chosen one changes, the
effective d takes up. Features of attention are those of the sparse-token model with a bag effect,
for a query of the cosine that the readout of the mean token has, and for the best sharpness.
"""

from __future__ import annotations

import dataclasses
import functools
from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.special import ndtr, softmax

from sparsetoken.fitting.sharpness import GRID
from sparsetoken.forecasting.law import BagLaw

__all__ = ["Errors", "Settings", "errors_at", "learned_separation", "threshold_error"]

_QUERY_SHARE = 7 / 8  # of the bags: the query of a fold has not seen the others
_DRAWS = 150  # bags of noise for the moments of a softmax
_SHIFTS = np.linspace(0.0, 12.0, 49)  # of the score of an informative token, in deviations
_LOSS_SPREAD = 0.5  # standard deviation of the difference of two losses, bag by bag
_LEAST = 1e-3


@dataclasses.dataclass(frozen=True, eq=False)
class Settings:
    """Settings of the unknowns, arrays of one shape.

    Attributes
    ----------
    separation : array of shape (G,)
        Of the mean tokens of the two classes, in standard deviations of their noise.
    dimension : array of shape (G,)
        Effective d of the readouts.
    informative : int array of shape (G,)
        R; the length of a bag is mean pooling.
    flips : array of shape (G,)
        Share of the labels that no classifier explains.
    """

    separation: Float[np.ndarray, " G"]
    dimension: Float[np.ndarray, " G"]
    informative: np.ndarray
    flips: Float[np.ndarray, " G"]


class Errors(NamedTuple):
    """Test errors of the two classifiers in each setting."""

    pooled: Float[np.ndarray, " G"]
    attention: Float[np.ndarray, " G"]


def threshold_error(separation: Float[np.ndarray, " G"], rate: float) -> Float[np.ndarray, " G"]:
    """Return the error of the best threshold between two normals of variance 1."""
    D = np.maximum(separation, _LEAST)
    shift = np.log((1 - rate) / rate) / D
    return rate * ndtr(-D / 2 + shift) + (1 - rate) * ndtr(-D / 2 - shift)


def learned_cosine(
    separation: Float[np.ndarray, " G"], dimension: Float[np.ndarray, " G"], effective: float
) -> Float[np.ndarray, " G"]:
    """Return the cosine with the best readout of one fitted to a balanced sample of a size."""
    D = np.maximum(separation, _LEAST)
    return 1 / np.sqrt(1 + 4 * dimension / (effective * D**2))


def learned_separation(
    separation: Float[np.ndarray, " G"], dimension: Float[np.ndarray, " G"], effective: float
) -> Float[np.ndarray, " G"]:
    """Return the separation along a fitted readout."""
    return separation * learned_cosine(separation, dimension, effective)


def errors_at(n: float, settings: Settings, law: BagLaw) -> Errors:
    """Return the errors at n bags."""
    pi, D, d = law.positive_rate, settings.separation, settings.dimension
    effective = 4 * n * pi * (1 - pi)
    pooled = threshold_error(learned_separation(D, d, effective), pi)
    attention = pooled.copy()
    cosine = learned_cosine(D, d, _QUERY_SHARE * effective)
    noise = np.sqrt(law.between + 1 / law.averaging)
    for R in np.unique(settings.informative).tolist():
        if law.length <= R:
            continue
        at = settings.informative == R
        strength = D[at] * noise * law.length / R
        found = _attended(strength, cosine[at], R, law)
        attention[at] = threshold_error(learned_separation(found, d[at], effective), pi)
    # Attention falls back to pooling unless its left-out loss gains a standard error.
    taken = ndtr((pooled - attention) * np.sqrt(n) / _LOSS_SPREAD - 1)
    attention = pooled + taken * (attention - pooled)
    keep = 1 - 2 * settings.flips
    return Errors(settings.flips + keep * pooled, settings.flips + keep * attention)


def _attended(
    strength: Float[np.ndarray, " G"], cosine: Float[np.ndarray, " G"], R: int, law: BagLaw
) -> Float[np.ndarray, " G"]:
    """Return the separation of attended features at the best sharpness.

    In the plane of query and signal a feature is A mu + B q plus noise: Fisher's ratio.
    """
    best = np.zeros_like(strength)
    # Sharpness is in deviations of all scores, to which the effects of bags add.
    spread = round(float(np.sqrt(1 + law.between)), 2)
    sine = np.sqrt(np.maximum(1 - cosine**2, 0.0))
    along, across = strength * cosine, strength * sine
    for sharpness in GRID:
        at = _moments(law.length, R, sharpness / spread)
        A, B, vA, vB, cAB, C2 = (np.interp(along, _SHIFTS, row) for row in at)
        _, B0, _, vB0, _, C20 = _moments(law.length, 0, sharpness / spread)[:, 0]
        rest = (C2 + C20) / 2 + law.between
        qq = (vA * along**2 + vB + 2 * cAB * along + vB0) / 2 + law.between
        pp = vA * across**2 / 2 + rest
        qp = (vA * along * across + cAB * across) / 2
        dq, dp = A * along + B - B0, A * across
        ratio = (dq**2 * pp - 2 * dq * dp * qp + dp**2 * qq) / (qq * pp - qp**2)
        best = np.maximum(best, np.sqrt(np.maximum(ratio, 0.0)))
    return best


@functools.lru_cache(maxsize=256)
def _moments(length: int, R: int, sharpness: float) -> Float[np.ndarray, "6 S"]:
    """Return means of A and B, their variances and covariance, and the mean of C^2, by shift.

    Of a bag with R tokens of shifted score: A is the weight on them, B the weighted noise of
    the scores and C^2 the sum of squared weights.
    """
    noise = np.random.default_rng(0).standard_normal((_DRAWS, length))
    rows = []
    for shift in _SHIFTS if R else _SHIFTS[:1]:
        scores = noise.copy()
        scores[:, :R] += shift
        weights = softmax(sharpness * scores, axis=1)
        A, B = weights[:, :R].sum(axis=1), (weights * noise).sum(axis=1)
        covariance = np.cov(A, B)
        C2 = np.square(weights).sum(axis=1).mean()
        rows.append([A.mean(), B.mean(), covariance[0, 0], covariance[1, 1], covariance[0, 1], C2])
    return np.array(rows).T
