"""The training set of stage 4 alone."""

from __future__ import annotations

from jaxtyping import Float, Int
from numpy import ndarray

from sparsetoken.problem import SparseTokenProblem
from sparsetoken.results import MODELS
from sparsetoken.simulation.design import QUERY_MODELS
from sparsetoken.simulation.trial import Setting, TrialPlan
from sparsetoken.stages import FourStageTraining, Query
from sparsetoken.validation import InvalidInput, choice, integer

__all__ = ["draw_training_set"]


def draw_training_set(
    model: str,
    problem: SparseTokenProblem,
    *,
    alpha1: float,
    query: Query | None = None,
    activation: str = "erf",
    dimension: int = 1000,
    seed: int = 0,
    trial: int = 0,
    engine: str = "reduced",
    memory_budget: int | None = None,
) -> tuple[Float[ndarray, "n m"], Int[ndarray, " n"]]:
    """Draw D1 as stage 4 sees it: pooled features and labels, for a given query.

    The reduced engine gives features in a rotated frame; neither a fit with a ridge nor
    the question of separability can tell the difference.

    Parameters
    ----------
    model, problem, alpha1, activation, dimension, seed, engine, memory_budget
        As for `simulate`.
    query : Query
        Needed for attention and elementwise.
    trial : int >= 0
        Number of the training set; others of the same seed are independent.

    Returns
    -------
    features : array of shape (n1, m)
    labels : array of shape (n1,), in {-1, +1}

    Raises
    ------
    InvalidInput
        If a value is illegal, the query is missing, or memory does not suffice.
    """
    if choice("model", model, MODELS) in QUERY_MODELS and query is None:
        raise InvalidInput("query", f"a Query for model {model!r}", query)
    setting = Setting(dimension, seed, engine, "float64")
    training = FourStageTraining()  # plays no part where the query is given
    plan = TrialPlan(model, problem, training, alpha1, query, activation, setting, memory_budget)
    _, _, design = plan.draw(integer("trial", trial, 0))
    return design.features, design.labels
