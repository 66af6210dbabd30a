"""Capacities: solved, and where the share of separable training sets falls at finite dimension."""

from __future__ import annotations

import functools
import math

from sparsetoken import simulation, theory
from sparsetoken.experiments.rows import Measured, Predicted, predicted
from sparsetoken.problem import SparseTokenProblem
from sparsetoken.training import Query

__all__ = ["separable_share", "solved_capacity"]


@functools.lru_cache(maxsize=64)
def solved_capacity(
    model: str, problem: SparseTokenProblem, query: Query, tolerance: float = 1e-4
) -> Predicted:
    """Return the predicted capacity, solved once in each process."""
    result = theory.capacity(model, problem, query=query, tolerance=tolerance)
    return predicted(result, "capacity", result.numerical_error)


def separable_share(
    model: str,
    problem: SparseTokenProblem,
    query: Query,
    alpha1: float,
    *,
    dimension: int,
    engine: str = "reduced",
    sets: int,
    seed: int,
) -> Measured:
    """Return the share of `sets` training sets of load alpha1 that are separable.

    The dimension of the result is d, and its trials are the training sets.
    """
    drawn = (
        simulation.draw_training_set(
            model,
            problem,
            query=query,
            alpha1=alpha1,
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
