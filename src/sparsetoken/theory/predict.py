"""From a problem and a training to a prediction."""

from __future__ import annotations

import dataclasses
import functools
import math

from sparsetoken.numerics.precision import in_float64
from sparsetoken.problem import SparseTokenProblem
from sparsetoken.results import Code, Overlaps, Prediction, Status
from sparsetoken.theory.advice import loss_to_pooling, warn_of_query
from sparsetoken.theory.curve import FIRST_POINTS, solve_along
from sparsetoken.theory.feature_law import feature_law
from sparsetoken.theory.inputs import (
    checked_query,
    checked_test_problem,
)
from sparsetoken.theory.learned_error import outcome_without_features
from sparsetoken.theory.ridgeless import Stage, ridgeless_stage
from sparsetoken.training import FourStageTraining, Query
from sparsetoken.validation import LARGEST_LOAD, real

__all__ = ["checked_query", "predict"]

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
    test_problem: SparseTokenProblem | None = None,
    tolerance: float = 1e-4,
) -> Prediction:
    """Predict what a trained classifier is worth, as n0, n1, d -> infinity.

    Parameters
    ----------
    model : {"attention", "pooled", "vectorized", "elementwise"}
    problem : SparseTokenProblem
        Its position law plays no part but for ``vectorized``, where it must be uniform.
    training : FourStageTraining
        Its loss and ridge define stage 4; the rest gives the query. Ridge 0 is the limit
        lambda -> 0+. Below the interpolation threshold of the square loss, or the capacity
        for other losses, the overlaps are then those of the shortest readout that fits
        exactly, with margin 1 for logistic and hinges. The norm of the logistic readout
        diverges there: only its direction, errors and AUC have this limit.
    alpha1 : float
        n1 / d in [1e-6, 1e9]; ``inf`` for the limit of infinite data.
    query : Query, optional
        The frozen query; by default that of `align`. ``pooled`` and ``vectorized``
        have none. ``elementwise`` uses the query that the softmax stages find.
    activation : str
        phi of ``elementwise``: erf (1 + erf), sigmoid, tanh, relu, linear (1 + x), exp.
    test_problem : SparseTokenProblem, optional
        The problem of new data, on which test error and AUC are predicted; by default the
        one trained on. For ``vectorized`` it must have the same length.
    tolerance : float
        Numerical error of the test error that is acceptable, in (0, 1): nodes are
        added until twice the standard error over scrambles is below it.

    Returns
    -------
    Prediction
        Use it only if ``status.converged``. At ridge 0 and on the threshold the status is
        NO_LIMIT.

    Raises
    ------
    InvalidInput
        If a value is outside its range, or the ridge is 0 with a loss of one's own.

    Warns
    -----
    QueryWarning
        If the query comes from the training and turns away from the signal, or if
        attention with it has a larger test error than the pooled model.
    """
    if alpha1 != math.inf:
        remedy = "inf is allowed."
        alpha1 = real("alpha1 (n1/d)", alpha1, 1e-6, LARGEST_LOAD, remedy=remedy)
    real("tolerance", tolerance, 0.0, 1.0, open_low=True, open_high=True)
    given = query
    query = checked_query(model, problem, training, given, activation)
    tested = checked_test_problem(model, problem, test_problem)
    laws = functools.cache(functools.partial(feature_law, model, problem, query, activation))
    law = laws(FIRST_POINTS)
    if law.featureless:
        return _featureless(training, problem.positive_rate, alpha1, tested.positive_rate)
    stage = Stage(training.loss, training.ridge)
    if stage.ridge == 0:
        stage = ridgeless_stage(model, problem, stage.loss, alpha1, query, activation, law)
    if not stage.status.converged:
        return _without_readout(stage.status)
    shifted = None
    if tested != problem:
        shifted = functools.partial(feature_law, model, tested, query, activation)
    (found,) = solve_along(laws, stage.loss, [(alpha1, stage.ridge)], tolerance, test_laws=shifted)
    if found.outcome is None:
        return _without_readout(_NOT_SOLVED, found.saddle.residual, found.saddle.iterations)
    answer = found.outcome
    if stage.fits_exactly:
        answer = dataclasses.replace(answer, training_loss=0.0, training_error=0.0)
    prediction = Prediction(
        **vars(answer),
        susceptibility=math.inf if stage.fits_exactly else found.susceptibility,
        numerical_error=found.numerical_error,
        residual=found.saddle.residual,
        iterations=found.saddle.iterations,
        status=_status(found.nodes, found.numerical_error, tolerance),
    )
    if given is None and model == "attention" and query.cosine >= 0:
        pooled = predict("pooled", problem, training, alpha1, test_problem=test_problem)
        warn_of_query(loss_to_pooling(query, prediction, pooled), 3)  # the caller of predict
    return prediction


def _status(nodes: int, spread: float, tolerance: float) -> Status:
    if 2 * spread <= tolerance:
        return Status(Code.CONVERGED)
    reached = f"Twice the standard error is {2 * spread:.2e} with {nodes} nodes"
    return Status(
        Code.TOLERANCE_NOT_REACHED, f"{reached}; ask for a tolerance of {2.2 * spread:.1e}."
    )


def _without_readout(status: Status, residual: float = math.nan, iterations: int = 0) -> Prediction:
    nan = math.nan
    return Prediction(
        test_error=nan,
        training_loss=nan,
        training_error=nan,
        auc=nan,
        overlaps=Overlaps(nan, nan, nan, nan),
        susceptibility=nan,
        numerical_error=nan,
        residual=residual,
        iterations=iterations,
        status=status,
    )


def _featureless(
    training: FourStageTraining, pi: float, alpha1: float, test_pi: float
) -> Prediction:
    """Return the prediction when all features are 0 and only the bias learns."""
    ridge = training.ridge
    answer = outcome_without_features(training.loss, pi, test_pi)
    return Prediction(
        **vars(answer),
        susceptibility=1 / (ridge * alpha1) if ridge > 0 else math.inf,
        numerical_error=0.0,
        residual=0.0,
        iterations=0,
        status=Status(Code.CONVERGED),
    )
