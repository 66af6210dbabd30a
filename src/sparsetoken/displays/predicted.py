"""The learning curves that the theory predicts for classifiers that choose for themselves."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from jaxtyping import Float

from sparsetoken.problem import SparseTokenProblem
from sparsetoken.results import Prediction
from sparsetoken.training import FourStageTraining, Query
from sparsetoken.validation import InvalidInput, choice, integer, real

__all__ = ["PREDICTED", "predicted_errors"]

PREDICTED = ("attention", "pooled", "vectorized")
RIDGES = (1e-2, 1e-1, 1.0)
SHARPNESS = (1.0, 2.0, 4.0)
TOLERANCE = 5e-3  # of test errors: less than the width of a line


def predicted_errors(
    model: str, problem: SparseTokenProblem, dimension: float, n: Sequence[int]
) -> Float[np.ndarray, " m"]:
    """Predict the test errors of a classifier that chooses ridge and sharpness itself.

    All n bags serve the query and the readout, as if they were different bags: each pools with
    a query that has not seen it. The query is the better aligned of two: the readout of the
    mean token, and two gradient steps. Ridge and sharpness are the best of a grid; sharpness 0
    is mean pooling.

    Parameters
    ----------
    model : {"attention", "pooled", "vectorized"}
    problem : SparseTokenProblem
        Of tokens with noise of variance 1 in every direction.
    dimension : float
        d > 0; an effective dimension need not be whole.
    n : sequence of int
        Numbers of training bags, each >= 1.

    Returns
    -------
    array of shape (m,)
        nan where no prediction converged.

    Raises
    ------
    InvalidInput
        If a value is outside its range.
    """
    choice("model", model, PREDICTED)
    d = real("dimension (d)", dimension, 0.0, open_low=True)
    if not isinstance(problem, SparseTokenProblem):
        raise InvalidInput("problem", "a SparseTokenProblem", type(problem).__name__)
    alphas = [integer("n", size, 1) / d for size in n]
    if model != "attention":
        return np.array([_least(_linear(model, problem, alpha)) for alpha in alphas])
    return np.array([_attention(problem, alpha) for alpha in alphas])


def _predicted(
    model: str, problem: SparseTokenProblem, alpha: float, ridge: float, query: Query | None = None
) -> Prediction:
    """Return what the theory predicts for alpha = n / d: the one call of `predict`."""
    from sparsetoken.theory import predict

    training = FourStageTraining(ridge=ridge)
    return predict(model, problem, training, alpha, query=query, tolerance=TOLERANCE)


def _two_step_cosine(problem: SparseTokenProblem, alpha: float) -> float:
    """Return the cosine of the query of two steps with the signal: the one call of `align`."""
    from sparsetoken.theory import align

    return align(problem, FourStageTraining(alpha0=alpha)).cosine


def _linear(model: str, problem: SparseTokenProblem, alpha: float) -> list[Prediction]:
    return [_predicted(model, problem, alpha, ridge) for ridge in RIDGES]


def _attention(problem: SparseTokenProblem, alpha: float) -> float:
    pooled = _linear("pooled", problem, alpha)
    cosine = max(_tied_cosine(pooled), _two_step_cosine(problem, alpha))
    attended = [
        _predicted("attention", problem, alpha, ridge, Query(min(1.0, cosine), k))
        for ridge in RIDGES
        for k in SHARPNESS
    ]
    return _least([*pooled, *attended])


def _tied_cosine(pooled: Sequence[Prediction]) -> float:
    """Return the cosine of the best readout of the mean token with the signal."""
    best = min(pooled, key=lambda one: one.test_error if one.status.converged else math.inf)
    w = best.overlaps
    length = math.hypot(w.orthogonal, w.noise)
    cosine = w.orthogonal / length if length > 0 else 0.0
    return cosine if math.isfinite(cosine) else 0.0


def _least(predictions: Sequence[Prediction]) -> float:
    found = [p.test_error for p in predictions if p.status.converged]
    return min(found, default=math.nan)
