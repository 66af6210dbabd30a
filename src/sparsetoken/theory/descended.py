"""Predictions with a query that a descent finds: its errors, its status and its notes."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np

from sparsetoken.model.models import Model
from sparsetoken.model.problem import SparseTokenProblem
from sparsetoken.model.stages import Query, Readout
from sparsetoken.results import Prediction, Status, TaskPrediction
from sparsetoken.results.record import over_rows
from sparsetoken.theory.dynamics import DescendedQuery, descended_query
from sparsetoken.theory.features import allowed_errors
from sparsetoken.theory.predictor import Predictor, outcome_of
from sparsetoken.theory.readout.accuracy import Accuracy

Predicted = TypeVar("Predicted", Prediction, TaskPrediction)

_FEW_NODES = 512  # of each class and scramble: differences on the same nodes are known far better


def predict_after_descent(
    problem: SparseTokenProblem,
    model: Model,
    test_problem: SparseTokenProblem | None,
    readouts: Sequence[Readout],
    tolerance: float,
) -> list[Prediction]:
    """Return predictions of readouts of one loss with the query that a descent finds."""
    found = descended_query(problem, model.query, tolerance)

    def on_few_nodes(cosines: Sequence[float], sharpness: float) -> list[Prediction]:
        query = Query(cosines[0], sharpness)
        return Predictor(problem, model, test_problem, _FEW_NODES, found=query).predictions(
            readouts, tolerance
        )

    predictor = Predictor(problem, model, test_problem, found=found.query)
    predictions = predictor.predictions(readouts, tolerance)
    return with_errors_of_query(predictions, on_few_nodes, found, allowed_errors, tolerance)


def with_errors_of_query(
    predictions: Sequence[Predicted],
    on_few_nodes: Callable[[Sequence[float], float], Sequence[Predicted]],
    query: DescendedQuery,
    allowed: Callable[[Any, float], Mapping[str, float]],
    tolerance: float,
) -> list[Predicted]:
    """Return predictions whose errors have the part that comes from the query.

    That part is how much each number changes where a cosine or the sharpness of the query moves by
    its error. All of these come from one descent and may err together: they are added up.

    Parameters
    ----------
    predictions : sequence of Prediction or TaskPrediction
        With the query found.
    on_few_nodes : callable
        Maps cosines and sharpness of a query to such predictions, always on the same nodes.
    query : DescendedQuery
    allowed : callable
        Maps an outcome and a tolerance to what twice the error of each number may be, by column.
    tolerance : float
    """
    moved = [on_few_nodes(*one) for one in query.shifted()]
    middle = on_few_nodes(query.cosines, query.sharpness) if moved else predictions

    def of(one: Predicted, others: Sequence[Predicted]) -> Predicted:
        change = over_rows([outcome_of(other) for other in others], _total_change)
        errors = over_rows([one.errors, change], lambda pair: np.hypot(*pair))
        status = _status(one, errors, query, allowed, tolerance)
        notes = (*one.notes, *query.notes)
        return dataclasses.replace(
            one, errors=errors, numerical_error=errors.test_error, status=status, notes=notes
        )

    return [of(one, others) for one, *others in zip(predictions, middle, *moved, strict=True)]


def _total_change(values: np.ndarray) -> np.ndarray:
    """Return the sum of what all values differ from the first by."""
    with np.errstate(invalid="ignore"):  # of a susceptibility that is infinite in all
        change = np.where(values == values[0], 0.0, np.abs(values - values[0]))
    return np.asarray(change.sum(axis=0))


def _status(
    prediction: Predicted,
    errors: Any,
    query: DescendedQuery,
    allowed: Callable[[Any, float], Mapping[str, float]],
    tolerance: float,
) -> Status:
    """Return the status of a prediction that is not converged, of its query, or of its errors."""
    if not prediction.status.converged:
        status: Status = prediction.status
        return status
    if not query.status.converged:
        return Status(query.status.code, f"Of the descent for the query: {query.status.remedy}")
    accuracy = Accuracy.of(allowed(prediction, tolerance), errors.columns())
    return accuracy.status(tolerance, "the query that the descent found")
