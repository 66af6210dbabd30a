"""Advice about a query that turns away from the signal, or does not tell tokens apart."""

from __future__ import annotations

from sparsetoken.model.problem import SparseTokenProblem

_LOW = 0.2  # of the sharpness: the weights of two tokens then seldom differ by a half


def turning_away(problem: SparseTokenProblem, cosine: float) -> str:
    """Return advice about a query of this cosine after two steps; nothing ("") unless it is < 0."""
    if not cosine < 0:
        return ""
    remedy = "Lower eta_b or eta_w, or raise alpha0 or strength."
    if problem.positive_rate < 0.5:
        remedy = "With rare positives a larger eta_b, positive_rate or strength can turn it back."
    text = f"The query turns away from the signal: its predicted cosine is {cosine:.3g}."
    return f"{text} {remedy}"


def low_sharpness(problem: SparseTokenProblem, sharpness: float, remedy: str) -> str:
    """Return advice about a query of softmax attention of this sharpness; "" if it is large."""
    if problem.length == 1 or sharpness >= _LOW:
        return ""
    return (
        f"The sharpness of the query, {sharpness:.3g}, is far below 1, so that all "
        "tokens have nearly equal weights and attention is close to mean pooling. "
        f"Raise {remedy}."
    )
