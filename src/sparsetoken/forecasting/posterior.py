"""Which learning curves agree with the errors that were measured, and what they say of more bags.

Every setting of a grid is weighted by a prior and by how well its curves meet the held-out errors
of both classifiers. Forecasts are weighted means and quantiles.
"""

from __future__ import annotations

import dataclasses

import numpy as np
from jaxtyping import Float

from sparsetoken.forecasting.crossvalidation import MODELS, HeldOut
from sparsetoken.forecasting.curves import Errors, Settings, errors_at
from sparsetoken.forecasting.law import BagLaw

__all__ = ["Interval", "Posterior", "fit_posterior"]

# Chosen on the tuning sets of benchmarks/forecast.py.
_SEPARATIONS = np.geomspace(0.15, 5.0, 24)
_USUAL_SEPARATION, _SEPARATION_SPREAD = 1.7, 0.65  # and of its logarithm
_DIMENSION_FACTOR, _DIMENSION_SPREAD = 1.5, 1.2  # of the effective d over that of the law
_SPARSITY = 0.75  # weight R^-0.75: few informative tokens are what attention is for
_FLIPS, _FLIP_RATE = (0.0, 0.05), 15.0
_OWN, _SHARED = 3e-4, 5e-4  # variances of what curves miss: of each error, of all of a model
_DISTANCE = 0.1  # and standard deviation of what they miss at 1/e of the most training bags
_WIDENING = 1.2  # of intervals, for what the curves of a pilot miss
_TAIL = 0.05


@dataclasses.dataclass(frozen=True)
class Interval:
    """A value and its 90% interval."""

    value: float
    low: float
    high: float


@dataclasses.dataclass(frozen=True, eq=False)
class Posterior:
    """Settings and their weights."""

    law: BagLaw
    settings: Settings
    weight: Float[np.ndarray, " G"]

    def errors(self, n: float) -> dict[str, Interval]:
        """Return the forecast errors of each model at n bags."""
        found = errors_at(n, self.settings, self.law)
        return {model: self._interval(getattr(found, model)) for model in MODELS}

    @property
    def informative(self) -> Interval:
        """The number R of informative tokens that fits the curves best."""
        R = self.settings.informative.astype(float)
        low, high = self._quantiles(R)
        return Interval(float(np.exp(self.weight @ np.log(R))), low, high)

    def _interval(self, values: Float[np.ndarray, " G"]) -> Interval:
        mean = float(self.weight @ values)
        low, high = self._quantiles(values)
        low, high = mean - _WIDENING * max(mean - low, 0), mean + _WIDENING * max(high - mean, 0)
        return Interval(mean, max(low, 0.0), min(high, 1.0))

    def _quantiles(self, values: Float[np.ndarray, " G"]) -> tuple[float, float]:
        order = np.argsort(values, kind="stable")
        low, high = np.interp([_TAIL, 1 - _TAIL], np.cumsum(self.weight[order]), values[order])
        return float(low), float(high)


def fit_posterior(law: BagLaw, held_out: HeldOut) -> Posterior:
    """Weigh the settings by what was measured."""
    settings = _grid(law)
    found = [errors_at(n, settings, law) for n in held_out.sizes]
    measured = np.concatenate([held_out.errors(model) for model in MODELS])
    covariance = held_out.covariance + _missed(held_out.sizes)
    gaps = _by_model(found) - measured
    scaled = np.linalg.solve(np.linalg.cholesky(covariance), gaps.T)
    logs = _log_prior(settings, law) - 0.5 * np.square(scaled).sum(axis=0)
    weight = np.exp(logs - logs.max())
    return Posterior(law, settings, weight / weight.sum())


def _by_model(found: list[Errors]) -> Float[np.ndarray, "G J"]:
    columns = [[getattr(errors, model) for errors in found] for model in MODELS]
    return np.array(columns).reshape(-1, len(found[0].pooled)).T


def _missed(sizes: Float[np.ndarray, " K"]) -> Float[np.ndarray, "J J"]:
    """Return the covariance of what no curve explains: less is asked of small training sets."""
    away = np.square(_DISTANCE * np.log(sizes / sizes[-1]))
    one = np.diag(_OWN + away) + _SHARED
    return np.kron(np.eye(len(MODELS)), one)


def _grid(law: BagLaw) -> Settings:
    L = law.length
    informative = sorted({R for R in (1, 2, 4, 8, 16, 32, 64) if 2 * R <= L} | {L})
    logs = np.log(_DIMENSION_FACTOR * law.dimension) + _DIMENSION_SPREAD * np.linspace(-2.2, 2.2, 9)
    axes = np.meshgrid(_SEPARATIONS, np.exp(logs), informative, _FLIPS, indexing="ij")
    return Settings(*(axis.ravel() for axis in axes))


def _log_prior(settings: Settings, law: BagLaw) -> Float[np.ndarray, " G"]:
    ratio = np.log(settings.dimension / (_DIMENSION_FACTOR * law.dimension)) / _DIMENSION_SPREAD
    strong = np.log(settings.separation / _USUAL_SEPARATION) / _SEPARATION_SPREAD
    sparse = _SPARSITY * np.log(settings.informative)
    return -0.5 * (ratio**2 + strong**2) - sparse - _FLIP_RATE * settings.flips
