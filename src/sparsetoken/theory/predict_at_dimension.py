"""Predictions with the query of two steps at finite dimension: means over its draws."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from sparsetoken.base.validation import InvalidInput
from sparsetoken.model.models import Model
from sparsetoken.model.problem import SparseTokenProblem
from sparsetoken.model.stages import Query, Readout, TwoSteps
from sparsetoken.numerics.errors import stated_error
from sparsetoken.results import Prediction
from sparsetoken.results.record import over_rows
from sparsetoken.theory.accuracy import Accuracy, sizes_of
from sparsetoken.theory.query.finite_dimension import drawn_queries
from sparsetoken.theory.query.working import advice_on, working_query
from sparsetoken.theory.readout.model_features import allowed_errors
from sparsetoken.theory.readout.predictor import Predictor, outcome_of

_DRAWS = 128  # of the query: a mean is known to 1/11 of the spread
_SHARE = 0.2  # of the spread, that twice the error of a mean over draws may be


def predict_at(
    problem: SparseTokenProblem,
    model: Model,
    test_problem: SparseTokenProblem | None,
    readouts: Sequence[Readout],
    tolerance: float,
    dimension: int,
) -> list[Prediction]:
    """Return predictions of readouts of one loss, means over draws of the query of a model.

    Given the query the theory is that of the limit. All draws have the same nodes, whose errors
    they share.

    Raises
    ------
    InvalidInput
        If the query of the model is not found by two steps, or tokens have another dimension.
    """
    steps = getattr(model, "query", None)
    if not isinstance(steps, TwoSteps):
        legal = "left out where no query is found by two steps"
        raise InvalidInput("dimension (d)", legal, dimension, "Only that query depends on it.")
    isotropic = problem.tokens.dimension is None
    drawn = drawn_queries(problem, steps, dimension, vectors=0 if isotropic else _DRAWS)
    of_draws: list[list[Prediction]] = []
    last = None
    for i in range(_DRAWS):
        sharpness = float(drawn.sharpness[i])
        query = (
            Query(min(max(float(drawn.cosine[i]), -1.0), 1.0), sharpness)
            if isotropic or sharpness == 0
            else Query(vector=drawn.vectors[i].tolist(), sharpness=sharpness)
        )
        given = dataclasses.replace(model, query=query)  # type: ignore[call-arg]
        last = Predictor(problem, given, test_problem, like=last)
        of_draws.append(last.predictions(readouts, tolerance))
    of_query: dict[str, Any] = {
        "cosine": float(np.clip(drawn.cosine.mean(), -1.0, 1.0)),
        "sharpness": float(drawn.sharpness.mean()),
        "notes": advice_on(problem, model, working_query(problem, model)),
    }
    return [
        dataclasses.replace(_mean(list(each), tolerance), **of_query)
        for each in zip(*of_draws, strict=True)
    ]


def _mean(draws: Sequence[Prediction], tolerance: float) -> Prediction:
    """Return the mean over draws; one that fails, if any does."""
    failed = next((one for one in draws if not math.isfinite(one.test_error)), None)
    if failed is not None:
        return failed
    outcomes = [outcome_of(one) for one in draws]

    def finite(values: np.ndarray) -> np.ndarray:
        """Return 0 for the susceptibility where data are fitted: it is infinite."""
        return np.where(np.isinf(values).any(), 0.0, values)

    outcome = over_rows(outcomes, lambda values: float(values.mean()))
    by_draws = over_rows(outcomes, lambda values: float(stated_error(finite(values))))
    by_nodes = over_rows([one.errors for one in draws], np.mean)
    errors = over_rows([by_draws, by_nodes], lambda both: float(np.hypot(*both)))
    spread = over_rows(outcomes, lambda values: float(np.std(finite(values))))
    asked = allowed_errors(outcome, tolerance)
    allowed = {name: max(asked[name], _SHARE * spread.columns()[name]) for name in asked}
    accuracy = Accuracy.of(allowed, errors.columns(), sizes_of(outcome))
    return Prediction.of(
        outcome,
        errors=errors,
        numerical_error=errors.test_error,
        residual=max(one.residual for one in draws),
        iterations=sum(one.iterations for one in draws),
        status=accuracy.status(tolerance, f" with {len(draws)} draws of the query"),
        spread=spread.test_error,
    )
