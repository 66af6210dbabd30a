"""What to say of a query that does harm, with the remedy: one source for all who warn."""

from __future__ import annotations

import math
import warnings

from sparsetoken.problem import SparseTokenProblem
from sparsetoken.results import Prediction
from sparsetoken.theory.sign_boundary import sign_boundary
from sparsetoken.training import FourStageTraining, Query
from sparsetoken.validation import LARGEST_VALUE

__all__ = ["QueryWarning", "anti_alignment", "loss_to_pooling", "warn_of_query"]


class QueryWarning(UserWarning):
    """The query that a training finds is predicted to do harm.

    It points away from the signal, or attention with it loses to mean pooling. Silence
    it with ``warnings.simplefilter("ignore", QueryWarning)``.
    """


def anti_alignment(problem: SparseTokenProblem, training: FourStageTraining, cosine: float) -> str:
    """Return what to say of a query of this cosine; nothing ("") unless it is < 0."""
    if not cosine < 0:
        return ""
    return (
        f"The query turns away from the signal: its predicted cosine is {cosine:.3g}. "
        f"{_remedy(problem, training)}"
    )


def _remedy(problem: SparseTokenProblem, training: FourStageTraining) -> str:
    pi, eta_b = problem.positive_rate, training.eta_b
    turn = math.nan
    if pi < 0.5:
        most = min(eta_b + 1e3, LARGEST_VALUE)
        if eta_b < most:
            turn = sign_boundary(problem, training, "eta_b", eta_b, most).value
        text = "Rare positives do this: an eta_b above {:.3g} turns it back."
        text += " So can a larger positive_rate or strength."
    else:
        if eta_b > 0:
            turn = sign_boundary(problem, training, "eta_b", 0.0, eta_b).value
        text = "Too large a step of the bias does this: an eta_b below {:.3g} turns it back."
    if math.isnan(turn):
        return "Lower eta_w, raise alpha0, change eta_b, or raise positive_rate or strength."
    return text.format(turn)


def loss_to_pooling(query: Query, attention: Prediction, pooled: Prediction) -> str:
    """Return what to say of attention that pooling beats; nothing ("") if it does not.

    Nothing is said either where the two differ by no more than the numerical error.
    """
    if not attention.test_error - 2 * attention.numerical_error > pooled.test_error:
        return ""
    return (
        f"Attention with this query (cosine {query.cosine:.3g}, sharpness {query.sharpness:.3g}) "
        f"loses to mean pooling: predicted test error {attention.test_error:.4g} against "
        f"{pooled.test_error:.4g}. Raise alpha0 for a larger cosine, change eta_q or beta for "
        "another sharpness, or take the pooled model; check_query tells the cosine that is needed."
    )


def warn_of_query(text: str, stacklevel: int) -> None:
    """Raise a `QueryWarning` if there is anything to say."""
    if text:
        warnings.warn(text, QueryWarning, stacklevel=stacklevel + 1)
