"""The query of a model, and advice about it."""

from __future__ import annotations

import math

from sparsetoken.base.validation import LARGEST_VALUE
from sparsetoken.model.descent import Descent
from sparsetoken.model.models import Attention, Model, entry_of
from sparsetoken.model.problem import SparseTokenProblem
from sparsetoken.model.stages import Query, TwoSteps, check_query
from sparsetoken.theory.alignment.limit import query_law
from sparsetoken.theory.alignment.two_steps import align, sign_boundary
from sparsetoken.theory.spectrum import spectrum_of

_BLUNT = 0.2  # of the sharpness: the weights of two tokens then seldom differ by a half


def working_query(problem: SparseTokenProblem, model: Model) -> Query | None:
    """Return the query of a model, given or found by its steps, or None for a model without one.

    Raises
    ------
    InvalidInput
        If the model is not in the table, or isotropic tokens meet a query given as a vector.
    """
    entry_of(model)
    query = model.query
    check_query(query, problem.tokens)
    if isinstance(query, TwoSteps):
        return align(problem, query).query
    if isinstance(query, Descent):
        from sparsetoken.theory.dynamics import descended_query

        return descended_query(problem, query).query
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
    away = turning_away(problem, steps, query.cosine) if isinstance(steps, TwoSteps) else ""
    return tuple(text for text in (away, _blunt(problem, model, query)) if text)


def turning_away(problem: SparseTokenProblem, steps: TwoSteps, cosine: float) -> str:
    """Return advice about a query of this cosine; nothing ("") unless it is < 0."""
    if not cosine < 0:
        return ""
    return (
        f"The query turns away from the signal: its predicted cosine is {cosine:.3g}. "
        f"{_remedy(problem, steps)}"
    )


def _remedy(problem: SparseTokenProblem, steps: TwoSteps) -> str:
    pi, eta_b = problem.positive_rate, steps.eta_b
    turn = math.nan
    if pi < 0.5:
        most = min(eta_b + 1e3, LARGEST_VALUE)
        if eta_b < most:
            turn = sign_boundary(problem, steps, "eta_b", eta_b, most).value
        text = "The cause is rare positives: an eta_b above {:.3g} turns it back."
        text += " So can a larger positive_rate or strength."
    else:
        if eta_b > 0:
            turn = sign_boundary(problem, steps, "eta_b", 0.0, eta_b).value
        text = "The cause is too large a step of the bias: an eta_b below {:.3g} turns it back."
    if math.isnan(turn):
        return "Lower eta_w, raise alpha0, change eta_b, or raise positive_rate or strength."
    return text.format(turn)


def _blunt(problem: SparseTokenProblem, model: Model, query: Query) -> str:
    if not isinstance(model, Attention) or problem.length == 1 or query.sharpness >= _BLUNT:
        return ""
    remedy = "the sharpness"
    if isinstance(model.query, TwoSteps):
        remedy = "eta_q or beta"
    elif isinstance(model.query, Descent):
        remedy = "steps, the rate of q or the beta of the network"
    return (
        f"The query is blunt: its sharpness {query.sharpness:.3g} is far below 1, so that all "
        "tokens have nearly equal weights and attention is close to mean pooling. "
        f"Raise {remedy}."
    )
