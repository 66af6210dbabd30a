"""From a problem and a training to a prediction."""

from __future__ import annotations

import math

import numpy as np

from sparsetoken.attention import ACTIVATIONS
from sparsetoken.losses import Loss
from sparsetoken.numerics.precision import in_float64
from sparsetoken.problem import SparseTokenProblem
from sparsetoken.results import MODELS, Code, Outcome, Overlaps, Prediction, Status
from sparsetoken.theory.alignment import align
from sparsetoken.theory.feature_law import FeatureLaw, feature_law
from sparsetoken.theory.learned_error import (
    Readout,
    best_bias,
    outcome,
    solve_readout,
    test_error_spread,
)
from sparsetoken.theory.potential import Potential
from sparsetoken.training import FourStageTraining, Query
from sparsetoken.validation import LARGEST_LOAD, InvalidInput, choice, real

__all__ = ["checked_query", "predict"]

FIRST_POINTS, LAST_POINTS = 512, 2**15

_NOT_SOLVED = Status(
    Code.MAX_ITERATIONS,
    "The saddle point was not reached; try a larger ridge or, with a query, less sharpness.",
)


@in_float64
def predict(
    model: str,
    problem: SparseTokenProblem,
    training: FourStageTraining,
    alpha1: float,
    *,
    query: Query | None = None,
    activation: str = "erf",
    tolerance: float = 1e-4,
) -> Prediction:
    """Predict what a trained classifier is worth, as n0, n1, d -> infinity.

    Parameters
    ----------
    model : {"attention", "pooled", "vectorized", "elementwise"}
    problem : SparseTokenProblem
        Its position law plays no part but for ``vectorized``, where it must be uniform.
    training : FourStageTraining
        Its loss and ridge define stage 4; the rest gives the query.
    alpha1 : float
        n1 / d in [1e-6, 1e9]; ``inf`` for the limit of infinite data.
    query : Query, optional
        The frozen query; by default that of `align`. ``pooled`` and ``vectorized``
        have none. ``elementwise`` uses the query that the softmax stages find.
    activation : str
        phi of ``elementwise``: erf (1 + erf), sigmoid, tanh, relu, linear (1 + x), exp.
    tolerance : float
        Numerical error of the test error that is acceptable, in (0, 1): nodes are
        added until twice the standard error over scrambles is below it.

    Returns
    -------
    Prediction
        Use it only if ``status.converged``.

    Raises
    ------
    InvalidInput
        If a value is outside its range.
    """
    if alpha1 != math.inf:
        remedy = "inf is allowed."
        alpha1 = real("alpha1 (n1/d)", alpha1, 1e-6, LARGEST_LOAD, remedy=remedy)
    real("tolerance", tolerance, 0.0, 1.0, open_low=True, open_high=True)
    query = checked_query(model, problem, training, query, activation)
    loss, ridge = training.loss, training.ridge
    law = feature_law(model, problem, query, activation, FIRST_POINTS)
    if law.featureless:
        return _featureless(loss, problem.positive_rate)
    readout = solve_readout(Potential(law.coarse(), loss, alpha1), ridge)
    points = FIRST_POINTS
    while True:
        potential = Potential(law, loss, alpha1)
        readout = solve_readout(potential, ridge, readout)
        if not readout.converged:
            return _failed(readout)
        spread = test_error_spread(potential, ridge, readout)
        if 2 * spread <= tolerance or points >= LAST_POINTS:
            break
        points *= 2 if spread <= tolerance else 4
        law = feature_law(model, problem, query, activation, points)
    return Prediction(
        **vars(outcome(potential, readout)),
        numerical_error=spread,
        residual=readout.residual,
        iterations=readout.iterations,
        status=_status(law, spread, tolerance),
    )


def checked_query(
    model: str,
    problem: SparseTokenProblem,
    training: FourStageTraining,
    query: Query | None,
    activation: str,
) -> Query:
    """Check model, query and activation; return the query the model works with.

    That is the given one, that of `align`, or none (cosine and sharpness 0).
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
    return query if query is not None else align(problem, training).query


def _status(law: FeatureLaw, spread: float, tolerance: float) -> Status:
    if 2 * spread <= tolerance:
        return Status(Code.CONVERGED)
    reached = f"Twice the standard error is {2 * spread:.2e} with {law.C.size} nodes"
    return Status(
        Code.TOLERANCE_NOT_REACHED, f"{reached}; ask for a tolerance of {2.2 * spread:.1e}."
    )


def _failed(readout: Readout) -> Prediction:
    nan = math.nan
    return Prediction(
        test_error=nan,
        training_loss=nan,
        training_error=nan,
        auc=nan,
        overlaps=Overlaps(nan, nan, nan, nan),
        numerical_error=nan,
        residual=readout.residual,
        iterations=readout.iterations,
        status=_NOT_SOLVED,
    )


def _featureless(loss: Loss, pi: float) -> Prediction:
    """Return the prediction when all features are 0 and only the bias learns."""
    y, weight = np.array([1.0, -1.0]), np.array([pi, 1 - pi])
    b = best_bias(loss, pi)
    error = float(weight @ (y * b < 0))
    answer = Outcome(
        test_error=error,
        training_loss=float(weight @ loss.value(y, np.full(2, b))),
        training_error=error,
        auc=0.5,
        overlaps=Overlaps(0.0, 0.0, 0.0, b),
    )
    return Prediction(
        **vars(answer),
        numerical_error=0.0,
        residual=0.0,
        iterations=0,
        status=Status(Code.CONVERGED),
    )
