"""The learning curves that agree with the measurements, and their forecasts for more bags.

Every point of a grid is weighted by a prior and by how well it meets what the pilot shows: the
held-out errors and AUCs of the classifiers, and the excess variance of scores in positive bags.
No curve is exactly true. By how much the log odds of an error are off is itself unknown: a normal
level and a normal slope over the logarithm of the number of bags, for each model. The
measurements inform them at every point of the grid, so that what its curves miss at the pilot,
beyond the noise of its bags, they are taken to miss later. Forecasts are quantiles.
"""

from __future__ import annotations

import dataclasses
from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.special import expit, logit, ndtri

from sparsetoken.forecasting.curves import (
    CurveParameters,
    aucs_at,
    effective_size,
    errors_at,
    pooled_shift,
)
from sparsetoken.forecasting.inputs import BagLaw
from sparsetoken.forecasting.measures import Excess, excess_of
from sparsetoken.forecasting.pilot import Column, HeldOut
from sparsetoken.forecasting.scores import Interval


class Prior(NamedTuple):
    """What is known before a pilot.

    Its numbers were chosen by the log density of test errors after pilots of 60 bags, of 24
    constructed and 5 real sets other than those of benchmarks/forecasts.py.

    Attributes
    ----------
    separation, separation_spread : float
        Mean and standard deviation of the logarithm of the separation D.
    unlearned, unlearned_spread : float
        The same of the log odds of the share of D^2 that a readout misses at the most training
        bags.
    sparsity : float
        The weight of R informative tokens is R^-sparsity.
    flips : float
        The weight of a share f of unexplained labels is exp(-flips f).
    level, slope : float
        Standard deviations of what curves miss of the log odds of an error, and of its change with
        the logarithm of the number of bags.
    alike : float
        Correlation of what they miss of two models.
    members : float
        Standard deviation of what members without a curve, as trees, change in the log odds of
        the error of `BagClassifier`.
    own : float
        Standard deviation of what curves miss of one measurement alone.
    pilots : float
        Variance of a held-out error over pilots, over that of so many independent bags: the
        folds of a pilot share its bags.
    """

    separation: float = 0.8
    separation_spread: float = 0.65
    unlearned: float = 0.0
    unlearned_spread: float = 2.3
    sparsity: float = 1.0
    flips: float = 10.0
    level: float = 0.35
    slope: float = 0.15
    alike: float = 0.7
    members: float = 0.7
    own: float = 0.22
    pilots: float = 1.2


PRIOR = Prior()
_SEPARATIONS = (0.1, 6.0, 20)  # least, largest, number
_UNLEARNED = (-3.5, 6.0, 12)
_FLIPS = (0.0, 0.05, 0.15)
_ALIKE = 0.8  # correlation of what curves miss of an error and of 1 - AUC
_EXCESS_MISSED, _EXCESS_FLOOR = 0.5, 0.05  # of the excess, relative and absolute
_TAIL = 0.05
_LEAST = 1e-3  # errors below count as this one
_NEAR = 1e-3  # log odds whose chord is a tangent to 1e-3, with little rounding
_NEGLIGIBLE = 1e-6  # weight, over the largest
_NORMALS = ndtri((np.arange(15) + 0.5) / 15)


@dataclasses.dataclass(frozen=True, eq=False)
class Posterior:
    """Parameters of learning curves, their weights, and what the curves miss.

    Attributes
    ----------
    columns : list of Column
        What was measured.
    start : float
        The most training bags.
    solved : array of shape (G, J)
        Measured less expected values, in the inverse of their covariance.
    lower : array of shape (G, J, J)
        The Cholesky factor of this covariance.
    scale : array of shape (G, J)
        The change of a column with its log odds.
    """

    law: BagLaw
    prior: Prior
    parameters: CurveParameters
    weight: Float[np.ndarray, " G"]
    columns: list[Column]
    start: float
    solved: Float[np.ndarray, "G J"]
    lower: Float[np.ndarray, "G J J"]
    scale: Float[np.ndarray, "G J"]

    def errors(self, n: float) -> dict[str, Interval]:
        """Return the forecast errors of each model at n bags: median and 90% interval."""
        return self._intervals(n, is_error=True)

    def aucs(self, n: float) -> dict[str, Interval]:
        """Return the forecast AUC of each model at n bags: median and 90% interval."""
        return self._intervals(n, is_error=False)

    def _intervals(self, n: float, *, is_error: bool) -> dict[str, Interval]:
        weight = np.repeat(self.weight, len(_NORMALS))
        found = {}
        for model, (mean, spread) in self.log_odds(n, is_error).items():
            values = (mean[:, None] + spread[:, None] * _NORMALS).ravel()
            low, value, high = expit(_quantiles(values, weight, (_TAIL, 0.5, 1 - _TAIL))).tolist()
            found[model] = Interval(value, low, high)
        return found

    def log_odds(
        self, n: float, is_error: bool = True
    ) -> dict[str, tuple[Float[np.ndarray, " G"], ...]]:
        """Return mean and deviation of the log odds of each error, or AUC, at each point."""
        found: dict[str, tuple[Float[np.ndarray, " G"], ...]] = {}
        curves = (errors_at if is_error else aucs_at)(n, self.parameters, self.law)
        for model, curve in curves.items():
            at = [Column(is_error, model, n)]
            shared = _missed(at, self.columns, self.start, self.prior)[0] * self.scale
            known = np.linalg.solve(self.lower, shared[..., None])[..., 0]
            before = _missed(at, at, self.start, self.prior)[0, 0]
            spread = np.sqrt(np.maximum(before - np.square(known).sum(axis=1), 0.0))
            moved = (shared * self.solved).sum(axis=1)
            found[model] = logit(np.clip(curve, _LEAST, 1 - _LEAST)) + moved, spread
        return found

    @property
    def informative(self) -> Interval:
        """The number R of informative tokens that fits the curves best."""
        R = self.parameters.informative.astype(float)
        low, high = _quantiles(R, self.weight, (_TAIL, 1 - _TAIL)).tolist()
        return Interval(float(np.exp(self.weight @ np.log(R))), low, high)


def _quantiles(
    values: Float[np.ndarray, " G"], weight: Float[np.ndarray, " G"], levels: tuple[float, ...]
) -> Float[np.ndarray, " Q"]:
    order = np.argsort(values, kind="stable")
    shares = np.cumsum(weight[order])
    return np.interp(levels, shares / shares[-1], values[order])


def fit_posterior(law: BagLaw, held_out: HeldOut) -> Posterior:
    """Weigh the parameters by what was measured."""
    prior = PRIOR
    columns, start = held_out.columns, float(held_out.sizes[-1])
    parameters, logs = grid_and_prior(law, start)
    expected = _expected(columns, parameters, law)
    n = held_out.independent
    expected = np.clip(expected, 0.5 / n, 1 - 0.5 / n)
    scale = _slopes(expected, held_out.measured, n)
    missed = _missed(columns, columns, start, prior) + prior.own**2 * np.eye(len(columns))
    covariance = _noise(held_out, expected, prior) + missed * scale[:, :, None] * scale[:, None, :]
    lower = np.linalg.cholesky(covariance)
    scaled = np.linalg.solve(lower, (held_out.measured - expected)[..., None])
    determinant = np.log(np.diagonal(lower, axis1=1, axis2=2)).sum(axis=1)
    logs = logs - 0.5 * np.square(scaled[..., 0]).sum(axis=1) - determinant
    shift = pooled_shift(start, parameters, law)
    logs += _of_excess(held_out.excess, excess_of(shift, parameters.informative, law.length))
    weight = np.exp(logs - logs.max())
    kept = weight > _NEGLIGIBLE
    solved = np.linalg.solve(np.swapaxes(lower[kept], 1, 2), scaled[kept])[..., 0]
    return Posterior(
        law=law,
        prior=prior,
        parameters=CurveParameters(
            **{f.name: getattr(parameters, f.name)[kept] for f in dataclasses.fields(parameters)}
        ),
        weight=weight[kept] / weight[kept].sum(),
        columns=columns,
        start=start,
        solved=solved,
        lower=lower[kept],
        scale=scale[kept],
    )


def _slopes(
    expected: Float[np.ndarray, "G J"], measured: Float[np.ndarray, " J"], n: float
) -> Float[np.ndarray, "G J"]:
    """Return the slopes of chords from expected to measured values over their log odds.

    Tangents at what is expected would make too much of values that are far from it. Of one bag
    half is right, so that log odds are finite.
    """
    found = np.clip((n * measured + 0.5) / (n + 1), 0.5 / n, 1 - 0.5 / n)
    odds = logit(found) - logit(expected)
    near = np.abs(odds) < _NEAR
    chords = (found - expected) / np.where(near, 1.0, odds)
    return np.where(near, expected * (1 - expected), chords)


def _expected(
    columns: list[Column], parameters: CurveParameters, law: BagLaw
) -> Float[np.ndarray, "G J"]:
    """Return what each point of the grid expects of each column."""
    curves = {
        (is_error, size): (errors_at if is_error else aucs_at)(size, parameters, law)
        for is_error, _, size in columns
    }
    return np.stack([curves[one.is_error, one.size][one.model] for one in columns], axis=1)


def _noise(
    held_out: HeldOut, expected: Float[np.ndarray, "G J"], prior: Prior
) -> Float[np.ndarray, "G J J"]:
    """Return the covariance of errors and AUCs over pilots.

    Their variances over bags are in proportion to m (1 - m), m what a point expects: those at the
    measured values would overweight results that are good by chance. The factor is smoothed by one
    bag with that of random scores, as it cannot be estimated from identical bags: 1 for errors, 1 /
    (4 pi (1 - pi)) for AUCs of a share pi of positives. With groups, n is their number.
    """
    measured, covariance, n = held_out.measured, held_out.covariance, held_out.independent
    variance, pi = np.diag(covariance), held_out.positive.mean()
    usual = [1.0 if one.is_error else 1 / (4 * pi * (1 - pi)) for one in held_out.columns]
    factor = n * variance + np.array(usual) / n
    factor /= np.clip(measured * (1 - measured), 0, None) + 1 / n
    scale = np.sqrt(np.where(variance > 0, variance, 1.0))
    correlation = covariance / np.outer(scale, scale)
    np.fill_diagonal(correlation, 1.0)
    spread = np.sqrt(prior.pilots * factor * expected * (1 - expected) / n)
    return np.asarray(correlation * spread[:, :, None] * spread[:, None, :])


def _of_excess(measured: Excess, expected: Float[np.ndarray, " G"]) -> Float[np.ndarray, " G"]:
    """Return the logarithm of a normal density, 0 without a measurement."""
    if not np.isfinite(measured.standard_error):
        return np.zeros_like(expected)
    missed = np.square(_EXCESS_MISSED * expected) + _EXCESS_FLOOR**2
    variance = measured.standard_error**2 + missed
    return -0.5 * (np.square(measured.value - expected) / variance + np.log(variance))


def _missed(
    some: list[Column], others: list[Column], start: float, prior: Prior
) -> Float[np.ndarray, "I J"]:
    """Return the covariance of what curves miss, in log odds: a level and a slope of each model.

    What raises an error lowers the AUC. Members without a curve move `BagClassifier` alone.
    """

    def parts(columns: list[Column]) -> tuple[np.ndarray, ...]:
        is_error, model, size = map(np.array, zip(*columns, strict=True))
        return is_error, model, np.log(size / start)

    (e, m, far), (f, k, wide) = parts(some), parts(others)
    shared = np.where(np.equal.outer(m, k), 1.0, prior.alike)
    turned = np.where(np.equal.outer(e, f), 1.0, -_ALIKE)
    missed = shared * turned * (prior.level**2 + prior.slope**2 * np.outer(far, wide))
    return missed + prior.members**2 * turned * np.outer(m == "bag", k == "bag")


def grid_and_prior(law: BagLaw, n: float) -> tuple[CurveParameters, Float[np.ndarray, " G"]]:
    """Return a grid of parameters and the logarithm of their prior, given n training bags.

    How much of the separation n bags teach has a prior, and the effective dimension follows
    from it: one that depends on the number of columns calls small pilots of wide tokens hopeless.
    """
    m, L, prior = effective_size(n, law), law.length, PRIOR
    informative = sorted({R for R in (1, 2, 4, 8, 16, 32, 64) if 2 * R <= L} | {L})
    axes = np.geomspace(*_SEPARATIONS), np.linspace(*_UNLEARNED), informative, _FLIPS
    D, odds, R, flips = (axis.ravel() for axis in np.meshgrid(*axes, indexing="ij"))
    strong = (np.log(D) - prior.separation) / prior.separation_spread
    unlearned = (odds - prior.unlearned) / prior.unlearned_spread  # of 4 d / (m D^2)
    logs = -0.5 * (strong**2 + unlearned**2) - prior.sparsity * np.log(R) - prior.flips * flips
    return CurveParameters(D, np.exp(odds) * m * D**2 / 4, R, flips), logs
