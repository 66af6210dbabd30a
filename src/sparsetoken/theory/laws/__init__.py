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

    See Also
    --------
    FeatureLaw : The law of the features of a model.
    sparsetoken.model.entry_of : The entry of a model.

    Examples
    --------
    >>> import sparsetoken as st
    >>> from sparsetoken.theory import feature_law
    >>> problem = st.SparseTokenProblem(length=10, informative=1, strength=5.0)
    >>> law = feature_law(st.Pooled(), problem, None, 64)
    >>> law.exact, round(float(law.C[0, 0]), 4)
    (True, 0.3162)
    """
    isotropic_only(problem.tokens, "This result")
    law: FeatureLaw = entry_of(model).resolve("theory")(model, problem, query, points)
    return law
