"""The effect of random class imbalance on a strongly regularised readout at finite dimension."""

from __future__ import annotations

import dataclasses
import functools
import math

import numpy as np
import scipy

from sparsetoken.losses import Loss
from sparsetoken.model.stages import Readout
from sparsetoken.theory.readout.bias import best_bias
from sparsetoken.theory.score_law import ScoreLaw

USUAL_DIMENSION = 1000
"""The default of simulations, whose finite-size effects deserve advice."""

_MUCH = 0.1  # of the test error
_LARGEST = 1e12  # dimension that is looked for
_POINTS = 20  # of Gauss-Hermite quadrature
_ABOUT = 2.0


def error_with_imbalance(scores: ScoreLaw, loss: Loss, pi: float, samples: float) -> float:
    """Return the mean test error at a finite number of samples n1, where scores are small.

    Equation: class-imbalance. The share of positives among n1 samples varies by
    sqrt(pi(1-pi)/n1), and the bias, which has no ridge, follows it: where scores are small
    beside the scale of a smooth loss it is the minimum b(share) of the loss without features. Its
    variance ``b'(pi)^2 pi(1-pi)/n1`` adds to that of the scores. In the limit n1 -> infinity
    there is none of it, but scores shrink as 1/ridge, so that n1 must grow as its square. The
    scores are those of new data in the limit, and pi is that of training.
    """
    spread = _slope_of_bias(loss, pi) * math.sqrt(pi * (1 - pi) / samples)
    return dataclasses.replace(scores, width=np.hypot(scores.width, spread)).test_error()


def imbalance_advice(
    scores: ScoreLaw, readout: Readout, pi: float, dimension: float = USUAL_DIMENSION
) -> tuple[str, ...]:
    """Return what to say of a readout too short for a dimension, or nothing.

    Nothing is said where the chance imbalance of the classes adds less than a tenth to the
    test error at that dimension, where the loss has a kink, or where scores are not small beside
    the scale of the loss.
    """
    if not readout.loss.smooth or math.isinf(readout.alpha1):
        return ()
    most = (1 + _MUCH) * scores.test_error()

    def beyond(log_dimension: float) -> float:
        samples = readout.alpha1 * math.exp(log_dimension)
        return error_with_imbalance(scores, readout.loss, pi, samples) - most

    low, high = math.log(dimension), math.log(_LARGEST)
    if not beyond(low) > 0 or not _are_small(scores, readout.loss, pi):
        return ()
    enough = scipy.optimize.brentq(beyond, low, high, rtol=1e-3) if beyond(high) < 0 else high
    rounded = float(f"{math.exp(enough):.2g}")
    return (
        "The ridge makes scores so small that random class imbalance, which shifts the bias, "
        f"decides many: at dimension {dimension} the mean test error is about "
        f"{beyond(low) + most:.3g}, within a tenth of this limit only from dimension "
        f"{rounded:g} on. Lower the ridge, or train on exact class fractions.",
    )


def _are_small(scores: ScoreLaw, loss: Loss, pi: float) -> bool:
    """Return whether the mean curvature over the scores is about that at the best bias.

    It is not where a loss is linear at that bias and bends only at scores that are reached.
    """
    g, chance = np.polynomial.hermite_e.hermegauss(_POINTS)
    z = scores.mean[..., None] + scores.width[..., None] * g
    y = np.broadcast_to(scores.y[..., None], z.shape)
    bends = np.asarray(loss.curvature(y.ravel(), z.ravel())).reshape(z.shape) @ chance
    mean = np.mean(np.sum(scores.weight * bends, axis=-1)) / chance.sum()
    _, curvature = _at_best_bias(loss, pi)
    return bool(curvature > 0 and mean <= _ABOUT * curvature)


def _slope_of_bias(loss: Loss, pi: float) -> float:
    """Return the derivative of the best bias without features by the share of positives."""
    difference, curvature = _at_best_bias(loss, pi)
    return difference / curvature if curvature > 0 else math.inf


@functools.lru_cache(maxsize=64)
def _at_best_bias(loss: Loss, pi: float) -> tuple[float, float]:
    """Return the difference of the slopes of both labels, and the mean curvature."""
    y, chance = np.array([1.0, -1.0]), np.array([pi, 1 - pi])
    b = np.full(2, best_bias(loss, y, chance))
    positive, negative = np.asarray(loss.slope(y, b))
    return float(negative - positive), float(chance @ np.asarray(loss.curvature(y, b)))
