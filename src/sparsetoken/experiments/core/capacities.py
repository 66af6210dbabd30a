"""Capacities: solved, and where the share of separable training sets falls at finite dimension."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy import optimize, special, stats

from sparsetoken import simulation, theory
from sparsetoken.experiments.core.finite_dimension import fit_power
from sparsetoken.experiments.core.rows import CONVERGED, REDUCED, THEORY, Row, Rows, predicted
from sparsetoken.model.models import Model
from sparsetoken.model.problem import SparseTokenProblem


@functools.lru_cache(maxsize=64)
def solved_capacity(problem: SparseTokenProblem, model: Model, tolerance: float = 1e-4) -> Row:
    """Return the predicted capacity, solved once in each process; without coordinates."""
    return predicted(theory.capacity(problem, model, tolerance=tolerance), "capacity")


def separable_share(
    problem: SparseTokenProblem,
    model: Model,
    alpha1: float,
    *,
    dimension: int,
    engine: str = REDUCED,
    sets: int,
    seed: int,
    **at: Any,
) -> Row:
    """Return the share of `sets` training sets of alpha1 d samples that are separable.

    Its trials are the training sets; alpha1 is among its coordinates.
    """
    drawn = (
        simulation.draw_training_set(
            problem, model, alpha1, dimension=dimension, seed=seed, engine=engine, trial=i
        )
        for i in range(sets)
    )
    separable = sum(bool(simulation.is_separable(*data)) for data in drawn)
    # The add-one share keeps the error of a count of none or all above 0.
    smooth = (separable + 1) / (sets + 2)
    error = math.sqrt(smooth * (1 - smooth) / sets)
    at |= {"alpha1": alpha1}
    return Row("simulated", "separable", separable / sets, error, at, engine, dimension, sets)


def fitted_transitions(shares: Rows) -> Rows:
    """Return the threshold and the width of a probit curve through shares at several loads.

    They are quantities of the series fitted, for each place, model and number of features. Their
    dimension is the number of features, in which they are carried to infinity, and their trials
    are all the training sets.
    """
    transitions, names = [], ("place", "model", "features")
    for key, counted in shares.by(*names):
        rows = counted.along("alpha1")
        counts = [round(row.value * row.trials) for row in rows]
        fit = fit_threshold([row["alpha1"] for row in rows], counts, rows[0].trials)
        at = dict(zip(names, key, strict=True))
        status = CONVERGED if fit.converged else "max_iterations"
        sizes = (at, REDUCED, at["features"], sum(row.trials for row in rows), status)
        transitions += [
            Row("fitted", "threshold", fit.middle, fit.standard_error, *sizes),
            Row("fitted", "width", fit.width, fit.width_error, *sizes),
        ]
    return Rows(transitions)


def width_power(fits: Rows) -> Row:
    """Return the mean power of the number of features that the widths follow, by precision.

    The fits are those of `fitted_transitions`.
    """
    powers, widths = [], fits.where(quantity="width")
    for _, some in widths.by("place", "model"):
        known = [(row["features"], row.value, row.error) for row in some if row.converged]
        if len(known) > 1:
            powers.append(fit_power(*zip(*known, strict=True)))
    weights = np.array([power.error**-2 for power in powers])
    mean = float(weights @ [power.value for power in powers] / weights.sum())
    sizes = max(widths.distinct("features")), sum(row.trials for row in widths)
    return Row("fitted", "power", mean, float(weights.sum() ** -0.5), {}, REDUCED, *sizes)


def covers_share(counted: Rows) -> tuple[Row, Row]:
    """Return Cover's mean share of separable sets, exact at every size, and that of all counted.

    n points in general position with random labels are separable by m weights and a bias
    with chance P(Binomial(n - 1, 1/2) <= m).
    """
    sets = np.array([row.trials for row in counted])
    samples = np.array([round(row["alpha1"] * row.dimension) for row in counted])
    chance = stats.binom.cdf([row["features"] for row in counted], samples - 1, 0.5)
    error = math.sqrt(np.sum(chance * (1 - chance) * sets)) / sets.sum()
    exact, mean = (float(np.average(x, weights=sets)) for x in (chance, [r.value for r in counted]))
    share = counted[-1].but(value=mean, error=float(error), trials=int(sets.sum()))
    return Row(THEORY, "separable", exact), share


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
    middle_error, width_error = _errors(load, middle, width, sets)
    return Threshold(middle, width, middle_error, width_error, fit.success)


def _errors(load: np.ndarray, middle: float, width: float, sets: int) -> list[float]:
    """Return the standard errors of middle and width."""
    score = (middle - load) / width
    log_density = -(score**2) / 2 - 0.5 * math.log(2 * math.pi)
    weight = np.exp(2 * log_density - special.log_ndtr(score) - special.log_ndtr(-score))
    gradient = np.stack([np.ones_like(score), -score]) / width
    information = sets * (weight * gradient) @ gradient.T
    return [float(e) for e in np.sqrt(np.diag(np.linalg.inv(information)))]
