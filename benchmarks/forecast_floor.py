"""How well any forecast from held-out errors could do: curves and prior taken as the truth.

python benchmarks/forecast_floor.py [--rows FILE]

Settings are drawn from the prior of the forecast, and errors and AUCs of a pilot's held-out bags
and the excess of variance with the luck of its bags. The posterior that knows curves, prior and
luck has the median with the least mean absolute error that any forecast from these numbers can
have; another one knows no AUCs. Beside it `fit_posterior`, which allows for what curves miss of
real bags, without and with as much missed. The variance and the correlation of held-out errors and
AUCs over bags are measured on pilots of constructed tuning sets. With the rows of
benchmarks/forecast.py, settings that meet the true errors of these sets are the truth as well.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import warnings
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from forecast_sets import TUNING, pilot, settings
from sparsetoken.estimators import QueryWarning
from sparsetoken.forecasting import posterior
from sparsetoken.forecasting.crossvalidation import FITTED, MODELS, HeldOut, held_out_errors
from sparsetoken.forecasting.curves import Settings, errors_at, pooled_shift
from sparsetoken.forecasting.inputs import BagLaw, bag_law, read_labelled
from sparsetoken.forecasting.measures import Excess, excess_of
from sparsetoken.forecasting.posterior import settings_and_prior

LAW = BagLaw(length=10, averaging=10.0, between=0.1, positive_rate=0.5)
NUMBERS, TRAINED, MULTIPLES = (40, 80, 160, 320), (1 / 2, 2 / 3, 9 / 10), (1, 2, 4)
DRAWS, SET_DRAWS, FINE = 400, 20, 3
MEASURED = ("digits5_60", "tex15_80", "gausseffect_100", "text15_40", "scene_40", "aligned_60")
HEAD = (
    "| truth | n | luck of a share of n bags | best without AUCs (at n, 2n, 4n) | inside 90% "
    "| best | inside | forecast | inside | forecast where curves miss | inside |\n"
    f"|{'---|' * 11}"
)
ERRORS = slice(0, 6)  # of what is measured: AUCs follow
LEAST = 0.005  # errors below count as this where the luck of bags is worked out


class Luck(NamedTuple):
    """Variances over e (1 - e) / n, their correlation, and se sqrt(n) / (1 + x) of an excess x.

    An e is an error or an AUC.
    """

    ratio: np.ndarray
    correlation: np.ndarray
    excess: float

    def spread(self, seen: np.ndarray, n: int) -> np.ndarray:
        e = np.clip(seen, LEAST, 1 - LEAST)
        return np.sqrt(self.ratio * e * (1 - e) / n)


def measured_luck() -> Luck:
    """Measure it on one pilot of each of some tuning sets."""
    ratios, correlations, spreads = [], [], []
    for setting in settings():
        if setting.name in MEASURED:
            bags, y = pilot(setting, 0, Path())
            found = held_out_errors(read_labelled(bags, y), 0)
            e = found.measured
            variance = np.diag(found.covariance)
            ratios.append(setting.n * variance / np.maximum(e * (1 - e), 1e-9))
            scale = np.sqrt(np.outer(variance, variance))
            correlations.append(found.covariance / scale)
            x = found.excess
            spreads.append(x.standard_error * np.sqrt(setting.n) / (1 + max(x.value, 0)))
    return Luck(np.mean(ratios, axis=0), np.mean(correlations, axis=0), float(np.mean(spreads)))


class Place(NamedTuple):
    """What a pilot of n bags would show of each setting without luck, and errors at n, 2n, 4n."""

    n: int
    shown: np.ndarray
    excess: np.ndarray
    errors: np.ndarray

    @classmethod
    def of(cls, n: int, at: Settings, law: BagLaw) -> Place:
        shown = posterior._expected(n * np.array(TRAINED), at, law)
        later = [errors_at(n * m, at, law) for m in MULTIPLES]
        errors = np.stack([getattr(e, model) for model in MODELS for e in later], axis=1)
        shift = pooled_shift(n * TRAINED[-1], at, law)
        return cls(n, shown, excess_of(shift, at.informative, law.length), errors)


def forecasts(
    truth: Place, row: int, grid: Place, prior: np.ndarray, luck: Luck, law: BagLaw, rng: Any
) -> tuple[np.ndarray, ...]:
    """Draw a pilot; return gaps and covers of the best forecasts, and twice of `fit_posterior`.

    The second time curves miss as much of the pilot as it allows for.
    """
    n, shown, excess, real = truth.n, truth.shown[row], truth.excess[row], truth.errors[row]
    chol, sizes = np.linalg.cholesky(luck.correlation), n * np.array(TRAINED)
    y = shown + luck.spread(shown, n) * (chol @ rng.standard_normal(len(chol)))
    x = excess + luck.excess * (1 + excess) / np.sqrt(n) * rng.standard_normal()
    found = []
    for known in (ERRORS, slice(None)):
        low, median, high = best(y, x, grid, prior, luck, known)
        found += [median - real, (low <= real) & (real <= high)]
    missed = np.linalg.cholesky(posterior._missed(sizes)) @ rng.standard_normal(len(chol))
    scale = np.hypot(posterior._EXCESS_MISSED * excess, posterior._EXCESS_FLOOR)
    for seen, spread in ((y, x), (y + missed, x + scale * rng.standard_normal())):
        value, low, high = ours(np.clip(seen, 0, 1), spread, sizes, luck, chol, law, rng)
        found += [value - real, (low <= real) & (real <= high)]
    return tuple(found)


def best(
    y: np.ndarray, x: float, grid: Place, prior: np.ndarray, luck: Luck, known: slice
) -> np.ndarray:
    """Return the tails and the median of the posterior that knows the luck at each setting."""
    spread = luck.spread(grid.shown, grid.n)[:, known]
    width = luck.excess * (1 + grid.excess) / np.sqrt(grid.n)
    chol = np.linalg.cholesky(luck.correlation[known, known])
    scaled = np.linalg.solve(chol, ((y - grid.shown)[:, known] / spread).T)
    logs = prior - 0.5 * np.square(scaled).sum(axis=0) - np.log(spread).sum(axis=1)
    logs -= 0.5 * np.square((x - grid.excess) / width) + np.log(width)
    weight = np.exp(logs - logs.max())
    return quantiles(grid.errors, weight / weight.sum(), (0.05, 0.5, 0.95))


def ours(
    y: np.ndarray, x: float, sizes: np.ndarray, luck: Luck, chol: np.ndarray, law: BagLaw, rng: Any
) -> np.ndarray:
    """Return values and intervals of the forecast, from bags with these means and this luck."""
    n = round(sizes[-1] / TRAINED[-1])
    positive = np.arange(n) < law.positive_rate * n
    Z = rng.standard_normal((len(chol), n))
    Z -= Z.mean(axis=1, keepdims=True)
    Z = np.linalg.solve(np.linalg.cholesky(np.cov(Z)), Z)  # of covariance 1
    moves = np.sqrt(n) * luck.spread(y, n)[:, None] * (chol @ Z)
    moves[6:] *= np.where(positive, positive.mean(), 1 - positive.mean())  # as placements move
    parts = np.split(y[:, None] + moves, 4)
    shares, placed = (dict(zip(FITTED, part, strict=True)) for part in (parts[:2], parts[2:]))
    excess = Excess(x, luck.excess * (1 + max(x, 0.0)) / np.sqrt(n))
    fitted = posterior.fit_posterior(law, HeldOut(sizes, shares, placed, positive, excess))
    found = [fitted.errors(n * m) for m in MULTIPLES]
    told = [found[i][model] for model in MODELS for i in range(len(MULTIPLES))]
    return np.array([(one.value, one.low, one.high) for one in told]).T


def quantiles(values: np.ndarray, weight: np.ndarray, levels: tuple[float, ...]) -> np.ndarray:
    found = []
    for column in values.T:
        order = np.argsort(column)
        found.append(np.interp(levels, np.cumsum(weight[order]), column[order]))
    return np.transpose(found)


def line(title: str, n: int, found: list[tuple[np.ndarray, ...]], luck: float) -> str:
    """Return a line of the table: for each way its errors and how often its intervals hold."""
    cells = [f"{luck:.3f}"]
    columns = [np.array(column) for column in zip(*found, strict=True)]
    for gaps, inside in zip(columns[::2], columns[1::2], strict=True):
        at = np.abs(gaps).reshape(-1, 2, len(MULTIPLES)).mean(axis=(0, 1))
        cells.append(f"{np.abs(gaps).mean():.3f} ({', '.join(f'{v:.3f}' for v in at)})")
        cells.append(f"{inside.mean():.0%}")
    return f"| {title} | {n or 'its own'} | {' | '.join(cells)} |"


def from_prior(n: int, luck: Luck) -> str:
    """Return the line of settings of the prior."""
    rng = np.random.default_rng([1, n])
    at, prior = settings_and_prior(LAW, n * TRAINED[-1], FINE)
    place, p = Place.of(n, at, LAW), np.exp(prior - prior.max())
    rows = rng.choice(len(p), DRAWS, p=p / p.sum())
    found = [forecasts(place, row, place, prior, luck, LAW, rng) for row in rows]
    return line("prior", n, found, of_a_share(place.errors[rows], n))


def of_a_share(errors: np.ndarray, n: int) -> float:
    """Return the mean absolute luck of a share of n bags."""
    return float(np.sqrt(2 / np.pi * errors[:, ::3] * (1 - errors[:, ::3]) / n).mean())


def of_the_sets(n: int, truths: dict[str, np.ndarray], luck: Luck, draws: int) -> str:
    """Return the line of settings that meet the true errors of sets, each with its own law."""
    rng, found, shares = np.random.default_rng([2, n]), [], []
    for setting in settings():
        if setting.name in truths:
            size = n or setting.n
            law = bag_law(read_labelled(*pilot(setting, 0, Path())))
            at, _ = settings_and_prior(law, setting.n * TRAINED[-1], FINE)
            errors = Place.of(setting.n, at, law).errors
            nearest = [np.square(errors - truths[setting.name]).sum(axis=1).argmin()]
            at = Settings(*(getattr(at, f.name)[nearest] for f in dataclasses.fields(at)))
            truth = Place.of(size, at, law)
            at, prior = settings_and_prior(law, size * TRAINED[-1], FINE)
            grid = Place.of(size, at, law)
            found += [forecasts(truth, 0, grid, prior, luck, law, rng) for _ in range(draws)]
            shares.append(of_a_share(truth.errors, size))
    return line("sets", n, found, float(np.mean(shares)))


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=Path, help="of benchmarks/forecast.py")
    asked = parser.parse_args()
    warnings.simplefilter("ignore", QueryWarning)
    luck = measured_luck()
    print(f"variances of errors and AUCs over e (1 - e) / n: {luck.ratio.round(2).tolist()}")
    print(HEAD)
    for n in NUMBERS:
        print(from_prior(n, luck), flush=True)
    if asked.rows:
        truths = true_errors([json.loads(text) for text in asked.rows.read_text().splitlines()])
        for n in (*NUMBERS, 0):
            print(of_the_sets(n, truths, luck, SET_DRAWS), flush=True)


def true_errors(rows: list[dict[str, Any]]) -> dict[str, np.ndarray]:
    """Return the measured errors of tuning sets at n, 2n, 4n, those of pooling first."""
    found: dict[str, dict[int, dict[str, Any]]] = {}
    for row in rows:
        if row["kind"] == "measured" and not row["real"] and row["group"] == TUNING:
            found.setdefault(row["set"], {})[row["at"]] = row
    return {
        name: np.array([at[n][model][0] for model in MODELS for n in sorted(at)])
        for name, at in found.items()
        if len(at) == len(MULTIPLES)
    }


if __name__ == "__main__":
    main()
