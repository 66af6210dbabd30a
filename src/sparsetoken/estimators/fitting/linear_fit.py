"""The linear readout of pooled features: sample weights, and a ridge chosen by leave-one-out."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from typing import Any, Literal

import numpy as np
from jaxtyping import Float
from scipy.optimize import minimize, minimize_scalar

from sparsetoken.base.validation import InvalidInput
from sparsetoken.estimators.fitting.targets import Samples
from sparsetoken.losses import Loss
from sparsetoken.numerics.erm import FeatureMatrix, fit_readout
from sparsetoken.numerics.leave_one_out import left_out_scores

TOLERANCE = 1e-8
FLAT = 1e-3  # ridge of the slope of one feature, in units of its variance
SEARCH_TOLERANCE = 1e-5  # of fits whose left-out loss is only compared
DECADES = tuple(map(float, range(-4, 3)))  # of the ridge, over the variance of the features


@dataclasses.dataclass(frozen=True, eq=False)
class LinearFit:
    """A fitted linear readout.

    Attributes
    ----------
    w : array of shape (m,)
    b : float
    ridge : float
        That it was fitted with.
    left_out : array of shape (n,), optional
        The loss of each sample when it, or its group, is left out of the fit; None where it was
        not computed, as for a loss without a second derivative.
    left_out_scores : array of shape (n,), optional
        The scores that have these losses.
    scale : array of shape (m,) or 1
        What the features were divided by for the fit.
    """

    w: Float[np.ndarray, " m"]
    b: float
    ridge: float
    left_out: Float[np.ndarray, " n"] | None = None
    left_out_scores: Float[np.ndarray, " n"] | None = None
    scale: Float[np.ndarray, " m"] | float = 1.0

    def left_out_loss(self, samples: Samples) -> float:
        """Return the weighted mean of the left-out losses; nan if they were not computed."""
        return math.nan if self.left_out is None else float(samples.share @ self.left_out)


@dataclasses.dataclass(frozen=True, eq=False)
class _WeightedLoss:
    """s_i l(y_i, z_i): the loss of samples that count s_i times."""

    loss: Loss
    s: Float[np.ndarray, " n"]

    @property
    def smooth(self) -> bool:
        return self.loss.smooth

    @property
    def real_labels(self) -> bool:
        return self.loss.real_labels

    def value(self, y: Any, z: Any) -> Any:
        return self.s * self.loss.value(y, z)

    def slope(self, y: Any, z: Any) -> Any:
        return self.s * self.loss.slope(y, z)

    def curvature(self, y: Any, z: Any) -> Any:
        return self.s * self.loss.curvature(y, z)

    def prox(self, y: Any, omega: Any, v: Any) -> Any:
        return self.loss.prox(y, omega, v * self.s)

    def dual_slope(self, y: Any, omega: Any, v: Any) -> Any:
        return self.s * self.loss.dual_slope(y, omega, v * self.s)


def require_smooth(loss: Loss) -> None:
    """Refuse a loss without a second derivative, which leaves nothing to choose a ridge by.

    Raises
    ------
    InvalidInput
    """
    if not loss.smooth:
        legal = "a smooth loss (logistic, square, squared_hinge) to choose ridge or temperature"
        raise InvalidInput("loss", legal, loss.name, "Or give both as numbers.")


def fit_linear(
    matrix: FeatureMatrix,
    samples: Samples,
    loss: Loss,
    ridge: float,
    tolerance: float = SEARCH_TOLERANCE,
    leave_out: bool = True,
    more: Float[np.ndarray, "n m"] | None = None,
) -> LinearFit:
    """Minimise ``sum_i s_i l(y_i, <w, F_i> + b) + (ridge/2) |w|^2``, s the shares of weight.

    With `leave_out` and a smooth loss also find the losses of samples that are left out with their
    group; that of one that alone determines a direction is infinite. Then its features are F + more
    (see `left_out_scores`).
    """
    weighted, y = _WeightedLoss(loss, samples.share * len(samples.y)), samples.y
    fit = fit_readout(matrix, y, weighted, ridge, tolerance)
    if not (leave_out and loss.smooth):
        return LinearFit(fit.w, fit.b, ridge)
    scores = left_out_scores(matrix.F, y, weighted, ridge, fit, samples.groups, more)
    with np.errstate(invalid="ignore", over="ignore"):
        losses = np.asarray(loss.value(y, scores))
    losses = np.where(np.isfinite(losses), losses, np.inf)
    return LinearFit(fit.w, fit.b, ridge, losses, scores)


def fit_single_features(
    x: Float[np.ndarray, "K n"], samples: Samples, loss: Loss
) -> list[LinearFit]:
    """Return the readouts of K features, each by itself, which calibrate scores made elsewhere.

    The ridge is small in units of the variance of each feature. The loss must be smooth, and the
    samples of both classes.
    """
    share = samples.share
    variance = np.square(x - (x @ share)[:, None]) @ share
    ridges = FLAT * np.where(variance > 0, variance, 1.0)
    return [
        fit_linear(FeatureMatrix(F), samples, loss, ridge, TOLERANCE)
        for F, ridge in zip(x[:, :, None], ridges.tolist(), strict=True)
    ]


def descended(loss_of: Callable[[float], float]) -> float:
    """Return the exponent of a ridge at a minimum of its loss, on a grid of half decades.

    From the middle decade to the better neighbour while there is one; of equal ones to the larger.
    """
    best = DECADES[len(DECADES) // 2]
    for step in (1.0, 0.5):
        while True:
            near = [e for e in (best + step, best, best - step) if DECADES[0] <= e <= DECADES[-1]]
            least = min(near, key=loss_of)
            if least == best or step < 1:
                best = least
                break
            best = least
    return best


def choose_ridge(
    features: Float[np.ndarray, "n m"],
    samples: Samples,
    loss: Loss,
    ridge: float | Literal["auto"],
    more: Float[np.ndarray, "n m"] | None = None,
    exhaustive: bool = True,
) -> LinearFit:
    """Return the readout with the ridge of least left-out loss, or with the given ridge.

    The grid has a step of half a decade. It is in units of the mean variance of the features:
    every decade is tried first, then what lies beside the best; unless the search is to be
    exhaustive it is that of `descended`.

    Parameters
    ----------
    features : array of shape (n, m)
    samples : Samples
    loss : Loss
    ridge : float or "auto"
    more : array of shape (n, m), optional
        What a sample has in addition to its features while it is left out.
    exhaustive : bool

    Raises
    ------
    InvalidInput
        If the ridge is to be chosen for a loss without a second derivative.
    """
    if ridge != "auto":
        return fit_linear(
            FeatureMatrix(features), samples, loss, float(ridge), TOLERANCE, more=more
        )
    require_smooth(loss)
    matrix, share = FeatureMatrix(features), samples.share
    squares = np.square(features - share @ features).sum(axis=1)
    variance = float(share @ squares) / features.shape[1]
    unit = variance if 0 < variance < math.inf else 1.0
    tried: dict[float, LinearFit] = {}

    def loss_of(e: float) -> float:
        if e not in tried:
            tried[e] = fit_linear(matrix, samples, loss, unit * 10.0**e, more=more)
        return tried[e].left_out_loss(samples)

    if not exhaustive:
        return tried[descended(loss_of)]
    for e in DECADES:
        loss_of(e)
    best = min(sorted(tried, reverse=True), key=loss_of)  # of equal ones the largest
    near = (best + 0.5, best, best - 0.5)
    return tried[min(near, key=loss_of)]


def calibrated(fit: LinearFit, samples: Samples, loss: Loss) -> LinearFit:
    """Shrink the scores, and move the threshold where that surely gains, by left-out loss.

    A ridge of least left-out loss is too small as often as too large, and scores of new samples
    are then larger than they can stand for. Scores are never made larger. The factor is
    that of least mean loss of the left-out scores.

    Scores of the fitted samples of a class that varies more, or that weights make count more, are
    further out than those of new ones, so that the threshold between the former is wrong for the
    latter. Factor and threshold of least loss together are taken if they gain more than one
    standard error over the factor alone, and over the best constant score. Else classes do not
    change. Left-out scores and losses are those of the result.
    """
    scores = fit.left_out_scores
    if scores is None or not np.isfinite(scores).all():
        return fit
    y, share, unit = samples.y, samples.share, max(1.0, float(np.abs(scores).max()))
    units = scores / unit

    def moved(factor: float, shift: float) -> LinearFit:
        z = factor * scores + shift
        losses = np.asarray(loss.value(y, z))
        return LinearFit(factor * fit.w, factor * fit.b + shift, fit.ridge, losses, z)

    def mean_loss(at: Float[np.ndarray, " 2"]) -> float:
        return float(share @ np.asarray(loss.value(y, at[0] * units + at[1])))

    def slopes(at: Float[np.ndarray, " 2"]) -> Float[np.ndarray, " 2"]:
        pull = share * np.asarray(loss.slope(y, at[0] * units + at[1]))
        return np.array([pull @ units, pull.sum()])

    # This search ends inside its bounds: scores that tell nothing keep their order.
    along, across = np.array([1.0, 0.0]), np.array([0.0, 1.0])
    alone = minimize_scalar(
        lambda a: mean_loss(a * along), bounds=(0, unit), method="bounded", options={"xatol": 1e-5}
    ).x
    level = minimize_scalar(lambda t: mean_loss(t * across)).x
    starts, bounds = (alone * along, level * across), ((0.0, unit), (None, None))
    minima = [minimize(mean_loss, start, jac=slopes, bounds=bounds) for start in starts]
    factor, shift = min(minima, key=lambda one: one.fun).x
    shrunk, both = moved(float(alone) / unit, 0.0), moved(float(factor) / unit, float(shift))
    surely = all(gain(both, one, samples) > 1 for one in (shrunk, moved(0.0, float(level))))
    return both if surely else shrunk


def gain(fit: LinearFit, other: LinearFit, samples: Samples) -> float:
    """Return by how many standard errors the left-out loss of a fit is below that of another.

    nan where a loss is not finite or was not computed.
    """
    if fit.left_out is None or other.left_out is None:
        return float("nan")
    gains = other.left_out - fit.left_out
    with np.errstate(invalid="ignore", divide="ignore"):
        return float(samples.share @ gains / samples.spread(gains))
