"""How finite dimension shifts a mean: c in ``mean = limit (1 + c/d)``, measured without theory."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from importlib import resources
from typing import NamedTuple

import numpy as np
from scipy import optimize

from sparsetoken.experiments.rows import Measured
from sparsetoken.experiments.threshold import limit_of

__all__ = [
    "DIFFERENCE",
    "NO_SHIFT",
    "SHIFTS",
    "Shift",
    "carried_to_infinity",
    "fitted_shift",
    "pooled_shift",
    "scale_of",
]


class Shift(NamedTuple):
    """The c of a quantity over settings.

    Attributes
    ----------
    mean, error : float
        The mean over settings and its standard error.
    spread : float
        Standard deviation between settings, beyond the noise of the trials.
    settings : int
        How many were measured.
    """

    mean: float
    error: float
    spread: float
    settings: int = 0

    @property
    def deviation(self) -> float:
        """The standard deviation of c in a new setting."""
        return math.hypot(self.error, self.spread)


def scale_of(quantity: str, limit: float) -> float:
    """Return the number that a shift is relative to.

    It is the limit, of an AUC what it lacks to 1, and of a cosine s its |s| (1 - s^2): a query
    that points exactly along the signal does so at every d.
    """
    if quantity in ("cosine", "readout_cosine"):
        return abs(limit) * (1 - limit**2)
    return abs(1 - limit) if quantity == "auc" else abs(limit)


def fitted_shift(quantity: str, found: Sequence[Measured]) -> tuple[float, float]:
    """Return c and its standard error by a line in 1/d through means at several d.

    Parameters
    ----------
    quantity : str
    found : sequence of Measured
        At two dimensions or more, from independent trials.
    """
    x = np.array([1 / m.dimension for m in found])
    y = np.array([m.value for m in found])
    scaled = np.stack([np.ones_like(x), x], axis=1) / np.array([[m.error] for m in found])
    covariance = np.linalg.inv(scaled.T @ scaled)
    limit, slope = covariance @ scaled.T @ (y / np.array([m.error for m in found]))
    scale = scale_of(quantity, limit)
    return float(slope / scale), float(math.sqrt(covariance[1, 1]) / scale)


def pooled_shift(found: Sequence[tuple[float, float]]) -> Shift:
    """Return the mean of c over settings, its error and the spread, as Paule and Mandel do.

    The spread is that with which the scatter of c about the weighted mean is what the errors and
    the spread let expect.

    Parameters
    ----------
    found : sequence of (c, standard error)
        Of independent settings, two at least.
    """
    c, error = np.array(found, dtype=float).T

    def mean_of(variance: float) -> tuple[float, np.ndarray]:
        weights = 1 / (error**2 + variance)
        return float(weights @ c / weights.sum()), weights

    def scatter(variance: float) -> float:
        """Return chi-square less its expectation; it falls with the variance."""
        mean, weights = mean_of(variance)
        return float(weights @ (c - mean) ** 2) - (len(c) - 1)

    variance = 0.0
    if scatter(0.0) > 0:
        variance = float(optimize.brentq(scatter, 0.0, len(c) * np.ptp(c) ** 2))
    mean, weights = mean_of(variance)
    return Shift(mean, float(weights.sum() ** -0.5), math.sqrt(variance), len(c))


def carried_to_infinity(
    found: Sequence[Measured], sizes: Sequence[float] | None = None
) -> Measured:
    """Return the limit of infinite size by a line in 1/size through means at several sizes.

    Its number of trials is that of the place with the fewest, and its dimension the largest.

    Parameters
    ----------
    found : sequence of Measured
        At two sizes or more.
    sizes : sequence of float, optional
        By default the dimensions.
    """
    at = [m.dimension for m in found] if sizes is None else sizes
    limit = limit_of(at, [m.value for m in found], [m.error for m in found])
    status = next((m.status for m in found if not m.converged), found[0].status)
    largest = max(found, key=lambda m: m.dimension)
    trials = min(m.trials for m in found)
    return Measured(limit.value, limit.error, largest.dimension, trials, largest.engine, status)


def _read() -> dict[str, Shift]:
    text = resources.files(__package__).joinpath("shifts.json").read_text("utf-8")
    return {name: Shift(*values) for name, values in json.loads(text).items()}


SHIFTS = _read()
"""By quantity; written by benchmarks/finite_dimension.py from simulations alone, no theory."""

NO_SHIFT = Shift(0.0, 0.0, 0.0)
"""Of what has the same law at every dimension, or was carried to infinity."""
DIFFERENCE = Shift(0.0, 0.0, SHIFTS["test_error"].spread)
"""Of a difference of two test errors, relative to the larger: their own shifts have one mean."""
