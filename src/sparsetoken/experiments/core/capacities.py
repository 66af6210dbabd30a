"""Capacities: solved, and where the share of separable training sets falls at finite dimension."""

from __future__ import annotations

import functools
import math
from typing import Any

from sparsetoken import simulation, theory
from sparsetoken.experiments.core.rows import CONVERGED, REDUCED, Row, Rows, predicted
from sparsetoken.experiments.core.threshold import fit_threshold
from sparsetoken.models import Model
from sparsetoken.problem import SparseTokenProblem


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
            problem,
            model,
            alpha1,
            dimension=dimension,
            seed=seed,
            engine=engine,
            trial=i,
        )
        for i in range(sets)
    )
    separable = sum(bool(simulation.is_separable(*data)) for data in drawn)
    # The add-one share keeps the error of a count of none or all above 0.
    smooth = (separable + 1) / (sets + 2)
    error = math.sqrt(smooth * (1 - smooth) / sets)
    at |= {"alpha1": alpha1}
    return Row("simulated", "separable", separable / sets, error, at, engine, dimension, sets)


def fitted_transitions(shares: Rows, *names: str) -> Rows:
    """Return the threshold and the width of a probit curve through shares at several loads.

    They are quantities of the series fitted, for each value of the coordinates of these names and
    of features. Their dimension is the number of features, in which they are carried to infinity,
    and their trials are all the training sets.
    """
    found = []
    for key, counted in shares.by(*names, "features"):
        rows = [row for _, row in counted.along("alpha1")]
        counts = [round(row.value * row.trials) for row in rows]
        fit = fit_threshold([row["alpha1"] for row in rows], counts, rows[0].trials)
        at = dict(zip((*names, "features"), key, strict=True))
        status = CONVERGED if fit.converged else "max_iterations"
        sizes = (at, REDUCED, at["features"], sum(row.trials for row in rows), status)
        found += [
            Row("fitted", "threshold", fit.middle, fit.standard_error, *sizes),
            Row("fitted", "width", fit.width, fit.width_error, *sizes),
        ]
    return Rows(found)
