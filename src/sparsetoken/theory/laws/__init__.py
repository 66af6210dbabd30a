"""The law of the features of each model, a file for each."""

from __future__ import annotations

from sparsetoken.model.models import Model, entry_of
from sparsetoken.model.problem import SparseTokenProblem
from sparsetoken.model.stages import Query
from sparsetoken.model.tokens import isotropic_only
from sparsetoken.theory.feature_law import FeatureLaw

__all__ = ["feature_law"]


def feature_law(
    model: Model, problem: SparseTokenProblem, query: Query | None, points: int
) -> FeatureLaw:
    """Return nodes of the law of the features of a model.

    Equation: feature-law.

    Parameters
    ----------
    model : Model
    problem : SparseTokenProblem
        Its position law is not used but refused where weights belong to positions.
    query : Query or None
        The query that the model works with.
    points : int
        Nodes for each class and scramble, a power of two. Where the law is known exactly
        its own nodes are returned instead.
    """
    isotropic_only(problem.tokens, "This result")
    law: FeatureLaw = entry_of(model).resolve("theory")(model, problem, query, points)
    return law
