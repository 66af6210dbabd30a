"""Where a share falls through one half: a probit curve fitted to counts."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence

import numpy as np
from scipy import optimize, special


@dataclasses.dataclass(frozen=True)
class Threshold:
    """The fitted curve Phi((middle - x) / width).

    Attributes
    ----------
    middle, width : float
    standard_error, width_error : float
        Of middle and width, from the Fisher information.
    converged : bool
    """

    middle: float
    width: float
    standard_error: float
    width_error: float
    converged: bool


def fit_threshold(x: Sequence[float], counts: Sequence[int], sets: int) -> Threshold:
    """Fit a falling probit curve by maximum likelihood.

    Parameters
    ----------
    x : sequence of float
        Loads.
    counts : sequence of int
        Separable training sets at each load, of `sets` each. At two loads or more some
        but not all must be separable, or the fit has not converged.
    sets : int
    """
    load, k = np.asarray(x, dtype=float), np.asarray(counts, dtype=float)
    if np.count_nonzero((k > 0) & (k < sets)) < 2:  # two unknowns
        return Threshold(math.nan, math.nan, math.nan, math.nan, False)
    scale = (load[-1] - load[0]) / 4

    def unlikely(unknowns: np.ndarray) -> float:
        score = (unknowns[0] - load) / (scale * math.exp(unknowns[1]))
        return -float(np.sum(k * special.log_ndtr(score) + (sets - k) * special.log_ndtr(-score)))

    start = np.array([np.interp(0.5, (k / sets)[::-1], load[::-1]), -1.0])
    found = optimize.minimize(unlikely, start, method="Nelder-Mead", options={"xatol": 1e-8})
    middle, width = float(found.x[0]), scale * math.exp(float(found.x[1]))
    middle_error, width_error = _errors(load, middle, width, sets)
    return Threshold(middle, width, middle_error, width_error, found.success)


def _errors(load: np.ndarray, middle: float, width: float, sets: int) -> list[float]:
    """Return the standard errors of middle and width."""
    score = (middle - load) / width
    log_density = -(score**2) / 2 - 0.5 * math.log(2 * math.pi)
    weight = np.exp(2 * log_density - special.log_ndtr(score) - special.log_ndtr(-score))
    gradient = np.stack([np.ones_like(score), -score]) / width
    information = sets * (weight * gradient) @ gradient.T
    return [float(e) for e in np.sqrt(np.diag(np.linalg.inv(information)))]


@dataclasses.dataclass(frozen=True)
class Limit:
    """A value extrapolated by a fitted line, with its standard error."""

    value: float
    error: float


def limit_of(features: Sequence[float], values: Sequence[float], errors: Sequence[float]) -> Limit:
    """Return a in ``values = a + c / features``: the value in infinite dimension."""
    return _line([1 / m for m in features], values, errors, (1.0, 0.0))


def fit_power(features: Sequence[int], values: Sequence[float], errors: Sequence[float]) -> Limit:
    """Return p in ``values = c features^p``, by a line through the logarithms."""
    log_values = [math.log(v) for v in values]
    log_errors = [e / v for e, v in zip(errors, values, strict=True)]
    return _line([math.log(m) for m in features], log_values, log_errors, (0.0, 1.0))


def _line(
    x: Sequence[float], y: Sequence[float], errors: Sequence[float], wanted: tuple[float, float]
) -> Limit:
    """Return wanted . (intercept, slope) of the weighted least-squares line."""
    rows = np.stack([np.ones(len(x)), np.asarray(x, dtype=float)], axis=1)
    scaled = rows / np.asarray(errors)[:, None]
    covariance = np.linalg.inv(scaled.T @ scaled)
    unknowns = covariance @ scaled.T @ (np.asarray(y) / np.asarray(errors))
    w = np.asarray(wanted)
    return Limit(float(w @ unknowns), math.sqrt(w @ covariance @ w))
