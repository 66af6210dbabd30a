"""Counting separable training sets at finite dimension."""

from __future__ import annotations

import math

from sparsetoken import simulation
from sparsetoken.experiments.points import Point
from sparsetoken.problem import SparseTokenProblem
from sparsetoken.training import Query

__all__ = ["separable_share"]


def separable_share(
    model: str,
    problem: SparseTokenProblem,
    query: Query,
    alpha1: float,
    *,
    dimension: int,
    engine: str,
    sets: int,
    seed: int,
    group: str,
) -> Point:
    """Return the share of `sets` training sets of load alpha1 that are separable."""
    separable = 0
    for i in range(sets):
        data = simulation.draw_training_set(
            model,
            problem,
            query=query,
            alpha1=alpha1,
            dimension=dimension,
            seed=seed,
            engine=engine,
            trial=i,
        )
        separable += bool(simulation.is_separable(*data))
    share = separable / sets
    # The add-one share keeps the error of a count of none or all above 0.
    smooth = (separable + 1) / (sets + 2)
    error = math.sqrt(smooth * (1 - smooth) / sets)
    return Point(model, "separable", alpha1, share, error, engine, group, dimension, sets)
