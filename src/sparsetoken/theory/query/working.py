"""The query of a model, and advice about it."""

from __future__ import annotations

from sparsetoken.model.models import Attention, Model, require_model
from sparsetoken.model.problem import SparseTokenProblem
from sparsetoken.model.stages import Query, TwoSteps, query_cosines
from sparsetoken.theory.query.advice import low_sharpness, turning_away
from sparsetoken.theory.query.two_steps import alignment_of


def working_query(problem: SparseTokenProblem, model: Model) -> Query | None:
    """Return the query of a model, given or found by its steps, or None for a model without one.

    It has its cosine with the signal.

    Raises
    ------
    InvalidInput
        If it is no model, or its query is none of these tokens.
    """
    require_model(model)
    query = model.query
    if query is None:
        return None
    if isinstance(query, TwoSteps):
        return alignment_of(problem, query).query
    (cosine,) = query_cosines(query, ("",), problem.tokens)
    return Query(cosine, query.sharpness)


def advice_on(problem: SparseTokenProblem, model: Model, query: Query | None) -> tuple[str, ...]:
    """Return advice about the query, a sentence or two for each problem, with the remedy."""
    if query is None:
        return ()
    found = isinstance(model.query, TwoSteps)
    away = turning_away(problem, query.cosine) if found else ""
    remedy = "eta_q or beta" if found else "the sharpness"
    pools = low_sharpness(problem, query.sharpness, remedy) if isinstance(model, Attention) else ""
    return tuple(filter(None, (away, pools)))
