"""The features of attention without normalisation."""

from __future__ import annotations

import dataclasses

from sparsetoken.attention import ACTIVATIONS, check_exponent
from sparsetoken.models import Elementwise
from sparsetoken.problem import SparseTokenProblem
from sparsetoken.stages import Query
from sparsetoken.theory.feature_law import FeatureLaw, sampled_law

__all__ = ["elementwise_law"]


def elementwise_law(
    model: Elementwise, problem: SparseTokenProblem, query: Query, points: int
) -> FeatureLaw:
    """Return the law of (1/L) X^T phi(beta X q).

    Raises
    ------
    InvalidInput
        If exponential weights overflow.
    """
    check_exponent(model.activation, query.sharpness, problem.strength * abs(query.cosine))
    phi = ACTIVATIONS[model.activation]
    law = sampled_law(
        problem, query, points, lambda t: phi(query.sharpness * t) / problem.length, sees_mean=True
    )
    # All projections are negative at times, at every L: relu then weighs all tokens with 0.
    return dataclasses.replace(law, vanishes=model.activation == "relu" or law.featureless)
