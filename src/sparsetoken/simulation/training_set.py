"""The training set of stage 4 alone."""

from __future__ import annotations

from jaxtyping import Float, Int
from numpy import ndarray

from sparsetoken.models import Model
from sparsetoken.problem import SparseTokenProblem
from sparsetoken.simulation.setting import Setting, dimension_of
from sparsetoken.simulation.trial import TrialPlan
from sparsetoken.stages import Readout, TwoSteps
from sparsetoken.validation import InvalidInput, integer


def draw_training_set(
    problem: SparseTokenProblem,
    model: Model,
    alpha: float,
    *,
    dimension: int | None = None,
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
    problem, dimension, seed, engine, memory_budget
        As for `simulate`.
    model : Model
        Its query, if it has one, is given as a `Query`.
    alpha : float
        n1 / d.
    trial : int >= 0
        Number of the training set; others of the same seed are independent.

    Returns
    -------
    features : array of shape (n1, m)
    labels : array of shape (n1,), in {-1, +1}

    Raises
    ------
    InvalidInput
        If a value is illegal, the query is not given, or memory does not suffice.

    Examples
    --------
    >>> import sparsetoken as st
    >>> from sparsetoken.simulation import draw_training_set
    >>> problem = st.SparseTokenProblem(length=10, informative=1, strength=5.0)
    >>> features, labels = draw_training_set(problem, st.Pooled(), 2.0, dimension=50)
    >>> features.shape, labels.shape
    ((100, 50), (100,))
    """
    plan = TrialPlan(
        problem,
        model,
        Readout(alpha1=alpha),
        Setting(dimension_of(problem, dimension), seed, engine),
        memory_budget,
    )
    if isinstance(model.query, TwoSteps):
        raise InvalidInput("query of the model", "a Query", model.query)
    design = plan.draw(integer("trial", trial, 0)).design
    return design.features, design.labels
