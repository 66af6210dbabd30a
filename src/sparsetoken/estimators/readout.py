"""The linear readout of pooled features: sample weights, and a ridge chosen by leave-one-out."""

from __future__ import annotations

import dataclasses
import math
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from sparsetoken.losses import Loss
from sparsetoken.numerics.erm import fit_readout
from sparsetoken.numerics.leave_one_out import leave_one_out
from sparsetoken.validation import InvalidInput

__all__ = ["Readout", "Samples", "WeightedLoss", "choose_ridge", "fit_weighted", "left_out"]

TOLERANCE = 1e-8
SEARCH_TOLERANCE = 1e-5  # of fits whose left-out loss is only compared
DECADES = (-4, -3, -2, -1, 0, 1, 2)  # of the ridge, in units of the variance of the features


class Samples(NamedTuple):
    """What a two-class fit knows of its samples besides their tokens.

    Attributes
    ----------
    y : array of shape (n,), in {-1, +1}
    weight : array of shape (n,)
        How much each sample counts, > 0.
    unit : array of shape (n,)
        What one copy of it counts: its class weight. Leave-one-out leaves one copy out, so
        that a sample of weight 2 is the same as two samples.
    """

    y: Float[np.ndarray, " n"]
    weight: Float[np.ndarray, " n"]
    unit: Float[np.ndarray, " n"]

    def take(self, rows: np.ndarray) -> Samples:
        """Return those of some samples."""
        return Samples(self.y[rows], self.weight[rows], self.unit[rows])

    @property
    def share(self) -> Float[np.ndarray, " n"]:
        """The weights, divided by their sum."""
        return self.weight / self.weight.sum()

    @property
    def parts(self) -> Float[np.ndarray, " n"]:
        """What each sample adds to the variance of a weighted mean, over its own variance.

        A sample of weight 2 adds what two samples add; one below one copy is one sample.
        """
        return np.square(self.share) * np.minimum(1.0, self.unit / self.weight)


class Readout(NamedTuple):
    """A readout, the ridge that it was fitted with, and what it is worth.

    Attributes
    ----------
    w : array of shape (m,)
    b : float
    ridge : float
    losses : array of shape (n,)
        Left-out losses of the samples.
    """

    w: Float[np.ndarray, " m"]
    b: float
    ridge: float
    losses: Float[np.ndarray, " n"]


@dataclasses.dataclass(frozen=True)
class WeightedLoss:
    """s_i l(y_i, z_i): the loss of samples that count s_i times."""

    loss: Loss
    s: Float[np.ndarray, " n"]

    @property
    def smooth(self) -> bool:
        """Whether the slope is continuous."""
        return self.loss.smooth

    def value(self, y: Any, z: Any) -> Any:
        """Return s l."""
        return self.s * self.loss.value(y, z)

    def slope(self, y: Any, z: Any) -> Any:
        """Return s l'."""
        return self.s * self.loss.slope(y, z)

    def curvature(self, y: Any, z: Any) -> Any:
        """Return s l''."""
        return self.s * self.loss.curvature(y, z)

    def prox(self, y: Any, omega: Any, v: Any) -> Any:
        """Return argmin_z (z - omega)^2 / 2 + v s l(y, z)."""
        return self.loss.prox(y, omega, v * self.s)

    def dual_slope(self, y: Any, omega: Any, v: Any) -> Any:
        """Return the derivative in omega of s l'(y, prox)."""
        return self.s * self.loss.dual_slope(y, omega, v * self.s)


def fit_weighted(
    features: Float[np.ndarray, "n m"],
    samples: Samples,
    loss: Loss,
    ridge: float,
    tolerance: float = TOLERANCE,
) -> Readout:
    """Minimise ``sum_i s_i l(y_i, <w, F_i> + b) + (ridge/2) |w|^2``, s the shares of weight."""
    weighted = _weighted(samples, loss)
    fit = fit_readout(features, samples.y, weighted, ridge, tolerance)
    return Readout(fit.w, fit.b, ridge, np.empty(0))


def left_out(
    features: Float[np.ndarray, "n m"],
    samples: Samples,
    loss: Loss,
    ridge: float,
    tolerance: float = SEARCH_TOLERANCE,
) -> Readout:
    """Fit the readout, and the loss of each sample when one copy of it is left out.

    A sample of weight below one copy is left out whole. A copy that alone determines a
    direction has an infinite loss.
    """
    weighted, y = _weighted(samples, loss), samples.y
    fit = fit_readout(features, y, weighted, ridge, tolerance)
    scores = leave_one_out(features, y, weighted, ridge, fit).scores
    slope, bend = loss.slope(y, fit.scores), loss.curvature(y, fit.scores)
    copy = np.minimum(samples.unit, samples.weight)
    s, u = weighted.s, copy * len(y) / samples.weight.sum()
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        # Undo what leaving out all copies did to the score, and leave out one.
        gain = np.where(slope != 0, (scores - fit.scores) / (s * slope), 0.0)
        gamma = np.where(np.isfinite(gain), gain / (1 + gain * s * bend), 1 / (s * bend))
        one = fit.scores + gamma * u * slope / (1 - gamma * u * bend)
        scores = np.where(np.isclose(s, u, rtol=1e-12) | (slope == 0), scores, one)
        losses = np.nan_to_num(loss.value(y, scores), nan=np.inf, posinf=np.inf)
    return Readout(fit.w, fit.b, ridge, losses)


def _weighted(samples: Samples, loss: Loss) -> WeightedLoss:
    return WeightedLoss(loss, samples.share * len(samples.y))


def choose_ridge(
    features: Float[np.ndarray, "n m"],
    samples: Samples,
    loss: Loss,
    ridge: float | str,
    around: float | None = None,
) -> Readout:
    """Return the readout with the ridge of least left-out loss, or with the given ridge.

    The grid has a step of half a decade. It is in units of the mean variance of the features:
    every decade is tried first, then what lies beside the best.

    Parameters
    ----------
    features : array of shape (n, m)
    samples : Samples
    loss : Loss
    ridge : float or "auto"
    around : float, optional
        Search only a half decade up and down from this ridge.

    Raises
    ------
    InvalidInput
        If the ridge is to be chosen for a loss without a second derivative.
    """
    if ridge != "auto":
        return _worth(features, samples, loss, float(ridge), TOLERANCE)
    if not loss.smooth:
        legal = "a smooth loss (logistic, square, squared_hinge) to choose ridge or temperature"
        raise InvalidInput("loss", legal, loss.name, "Or give both as numbers.")
    if around is not None:
        tried = {0.0: _worth(features, samples, loss, around)}
        unit = around
    else:
        unit = _mean_variance(features, samples)
        tried = {float(e): _worth(features, samples, loss, unit * 10.0**e) for e in DECADES}
    best = _best(tried, samples)
    for e in (best - 0.5, best + 0.5):
        tried[e] = _worth(features, samples, loss, unit * 10.0**e)
    return tried[_best(tried, samples)]


def _worth(
    features: np.ndarray,
    samples: Samples,
    loss: Loss,
    ridge: float,
    tolerance: float = SEARCH_TOLERANCE,
) -> Readout:
    fit = left_out if loss.smooth else fit_weighted
    return fit(features, samples, loss, ridge, tolerance)


def _best(tried: dict[float, Readout], samples: Samples) -> float:
    """Return the exponent of least loss; of equal ones the largest ridge."""

    def mean(exponent: float) -> float:
        return float(samples.share @ tried[exponent].losses)

    return min(sorted(tried, reverse=True), key=mean)


def _mean_variance(features: np.ndarray, samples: Samples) -> float:
    share = samples.share
    mean = share @ features
    variance = float(share @ np.square(features - mean).sum(axis=1)) / features.shape[1]
    return variance if variance > 0 and math.isfinite(variance) else 1.0
