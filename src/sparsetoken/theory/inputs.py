"""What every prediction starts from: a checked model, its query, the numbers of nodes."""

from __future__ import annotations

from sparsetoken.attention import ACTIVATIONS
from sparsetoken.problem import SparseTokenProblem
from sparsetoken.results import MODELS
from sparsetoken.theory.advice import anti_alignment, warn_of_query
from sparsetoken.theory.alignment import align
from sparsetoken.training import FourStageTraining, Query
from sparsetoken.validation import InvalidInput, choice

__all__ = ["FIRST_POINTS", "LAST_POINTS", "checked_query", "checked_test_problem"]

FIRST_POINTS, LAST_POINTS = 512, 2**15


def checked_query(
    model: str,
    problem: SparseTokenProblem,
    training: FourStageTraining,
    query: Query | None,
    activation: str,
) -> Query:
    """Check model, query and activation; return the query the model works with.

    That is the given one, that of `align`, or none (cosine and sharpness 0). A query of
    `align` that turns away from the signal is warned of.
    """
    choice("model", model, MODELS)
    choice("activation", activation, ACTIVATIONS)
    if query is not None and not isinstance(query, Query):
        raise InvalidInput("query", "a Query or None", query)
    if model == "vectorized" and problem.position_law is not None:
        remedy = "The theory of vectorized takes positions as uniform; simulate instead."
        raise InvalidInput("position_law", "None", problem.position_law, remedy)
    if model in ("pooled", "vectorized"):
        return Query(0.0, 0.0)
    if query is not None:
        return query
    found = align(problem, training)
    warn_of_query(anti_alignment(problem, training, found.cosine), 4)  # the caller of predict
    return found.query


def checked_test_problem(
    model: str, problem: SparseTokenProblem, test_problem: SparseTokenProblem | None
) -> SparseTokenProblem:
    """Check the problem to test on; return it, or the one trained on."""
    if test_problem is None:
        return problem
    if not isinstance(test_problem, SparseTokenProblem):
        raise InvalidInput("test_problem", "a SparseTokenProblem or None", test_problem)
    if model == "vectorized":
        checked = (("length (L)", "length"), ("position_law", "position_law"))
        for name, field in checked:
            trained, tested = getattr(problem, field), getattr(test_problem, field)
            if trained != tested:
                remedy = "The weights of vectorized belong to positions."
                raise InvalidInput(f"{name} of the test problem", f"{trained}", tested, remedy)
    return test_problem
