"""Measured transitions: fitted at each size, and carried to infinite dimension."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from sparsetoken.experiments.capacity_curves.rows import AtPlace, Separable
from sparsetoken.experiments.rows import Measured, Rows, select
from sparsetoken.experiments.threshold import (
    Limit,
    Threshold,
    fit_power,
    fit_threshold,
    limit_of,
)

Fits = Mapping[tuple[str, str], Mapping[int, Threshold]]
"""By the name of the place and the model, and then by the number of features."""


def fitted(rows: Rows) -> Fits:
    """Return the transition fitted to the counts of each place, model and size."""
    fits: dict[tuple[str, str], dict[int, Threshold]] = {}
    for known in select(rows, AtPlace):
        counted = select(rows, Separable, place=known.place, model=known.model)
        fits[known.place.name, known.model] = {
            m: _fit([row for row in counted if row.features == m])
            for m in sorted({row.features for row in counted})
        }
    return fits


def _fit(counted: Sequence[Separable]) -> Threshold:
    rows = sorted(counted, key=lambda row: row.alpha1)
    counts = [round(row.share.value * row.share.trials) for row in rows]
    return fit_threshold([row.alpha1 for row in rows], counts, rows[0].share.trials)


def thresholds(rows: Rows, fits: Fits) -> dict[tuple[str, str], Measured]:
    """Return the thresholds in infinite dimension: a line in 1/features through the fits.

    One that has fewer than two sizes, or a size whose fit did not converge, is nan.
    """
    found = {}
    for (place, model), by_size in fits.items():
        shares = [
            row.share for row in select(rows, Separable, model=model) if row.place.name == place
        ]
        limit, status = Limit(math.nan, math.nan), "max_iterations"
        if len(by_size) > 1 and all(fit.converged for fit in by_size.values()):
            middles = [fit.middle for fit in by_size.values()]
            errors = [fit.standard_error for fit in by_size.values()]
            limit, status = limit_of(list(by_size), middles, errors), "converged"
        largest, trials = max(by_size, default=0), sum(share.trials for share in shares)
        found[place, model] = Measured(limit.value, limit.error, largest, trials, status=status)
    return found


def threshold_gap(fits: Fits, upper: tuple[str, str], lower: tuple[str, str]) -> float:
    """Return a difference of measured thresholds at the most features, in standard errors.

    The thresholds are given as (name of the place, model); nan if one is not known.
    """
    above, below = fits[upper], fits[lower]
    if not set(above) & set(below):
        return math.nan
    m = max(set(above) & set(below))
    error = math.hypot(above[m].standard_error, below[m].standard_error)
    return (above[m].middle - below[m].middle) / error


def width_power(fits: Fits) -> Limit:
    """Return the mean over places of the power that each finds, weighted by precision."""
    powers = []
    for by_size in fits.values():
        found = {m: fit for m, fit in by_size.items() if fit.converged}
        if len(found) > 1:
            widths = [fit.width for fit in found.values()]
            errors = [fit.width_error for fit in found.values()]
            powers.append(fit_power(list(found), widths, errors))
    weights = np.array([power.error**-2 for power in powers])
    mean = float(weights @ [power.value for power in powers] / weights.sum())
    return Limit(mean, float(weights.sum() ** -0.5))
