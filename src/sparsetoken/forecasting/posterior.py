"""The learning curves that agree with the measurements, and their forecasts for more bags.

Every point of a grid is weighted by a prior and by how well it meets what the pilot shows: the
held-out errors and AUCs of both classifiers, and the excess variance of scores in positive bags.
Forecasts are weighted means and quantiles.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.stats import beta

from sparsetoken.forecasting.crossvalidation import FITTED, HeldOut
from sparsetoken.forecasting.curves import (
    CurveParameters,
    aucs_at,
    effective_size,
    errors_at,
    pooled_shift,
)
from sparsetoken.forecasting.inputs import BagLaw
from sparsetoken.forecasting.measures import Excess, excess_of

# Chosen on constructed sets other than those of benchmarks/forecasts.py.
_SEPARATIONS = (0.15, 6.0, 24)  # least, largest, number
_USUAL_SEPARATION, _SEPARATION_SPREAD = 2.2, 0.65  # and of its logarithm
# Of the log odds of the share of D^2 that a readout misses at the most training bags.
_UNLEARNED, _UNLEARNED_SPREAD = 1.2, 1.5
_UNLEARNED_STEPS = (-2.5, 2.0, 10)  # in deviations; large pilots miss little
_SPARSITY = 1.0  # weight 1/R: few informative tokens are what attention is for
_FLIPS, _FLIP_RATE = (0.0, 0.05), 20.0
_OWN, _SHARED = 5e-4, 8e-4  # variances of what curves miss: of each error, of all of a model
_DISTANCE = 0.2  # and standard deviation of what they miss at 1/e of the most training bags
_ALIKE = 0.8  # correlation of what they miss of an error and of 1 - AUC, of the same size
_EXCESS_MISSED, _EXCESS_FLOOR = 0.5, 0.05  # of the excess, relative and absolute
_WIDENING = 1.2  # of intervals, for what the curves of a pilot miss
_TAIL = 0.05
_NOISE = (np.arange(20) + 0.5) / 20  # quantiles of a measured error
_LEAST = 1e-3  # errors below count as this one


class Interval(NamedTuple):
    """A value and its 90% interval."""

    value: float
    low: float
    high: float


@dataclasses.dataclass(frozen=True, eq=False)
class Posterior:
    """Parameters of learning curves and their weights."""

    law: BagLaw
    parameters: CurveParameters
    weight: Float[np.ndarray, " G"]

    def errors(self, n: float) -> dict[str, Interval]:
        """Return the forecast errors of each model at n bags."""
        errors = errors_at(n, self.parameters, self.law)
        return {m: _interval(float(self.weight @ e), e, self.weight) for m, e in errors.items()}

    def continued(
        self,
        n: float,
        start: int,
        measured: Mapping[str, float],
        tested: Mapping[str, float] | None = None,
    ) -> dict[str, Interval]:
        """Return errors at n bags: curves through those measured of each model at the start.

        They were measured on so many independent bags, all at the start by default.

        A gap between measurement and curve is in part the sampling noise of the bags tested. That
        part fades as start / n; the rest, which curves miss, stays in proportion to the error. Its
        share is that of James and Stein, 1 - noise^2 / gap^2 or 0. No forecast is above what was
        measured. Intervals hold the noise, with Jeffreys' prior, and the spread of the curves.
        """
        curves = [errors_at(size, self.parameters, self.law) for size in (start, n)]
        intervals = {}
        for model, error in measured.items():
            before, after = (np.maximum(curve[model], _LEAST) for curve in curves)
            curve = float(self.weight @ before)
            bags = start if tested is None else tested[model]
            noise, gap = curve * (1 - curve) / bags, (error - curve) ** 2
            missed = 1 - min(noise / gap, 1.0) if gap else 0.0
            trust = missed + (1 - missed) * start / n
            value = error**trust * curve ** (1 - trust) * float(self.weight @ after) / curve
            wrong = beta(bags * error + 0.5, bags * (1 - error) + 0.5)
            resampled = wrong.ppf(_NOISE) * (curve / wrong.mean()) ** (1 - trust)
            values = np.outer(resampled, after / before).ravel()
            weight = np.tile(self.weight, len(resampled))
            intervals[model] = _interval(min(value, error), values, weight)
        return intervals

    @property
    def informative(self) -> Interval:
        """The number R of informative tokens that fits the curves best."""
        R = self.parameters.informative.astype(float)
        low, high = _quantiles(R, self.weight)
        return Interval(float(np.exp(self.weight @ np.log(R))), low, high)


def _interval(
    value: float, values: Float[np.ndarray, " G"], weight: Float[np.ndarray, " G"]
) -> Interval:
    """Return an error with its interval by the spread of values, widened."""
    low, high = _quantiles(values, weight)
    low = value - _WIDENING * max(value - low, 0)
    high = value + _WIDENING * max(high - value, 0)
    return Interval(value, max(low, 0.0), min(high, 1.0))


def _quantiles(
    values: Float[np.ndarray, " G"], weight: Float[np.ndarray, " G"]
) -> tuple[float, float]:
    """Return the ends of the middle nine tenths."""
    order = np.argsort(values, kind="stable")
    shares = np.cumsum(weight[order])
    low, high = np.interp([_TAIL, 1 - _TAIL], shares / shares[-1], values[order])
    return float(low), float(high)


def fit_posterior(law: BagLaw, held_out: HeldOut) -> Posterior:
    """Weigh the parameters by what was measured."""
    parameters, prior = grid_and_prior(law, held_out.sizes[-1])
    logs = prior + _of_measured(held_out, _expected(held_out.sizes, parameters, law))
    shift = pooled_shift(held_out.sizes[-1], parameters, law)
    logs += _of_excess(held_out.excess, excess_of(shift, parameters.informative, law.length))
    weight = np.exp(logs - logs.max())
    return Posterior(law, parameters, weight / weight.sum())


def _expected(
    sizes: Float[np.ndarray, " K"], parameters: CurveParameters, law: BagLaw
) -> Float[np.ndarray, "G J"]:
    """Return errors of each model at each size, then AUCs."""
    columns = []
    for measure in (errors_at, aucs_at):
        values = [measure(n, parameters, law) for n in sizes]
        columns += [one[model] for model in FITTED for one in values]
    return np.stack(columns, axis=1)


def _of_measured(held_out: HeldOut, expected: Float[np.ndarray, "G J"]) -> Float[np.ndarray, " G"]:
    """Return the logarithm of a normal density of errors and AUCs.

    Their variances over bags are in proportion to m (1 - m), m what a point expects: those at the
    measured values would overweight results that are good by chance. The factor is smoothed by one
    bag with that of random scores, as it cannot be estimated from identical bags: 1 for errors, 1 /
    (4 pi (1 - pi)) for AUCs of a share pi of positives. With groups, n is their number.
    """
    measured, covariance, n = held_out.measured, held_out.covariance, held_out.independent
    variance = np.diag(covariance)
    pi = held_out.positive.mean()
    usual = np.repeat([1.0, 1 / (4 * pi * (1 - pi))], len(measured) // 2)
    factor = (n * variance + usual / n) / (np.clip(measured * (1 - measured), 0, None) + 1 / n)
    scale = np.sqrt(np.where(variance > 0, variance, 1.0))
    correlation = covariance / np.outer(scale, scale)
    np.fill_diagonal(correlation, 1.0)
    m = np.clip(expected, 0.5 / n, 1 - 0.5 / n)
    spread = np.sqrt(factor * m * (1 - m) / n)
    covariance = correlation * spread[:, :, None] * spread[:, None, :]
    lower = np.linalg.cholesky(covariance + _missed(held_out.sizes))
    scaled = np.linalg.solve(lower, (expected - measured)[..., None])[..., 0]
    determinant = np.log(np.diagonal(lower, axis1=1, axis2=2)).sum(axis=1)
    return np.asarray(-0.5 * np.square(scaled).sum(axis=1) - determinant)


def _of_excess(measured: Excess, expected: Float[np.ndarray, " G"]) -> Float[np.ndarray, " G"]:
    """Return the logarithm of a normal density, 0 without a measurement."""
    if not np.isfinite(measured.standard_error):
        return np.zeros_like(expected)
    missed = np.square(_EXCESS_MISSED * expected) + _EXCESS_FLOOR**2
    variance = measured.standard_error**2 + missed
    return -0.5 * (np.square(measured.value - expected) / variance + np.log(variance))


def _missed(sizes: Float[np.ndarray, " K"]) -> Float[np.ndarray, "J J"]:
    """Return the covariance of what no curve explains: less is asked of small training sets."""
    away = np.square(_DISTANCE * np.log(sizes / sizes[-1]))
    one = np.diag(_OWN + away) + _SHARED
    return np.kron([[1, -_ALIKE], [-_ALIKE, 1]], np.kron(np.eye(len(FITTED)), one))


def grid_and_prior(law: BagLaw, n: float) -> tuple[CurveParameters, Float[np.ndarray, " G"]]:
    """Return a grid of parameters and the logarithm of their prior, given n training bags.

    How much of the separation n bags teach has a prior, and the effective dimension follows
    from it: one that depends on the number of columns calls small pilots of wide tokens hopeless.
    """
    separations, steps = np.geomspace(*_SEPARATIONS), np.linspace(*_UNLEARNED_STEPS)
    m, L = effective_size(n, law), law.length
    informative = sorted({R for R in (1, 2, 4, 8, 16, 32, 64) if 2 * R <= L} | {L})
    axes = np.meshgrid(separations, steps, informative, _FLIPS, indexing="ij")
    D, step, R, flips = (axis.ravel() for axis in axes)
    odds = np.exp(_UNLEARNED + _UNLEARNED_SPREAD * step)  # 4 d / (m D^2)
    strong = np.log(D / _USUAL_SEPARATION) / _SEPARATION_SPREAD
    prior = -0.5 * (step**2 + strong**2) - _SPARSITY * np.log(R) - _FLIP_RATE * flips
    return CurveParameters(D, odds * m * D**2 / 4, R, flips), prior
