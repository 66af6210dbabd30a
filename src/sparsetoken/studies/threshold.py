"""A falling probit curve, fitted to counts: its middle is the threshold of separable sets."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy import optimize, special


class Threshold(NamedTuple):
    """The fitted curve Phi((middle - x) / width), with errors from the Fisher information."""

    middle: float
    width: float
    standard_error: float
    width_error: float
    converged: bool


def fit_threshold(x: Sequence[float], counts: Sequence[int], sets: int) -> Threshold:
    """Fit a falling probit curve to counts of separable sets at loads x by maximum likelihood.

    At two loads or more some but not all of the sets must be separable, or the fit has not
    converged.
    """
    load, k = np.asarray(x, dtype=float), np.asarray(counts, dtype=float)
    if np.count_nonzero((k > 0) & (k < sets)) < 2:  # two unknowns
        return Threshold(math.nan, math.nan, math.nan, math.nan, False)
    scale = (load[-1] - load[0]) / 4

    def unlikely(unknowns: np.ndarray) -> float:
        score = (unknowns[0] - load) / (scale * math.exp(unknowns[1]))
        return -float(np.sum(k * special.log_ndtr(score) + (sets - k) * special.log_ndtr(-score)))

    start = np.array([np.interp(0.5, (k / sets)[::-1], load[::-1]), -1.0])
    fit = optimize.minimize(unlikely, start, method="Nelder-Mead", options={"xatol": 1e-8})
    middle, width = float(fit.x[0]), scale * math.exp(float(fit.x[1]))
    error, width_error = _errors(load, middle, width, sets)
    return Threshold(middle, width, error, width_error, bool(fit.success))


def _errors(load: np.ndarray, middle: float, width: float, sets: int) -> list[float]:
    """Return the standard errors of middle and width."""
    score = (middle - load) / width
    log_density = -(score**2) / 2 - 0.5 * math.log(2 * math.pi)
    weight = np.exp(2 * log_density - special.log_ndtr(score) - special.log_ndtr(-score))
    gradient = np.stack([np.ones_like(score), -score]) / width
    information = sets * (weight * gradient) @ gradient.T
    return [float(e) for e in np.sqrt(np.diag(np.linalg.inv(information)))]
