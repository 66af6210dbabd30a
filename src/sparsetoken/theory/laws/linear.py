"""The features of the linear models: Gaussian in each class."""

from __future__ import annotations

import dataclasses
import math

from sparsetoken.base.validation import InvalidInput
from sparsetoken.model.models import Model
from sparsetoken.model.problem import SparseTokenProblem
from sparsetoken.model.stages import Query
from sparsetoken.theory.feature_law import FeatureLaw, two_nodes


def pooled_law(
    model: Model, problem: SparseTokenProblem, query: Query | None, points: int
) -> FeatureLaw:
    """Return the law of the mean token: A = R/L, C = 1/sqrt(L)."""
    _, theta, R, L = problem.letters
    return two_nodes(problem, 0.0, theta * R / L, 1 / math.sqrt(L))


def vectorized_law(
    model: Model, problem: SparseTokenProblem, query: Query | None, points: int
) -> FeatureLaw:
    """Return the law of the concatenated tokens.

    A linear problem in L d dimensions, with a mean of norm theta R / sqrt(L) and unit noise.

    Raises
    ------
    InvalidInput
        If positions are not uniform.
    """
    if problem.position_law is not None:
        remedy = "The theory of vectorized takes positions as uniform; simulate instead."
        raise InvalidInput("position_law", "None", problem.position_law, remedy)
    _, theta, R, L = problem.letters
    law = two_nodes(problem, 0.0, theta * R / math.sqrt(L), 1.0)
    return dataclasses.replace(law, weights_per_dimension=L)
