"""The query of a model, and advice about it."""

from __future__ import annotations

from sparsetoken.model.models import Attention, Model, require_model
from sparsetoken.model.problem import SparseTokenProblem
from sparsetoken.model.stages import Query, TwoSteps, check_query
from sparsetoken.theory.alignment.advice import blunt, turning_away
from sparsetoken.theory.alignment.limit import query_law
from sparsetoken.theory.alignment.two_steps import alignment_of
from sparsetoken.theory.spectrum import spectrum_of


def working_query(problem: SparseTokenProblem, model: Model) -> Query | None:
    """Return the query of a model, given or found by its steps, or None for a model without one.

    Raises
    ------
    InvalidInput
        If it is no model, or isotropic tokens meet a query given as a vector.
    """
    require_model(model)
    query = model.query
    check_query(query, problem.tokens)
    if isinstance(query, TwoSteps):
        return alignment_of(problem, query).query
    if not isinstance(query, Query):
        return None
    if query.vector is not None:
        law = query_law(problem, query)
        cosine = law.overlap(spectrum_of(problem)) / law.norm
        return Query(max(-1.0, min(1.0, cosine)), query.sharpness)
    return query


def advice_on(problem: SparseTokenProblem, model: Model, query: Query | None) -> tuple[str, ...]:
    """Return advice about the query, a sentence or two for each problem, with the remedy."""
    if query is None:
        return ()
    steps = model.query
    away = turning_away(problem, query.cosine) if isinstance(steps, TwoSteps) else ""
    remedy = "eta_q or beta" if isinstance(steps, TwoSteps) else "the sharpness"
    pools = blunt(problem, query.sharpness, remedy) if isinstance(model, Attention) else ""
    return tuple(filter(None, (away, pools)))
