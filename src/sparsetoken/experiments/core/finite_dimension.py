"""Finite-size shifts of means: c in ``mean = limit (1 + c/d)``, measured without theory."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from importlib import resources
from typing import NamedTuple

import numpy as np
from scipy import optimize, stats

from sparsetoken.experiments.core.rows import Row, Rows


class Shift(NamedTuple):
    """The c of a quantity over settings: the middle, by medians, and its standard error.

    The spread is the standard deviation between settings, beyond the noise of the trials; and so
    many settings were measured.
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


def fitted_shift(quantity: str, rows: Sequence[Row]) -> tuple[float, float]:
    """Return c and its standard error by a line in 1/d through means at two d or more."""
    x, values, errors = zip(*((1 / m.dimension, m.value, m.error) for m in rows), strict=True)
    limit, slope = _line(x, values, errors)
    scale = scale_of(quantity, limit.value)
    return slope.value / scale, slope.error / scale


class Limit(NamedTuple):
    """A number of a fitted line, with its standard error."""

    value: float
    error: float


def fit_power(sizes: Sequence[int], values: Sequence[float], errors: Sequence[float]) -> Limit:
    """Return p in ``values = c sizes^p``, by a line through the logarithms."""
    log_values = [math.log(v) for v in values]
    log_errors = [e / v for e, v in zip(errors, values, strict=True)]
    return _line([math.log(m) for m in sizes], log_values, log_errors)[1]


def _line(x: Sequence[float], y: Sequence[float], errors: Sequence[float]) -> tuple[Limit, Limit]:
    """Return intercept and slope of the weighted least-squares line."""
    weights = 1 / np.asarray(errors)
    (slope, intercept), covariance = np.polyfit(x, y, 1, w=weights, cov="unscaled")
    slope_error, error = np.sqrt(np.diag(covariance)).tolist()
    return Limit(float(intercept), error), Limit(float(slope), slope_error)


def pooled_shift(fits: Sequence[tuple[float, float]]) -> Shift:
    """Return the middle of c over settings, its error and the spread, by medians.

    A few settings have a c many times larger, where the query has hardly found the signal; medians
    keep them from deciding what is expected everywhere else. The spread is that with which half
    of the settings are within 0.6745 of its scale, as half of normal numbers are.
    """
    c, error = np.array(sorted(fits), dtype=float).T

    def middle(variance: float) -> tuple[float, np.ndarray]:
        scale = np.sqrt(error**2 + variance)
        above = np.searchsorted(np.cumsum(1 / scale), np.sum(1 / scale) / 2)
        return float(c[above]), scale

    def excess(variance: float) -> float:
        """Return the median of the scaled distances less that of normal numbers."""
        centre, scale = middle(variance)
        return float(np.median(np.abs(c - centre) / scale)) - stats.norm.ppf(0.75)

    variance = 0.0
    if excess(0.0) > 0:
        variance = float(optimize.brentq(excess, 0.0, 10 * np.ptp(c) ** 2))
    centre, scale = middle(variance)
    # A median has pi/2 times the variance of a mean.
    error_of_middle = math.sqrt(math.pi / 2 / np.sum(scale**-2))
    return Shift(centre, error_of_middle, math.sqrt(variance), len(c))


def carried_to_infinity(rows: Sequence[Row], along: str = "dimension") -> Row:
    """Return the limit of infinite size by a line in 1/size through means at several sizes.

    The size is the dimension, or the coordinate of another name. It is the row of the largest
    dimension but for the number of trials, which is that of the place with the fewest.
    """
    x, values, errors = zip(*((1 / m[along], m.value, m.error) for m in rows), strict=True)
    limit, _ = _line(x, values, errors)
    status = next((m.status for m in rows if not m.converged), rows[0].status)
    largest = max(rows, key=lambda m: m.dimension)
    trials = min(m.trials for m in rows)
    return largest.but(
        value=limit.value,
        error=limit.error,
        trials=trials,
        status=status,
        values=(),
        behind=Rows(rows).trial_sets,
    )


def _read() -> dict[str, Shift]:
    text = resources.files(__package__).joinpath("shifts.json").read_text("utf-8")
    return {name: Shift(*values) for name, values in json.loads(text).items()}


SHIFTS = _read()
"""By quantity; written by benchmarks/agreement.py from simulations alone, no theory."""

NO_SHIFT = Shift(0.0, 0.0, 0.0)
"""The shift of quantities without dimension dependence, or extrapolated to infinity."""
DIFFERENCE = Shift(0.0, 0.0, SHIFTS["test_error"].spread)
"""Of a difference of two test errors, relative to the larger: their own shifts have one mean."""
