"""Advice about a query that turns away from the signal, or does not tell tokens apart."""

from __future__ import annotations

import math

from sparsetoken.base.validation import LARGEST_VALUE
from sparsetoken.model.problem import SparseTokenProblem
from sparsetoken.model.stages import TwoSteps
from sparsetoken.theory.alignment.sign import sign_boundary

_BLUNT = 0.2  # of the sharpness: the weights of two tokens then seldom differ by a half


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


def blunt(problem: SparseTokenProblem, sharpness: float, remedy: str) -> str:
    """Return advice about a query of softmax attention of this sharpness; "" if it is large."""
    if problem.length == 1 or sharpness >= _BLUNT:
        return ""
    return (
        f"The query is blunt: its sharpness {sharpness:.3g} is far below 1, so that all "
        "tokens have nearly equal weights and attention is close to mean pooling. "
        f"Raise {remedy}."
    )
