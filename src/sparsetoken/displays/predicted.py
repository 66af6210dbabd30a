"""The learning curves that the theory predicts for classifiers that choose for themselves."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Float

from sparsetoken.problem import SparseTokenProblem
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
    loads = [integer("n", size, 1) / d for size in n]
    if model != "attention":
        return np.array([_least(_linear(model, problem, load)) for load in loads])
    return np.array([_attention(problem, load) for load in loads])


def _trainings(load: float) -> list[FourStageTraining]:
    return [FourStageTraining(alpha0=load, ridge=ridge) for ridge in RIDGES]


def _linear(model: str, problem: SparseTokenProblem, load: float) -> list[Any]:
    from sparsetoken.theory import predict

    return [
        predict(model, problem, training, load, tolerance=TOLERANCE)
        for training in _trainings(load)
    ]


def _attention(problem: SparseTokenProblem, load: float) -> float:
    from sparsetoken.theory import predict

    pooled = _linear("pooled", problem, load)
    cosine = _cosine(problem, load, pooled)
    attended = [
        predict("attention", problem, training, load, query=Query(cosine, k), tolerance=TOLERANCE)
        for training in _trainings(load)
        for k in SHARPNESS
    ]
    return _least([*pooled, *attended])


def _cosine(problem: SparseTokenProblem, load: float, pooled: Sequence[Any]) -> float:
    """Return the larger cosine with the signal: of the mean token's readout, or of two steps."""
    from sparsetoken.theory import align

    best = min(pooled, key=lambda one: one.test_error if one.status.converged else math.inf)
    w = best.overlaps
    length = math.hypot(w.orthogonal, w.noise)
    tied = w.orthogonal / length if length > 0 else 0.0
    steps = align(problem, FourStageTraining(alpha0=load)).cosine
    return min(1.0, max(tied if math.isfinite(tied) else 0.0, steps))


def _least(predictions: Sequence[Any]) -> float:
    found = [p.test_error for p in predictions if p.status.converged]
    return min(found, default=math.nan)
