"""Learning curves of the two classifiers in closed form, for many parameters at once.

The comparison of section "general convex readout" has a closed form where the ridge is large: the
readout of n features of two classes, a separation D apart in units of their noise in d
directions, has a cosine c with the best one, c^2 = 1 / (1 + 4 d / (m D^2)), m = 4 n pi (1 - pi),
and errs as if the separation were c D. Good ridges are large, and what a chosen one changes, the
effective d takes up. Attention is likelihood pooling, log mean exp of one score of the tokens:
its direction starts at the readout of the mean token, and is learned again and again from the
mean tokens that it attends to. Tokens are those of the sparse-token model with a bag effect.
"""

from __future__ import annotations

import dataclasses
import functools
from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.special import entr, ndtr, ndtri

from sparsetoken.forecasting.inputs import BagLaw

_DRAWS = 1500  # bags of noise of each class
_SHIFTS = np.linspace(0.0, 12.0, 49)  # of the score of an informative token, in deviations
_SHARPNESSES = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0)
_ROUNDS = 8  # of learning the direction: more change nothing
_LEAST = 1e-3
# Standard deviation of what a bag gains in loss, over the root of the loss that is left: fitted to
# errors of averages on constructed sets other than those of benchmarks/forecasts.py.
_GAIN_SPREAD = 1.1


@dataclasses.dataclass(frozen=True, eq=False)
class CurveParameters:
    """Parameters of learning curves, arrays of one shape.

    The separation is that of the mean tokens of the two classes, in standard deviations of their
    noise; the dimension the effective d of the readouts. An informative R of the length of a bag
    is mean pooling. Flips are the share of the labels that no classifier explains.
    """

    separation: Float[np.ndarray, " G"]
    dimension: Float[np.ndarray, " G"]
    informative: np.ndarray
    flips: Float[np.ndarray, " G"]


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


def pooled_shift(n: float, parameters: CurveParameters, law: BagLaw) -> Float[np.ndarray, " G"]:
    """Return the shift of informative tokens along the readout of the mean token, n bags seen.

    It is in standard deviations of the tokens within a bag.
    """
    cosine = learned_cosine(parameters.separation, parameters.dimension, effective_size(n, law))
    return cosine * _strength(parameters, law)


def errors_at(
    n: float, parameters: CurveParameters, law: BagLaw
) -> dict[str, Float[np.ndarray, " G"]]:
    """Return the errors of each model at n bags; ``bag`` is the average of the other two."""
    keep = 1 - 2 * parameters.flips
    pooled, attention = (
        parameters.flips + keep * threshold_error(separation, law.positive_rate)
        for separation in _separations(n, parameters, law)
    )
    bag = pooled + realised(n, pooled, attention) * (attention - pooled)
    return {"pooled": pooled, "attention": attention, "bag": bag}


def aucs_at(
    n: float, parameters: CurveParameters, law: BagLaw
) -> dict[str, Float[np.ndarray, " G"]]:
    """Return the areas under the ROC curves at n bags; ``bag`` is between the other two.

    Normals a separation D apart have Phi(D / sqrt 2). Flips at a rate f, with a share pi of
    labels that are positive after them, leave (pi - f) (1 - pi - f) / ((1 - 2 f) pi (1 - pi)) of
    what is above one half: by so much the shares of truly positive bags in the two classes differ.
    """
    pi, f = law.positive_rate, parameters.flips
    keep = np.maximum(pi - f, 0) * np.maximum(1 - pi - f, 0) / ((1 - 2 * f) * pi * (1 - pi))
    pooled, attention = (
        0.5 + keep * (ndtr(separation / np.sqrt(2)) - 0.5)
        for separation in _separations(n, parameters, law)
    )
    errors = errors_at(n, parameters, law)
    share = realised(n, errors["pooled"], errors["attention"])
    return {
        "pooled": pooled,
        "attention": attention,
        "bag": pooled + share * (attention - pooled),
    }


def _separations(
    n: float, parameters: CurveParameters, law: BagLaw
) -> tuple[Float[np.ndarray, " G"], Float[np.ndarray, " G"]]:
    """Return the separations of bags by the readout of the mean token, and by attention."""
    m, D, d = effective_size(n, law), parameters.separation, parameters.dimension
    pooled = D * learned_cosine(D, d, m)
    attention = pooled.copy()
    strength = _strength(parameters, law)
    for R in np.unique(parameters.informative).tolist():
        if law.length <= R:
            continue
        at = parameters.informative == R
        responses = _responses(law.length, R, law.between)
        attention[at] = _attended(strength[at], D[at], d[at], m, responses)
    return pooled, np.maximum(attention, pooled)


def realised(
    n: float, pooled: Float[np.ndarray, " G"], attention: Float[np.ndarray, " G"]
) -> Float[np.ndarray, " G"]:
    """Return the share of the gain of attention that the average with mean pooling realises.

    It is about the share of attention in the average: clip((g + 1) / 4, 0, 1) for a gain of g
    standard errors in held-out loss, here the mean over a normal g of variance 1. The entropy of
    an error is about the loss that belongs to it (both compared with fits).
    """
    before, left = (_entropy(np.maximum(error, _LEAST)) for error in (pooled, attention))
    gain = np.sqrt(n / left) * (before - left) / _GAIN_SPREAD
    return (_ramp(gain + 1) - _ramp(gain - 3)) / 4


def _ramp(x: Float[np.ndarray, " G"]) -> Float[np.ndarray, " G"]:
    """Return the mean of max(x + z, 0) over a standard normal z."""
    return x * ndtr(x) + np.exp(-(x**2) / 2) / np.sqrt(2 * np.pi)


def _entropy(error: Float[np.ndarray, " G"]) -> Float[np.ndarray, " G"]:
    return entr(error) + entr(1 - error)


def effective_size(n: float, law: BagLaw) -> float:
    """Return the size of a balanced sample that tells as much."""
    return 4 * n * law.positive_rate * (1 - law.positive_rate)


def _strength(parameters: CurveParameters, law: BagLaw) -> Float[np.ndarray, " G"]:
    """Return the norm of the signal of a token, in deviations of tokens within a bag."""
    noise = np.sqrt(law.between + 1 / law.averaging)
    R = np.minimum(parameters.informative, law.length)
    return parameters.separation * noise * law.length / R


class _Responses(NamedTuple):
    """What likelihood pooling makes of each shift of `_SHIFTS`, at the best sharpness.

    The separation of the scores of bags, and the weight on informative tokens over the noise of
    the mean token that it attends to.
    """

    separation: Float[np.ndarray, " S"]
    weight: Float[np.ndarray, " S"]


def _attended(
    strength: Float[np.ndarray, " G"],
    separation: Float[np.ndarray, " G"],
    dimension: Float[np.ndarray, " G"],
    effective: float,
    responses: _Responses,
) -> Float[np.ndarray, " G"]:
    """Return the separation of bags by a direction that is learned from what it attends to."""
    cosine = learned_cosine(separation, dimension, effective)
    for _ in range(_ROUNDS):
        features = np.interp(cosine * strength, _SHIFTS, responses.weight) * strength
        cosine = learned_cosine(np.maximum(features, separation), dimension, effective)
    return np.interp(cosine * strength, _SHIFTS, responses.separation)


@functools.lru_cache(maxsize=256)
def _responses(length: int, R: int, between: float) -> _Responses:
    """Measure likelihood pooling on drawn bags; a separation is that of the same AUC."""
    rng, shared = np.random.default_rng(0), np.sqrt(between)
    noise, empty = rng.standard_normal((2, _DRAWS, length))
    effects = shared * rng.standard_normal((2, _DRAWS))
    best, weight = np.zeros_like(_SHIFTS), np.zeros_like(_SHIFTS)
    for sharpness in _SHARPNESSES:
        k = sharpness / np.sqrt(1 + between)  # in deviations of all scores
        e, lift = np.exp(k * noise), np.exp(k * _SHIFTS)[:, None]
        some, others = lift * e[:, :R].sum(axis=1), e[:, R:].sum(axis=1)
        total = some + others
        squares = lift**2 * np.square(e[:, :R]).sum(axis=1) + np.square(e[:, R:]).sum(axis=1)
        e = np.exp(k * empty)
        none = e.sum(axis=1)
        negative = np.sort(np.log(none) + k * effects[0])
        ranks = np.searchsorted(negative, np.log(total) + k * effects[1])
        auc = np.clip(ranks.mean(axis=1) / _DRAWS, 0.5, 1 - 1e-5)
        separation = np.sqrt(2) * ndtri(auc)
        norms = (squares / total**2).mean(axis=1) + (np.square(e).sum(axis=1) / none**2).mean()
        better = separation > best
        ratio = (some / total).mean(axis=1) / np.sqrt(norms / 2 + between)
        best, weight = np.where(better, separation, best), np.where(better, ratio, weight)
    return _Responses(np.maximum.accumulate(best), weight)
