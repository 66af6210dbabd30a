"""Predicted learning curves of classifiers that select ridge and sharpness."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float

from sparsetoken.models import Attention, Model, Pooled, make_model
from sparsetoken.problem import SparseTokenProblem
from sparsetoken.stages import Query, Readout, TwoSteps
from sparsetoken.validation import InvalidInput, choice, integer, real
from sparsetoken.values import require_numbers

if TYPE_CHECKING:
    from sparsetoken.results import Prediction

PREDICTED = ("attention", "pooled", "vectorized")
RIDGES = (1e-2, 1e-1, 1.0)
SHARPNESS = (1.0, 2.0, 4.0)
TOLERANCE = 5e-3  # of test errors: less than the width of a line


def predicted_errors(
    model: str, problem: SparseTokenProblem, dimension: float, n: Sequence[int]
) -> Float[np.ndarray, " m"]:
    """Predict the test errors of a classifier that selects ridge and sharpness.

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

    See Also
    --------
    BagLearningCurveDisplay : A picture of measured and predicted errors.
    sparsetoken.forecast : Test errors with more labels.

    Examples
    --------
    >>> import sparsetoken as st
    >>> from sparsetoken.displays import predicted_errors
    >>> problem = st.SparseTokenProblem(length=10, informative=1, strength=5.0)
    >>> predicted_errors("pooled", problem, 50.0, [50, 200]).round(2).tolist()
    [0.31, 0.25]
    """
    choice("model", model, PREDICTED)
    d = real("dimension (d)", dimension, 0.0, open_low=True)
    if not isinstance(problem, SparseTokenProblem):
        raise InvalidInput("problem", "a SparseTokenProblem", type(problem).__name__)
    require_numbers(problem)
    alpha = np.array([integer("n", size, 1) for size in n]) / d
    if model == "attention":
        return _attention(problem, alpha)
    return _least(_predicted(problem, make_model(model), alpha[:, None], np.array(RIDGES)))


def _predicted(
    problem: SparseTokenProblem,
    model: Model,
    alpha: Float[np.ndarray, ...],
    ridge: Float[np.ndarray, ...],
) -> Prediction:
    """Return the predictions over alpha = n / d, ridge, and what arrays the model has."""
    from sparsetoken.theory import predict

    readout = Readout(ridge=ridge, alpha1=alpha)
    return predict(problem, model, readout, tolerance=TOLERANCE, progress=False)


def _attention(
    problem: SparseTokenProblem, alpha: Float[np.ndarray, " m"]
) -> Float[np.ndarray, " m"]:
    """Return the smallest error over ridge and sharpness; sharpness 0 is mean pooling."""
    from sparsetoken.theory import align

    pooled = _predicted(problem, Pooled(), alpha[:, None], np.array(RIDGES))
    two_step = align(problem, TwoSteps(alpha0=alpha)).cosine
    cosine = np.clip(np.maximum(_tied_cosine(pooled), two_step), None, 1.0)
    query = Query(cosine[:, None, None], np.array(SHARPNESS)[:, None])
    attended = _predicted(problem, Attention(query), alpha[:, None, None], np.array(RIDGES))
    return np.fmin(_least(pooled), _least(attended))


def _tied_cosine(pooled: Prediction) -> Float[np.ndarray, " m"]:
    """Return the cosine with the signal of the best readout of the mean token, at each alpha."""
    signal, noise = pooled.overlaps.orthogonal, pooled.overlaps.noise
    length = np.hypot(signal, noise)
    cosines = np.divide(signal, length, out=np.zeros(pooled.shape), where=length > 0)
    best = _errors(pooled).argmin(axis=1)
    return np.take_along_axis(cosines, best[:, None], axis=1)[:, 0]


def _errors(found: Prediction) -> Float[np.ndarray, ...]:
    """Return the test errors; infinity where a prediction did not converge."""
    return np.where(found.status == "converged", found.test_error, np.inf)


def _least(found: Prediction) -> Float[np.ndarray, " m"]:
    """Return the least test error at each alpha; nan where no prediction converged."""
    least = _errors(found).reshape(len(found), -1).min(axis=1)
    return np.where(np.isfinite(least), least, np.nan)
