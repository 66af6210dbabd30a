"""Capacities: solved, and where the share of separable training sets falls at finite dimension."""

from __future__ import annotations

import functools
import math

from sparsetoken import simulation, theory
from sparsetoken.experiments.rows import Measured, Predicted, predicted
from sparsetoken.models import Model
from sparsetoken.problem import SparseTokenProblem


@functools.lru_cache(maxsize=64)
def solved_capacity(
    problem: SparseTokenProblem, model: Model, tolerance: float = 1e-4
) -> Predicted:
    """Return the predicted capacity, solved once in each process."""
    result = theory.capacity(problem, model, tolerance=tolerance)
    return predicted(result, "capacity", result.numerical_error)


def separable_share(
    problem: SparseTokenProblem,
    model: Model,
    alpha1: float,
    *,
    dimension: int,
    engine: str = "reduced",
    sets: int,
    seed: int,
) -> Measured:
    """Return the share of `sets` training sets of alpha1 d samples that are separable.

    The dimension of the result is d, and its trials are the training sets.
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
    return Measured(separable / sets, error, dimension, sets, engine)
