"""The law of the features of each model, from its weights or in a form of its own."""

from __future__ import annotations

from sparsetoken.model.models import HardAttention, Model, Pooled, Vectorized
from sparsetoken.model.problem import SparseTokenProblem
from sparsetoken.model.stages import Query
from sparsetoken.model.tokens import isotropic_only
from sparsetoken.theory.laws.closed_forms import equal_weights, pooled_law, vectorized_law
from sparsetoken.theory.laws.feature_law import FeatureLaw
from sparsetoken.theory.laws.hard import hard_law
from sparsetoken.theory.laws.tokens import TokenFeatures

__all__ = ["feature_law", "features_of"]


def features_of(
    model: Model, problem: SparseTokenProblem, query: Query | None
) -> FeatureLaw | TokenFeatures:
    """Return the law of the features of a model if it is known, else what they are made of.

    Equation: feature-law. The query is the one that the model works with.

    Raises
    ------
    InvalidInput
        If weights overflow, or tokens are not isotropic.
    """
    isotropic_only(problem.tokens, "This result")
    if isinstance(model, Pooled):
        return pooled_law(problem)
    if isinstance(model, Vectorized):
        return vectorized_law(problem)
    assert query is not None
    if isinstance(model, HardAttention):
        return hard_law(problem, query)
    model.network.check_sharpness(query.sharpness, problem.strength * abs(query.cosine))
    features = TokenFeatures(problem, query, model.network)
    return equal_weights(features) or features


def feature_law(
    model: Model, problem: SparseTokenProblem, query: Query | None, points: int
) -> FeatureLaw:
    """Return nodes of the law of `features_of`.

    Points are those of each class and scramble, a power of two. A law that is known has its own.
    """
    features = features_of(model, problem, query)
    return features if isinstance(features, FeatureLaw) else features.law(points)
