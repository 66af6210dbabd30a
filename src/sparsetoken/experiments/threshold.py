"""Where a share falls through one half: a probit curve fitted to counts."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence

import numpy as np
from scipy import optimize, special

__all__ = ["Threshold", "fit_threshold"]


@dataclasses.dataclass(frozen=True)
class Threshold:
    """The fitted curve Phi((middle - x) / width).

    Attributes
    ----------
    middle, width : float
    standard_error : float
        Of the middle, from the Fisher information.
    converged : bool
    """

    middle: float
    width: float
    standard_error: float
    converged: bool


def fit_threshold(x: Sequence[float], counts: Sequence[int], sets: int) -> Threshold:
    """Fit a falling probit curve by maximum likelihood.

    Parameters
    ----------
    x : sequence of float
        Loads.
    counts : sequence of int
        Separable training sets at each load, of `sets` each.
    sets : int
    """
    load, k = np.asarray(x, dtype=float), np.asarray(counts, dtype=float)
    if not (0 < k.sum() < sets * len(k)):
        return Threshold(math.nan, math.nan, math.nan, False)
    scale = (load[-1] - load[0]) / 4

    def unlikely(unknowns: np.ndarray) -> float:
        score = (unknowns[0] - load) / (scale * math.exp(unknowns[1]))
        return -float(np.sum(k * special.log_ndtr(score) + (sets - k) * special.log_ndtr(-score)))

    start = np.array([np.interp(0.5, (k / sets)[::-1], load[::-1]), -1.0])
    found = optimize.minimize(unlikely, start, method="Nelder-Mead", options={"xatol": 1e-8})
    middle, width = float(found.x[0]), scale * math.exp(float(found.x[1]))
    return Threshold(middle, width, _standard_error(load, middle, width, sets), found.success)


def _standard_error(load: np.ndarray, middle: float, width: float, sets: int) -> float:
    score = (middle - load) / width
    log_density = -(score**2) / 2 - 0.5 * math.log(2 * math.pi)
    weight = np.exp(2 * log_density - special.log_ndtr(score) - special.log_ndtr(-score))
    gradient = np.stack([np.ones_like(score), -score]) / width
    information = sets * (weight * gradient) @ gradient.T
    return float(math.sqrt(np.linalg.inv(information)[0, 0]))
