"""Predictions averaged over a query that is random at the dimension of the tokens."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from sparsetoken.model.models import Model
from sparsetoken.model.problem import SparseTokenProblem
from sparsetoken.model.stages import Query, Readout, TwoSteps
from sparsetoken.numerics.errors import stated_error
from sparsetoken.results import Prediction
from sparsetoken.results.record import fields_of, over_rows
from sparsetoken.theory.alignment.draws import (
    DRAWS,
    drawn_queries,
    randomness_advice,
)
from sparsetoken.theory.features import allowed_errors
from sparsetoken.theory.predictor import Predictor, outcome_of
from sparsetoken.theory.query import advice_on, working_query
from sparsetoken.theory.readout.accuracy import Accuracy

_FIRST, _MOST = 32, 128  # draws of the query; a mean over the most is known to a tenth of spread
_FINE = 4  # draws from which the effect of more nodes is known, which is common to all
_SHARE = 0.2  # of the spread, that twice the error of a mean over draws may be


def predict_over_draws(
    problem: SparseTokenProblem,
    model: Model,
    test_problem: SparseTokenProblem | None,
    readouts: Sequence[Readout],
    tolerance: float,
) -> list[Prediction]:
    """Return predictions of readouts of one loss, means over draws of a query that varies.

    Given the query the theory is exact. Draws are doubled, up to 128, until twice the error of the
    mean of each number is allowed by the tolerance or is a fifth of the spread: one experiment has
    one query, and its test error is off by the spread. All draws see the same nodes, so what more
    nodes change is found from a few of them.
    """
    assert isinstance(model.query, (TwoSteps, Query))
    queries = drawn_queries(problem, model.query, DRAWS)
    if not queries.norm.any():  # no step was made
        limit = Predictor(problem, model, test_problem).predictions(readouts, tolerance)
        return [dataclasses.replace(one, spread=0.0) for one in limit]
    vectors = [
        Query(vector=vector.tolist(), sharpness=float(sharpness))
        for vector, sharpness in zip(queries.vectors[:_MOST], queries.sharpness, strict=False)
    ]

    def solved(draws: Sequence[Query], accuracy: float) -> list[list[Prediction]]:
        """Return the predictions of each draw."""
        last, found = None, []
        for query in draws:
            given = dataclasses.replace(model, query=query)  # type: ignore[call-arg]
            last = Predictor(problem, given, test_problem, like=last)
            found.append(last.predictions(readouts, accuracy))
        return found

    def means(rough: list[list[Prediction]], fine: list[list[Prediction]]) -> list[_Mean]:
        places = range(len(readouts))
        return [_mean([x[i] for x in rough], [x[i] for x in fine], tolerance) for i in places]

    rough, fine = solved(vectors[:_FIRST], math.inf), list[list[Prediction]]()
    found = means(rough, fine)
    if not all(one.nodes <= 0.5 for one in found):
        fine = solved(vectors[:_FINE], min(one.tolerance for one in found) / 2)
        found = means(rough, fine)
    while len(rough) < _MOST and any(one.draws > 1 >= one.nodes for one in found):
        rough += solved(vectors[len(rough) : 2 * len(rough)], math.inf)
        found = means(rough, fine)
    advice = randomness_advice(problem, model.query)
    notes = (*advice_on(problem, model, working_query(problem, model)), *filter(None, [advice]))
    of_query: dict[str, Any] = {
        "cosine": float(np.clip(queries.cosine.mean(), -1.0, 1.0)),
        "sharpness": float(queries.sharpness.mean()),
        "notes": notes,
    }
    return [dataclasses.replace(one.prediction, **of_query) for one in found]


class _Mean(NamedTuple):
    """A mean over draws.

    Of its worst number, twice the error by nodes, and by nodes and draws, over what is allowed.
    The tolerance asks of nodes what is allowed by the spread.
    """

    prediction: Prediction
    nodes: float = 0.0
    draws: float = 0.0
    tolerance: float = math.inf


def _mean(rough: Sequence[Prediction], fine: Sequence[Prediction], tolerance: float) -> _Mean:
    """Return the mean over draws, of which the very first may be solved with more nodes, too.

    It is one that fails, if any does.
    """
    failed = next((one for one in (*rough, *fine) if not math.isfinite(one.test_error)), None)
    if failed is not None:
        return _Mean(failed)

    def split(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the values of rough draws, and what more nodes change in some of them."""
        many, few = values[: len(rough)], values[len(rough) :]
        if np.isinf(many).any():  # the susceptibility, where data can be fitted
            return many, np.zeros(len(few))
        return many, few - many[: len(few)]

    def mean(values: np.ndarray) -> float:
        many, change = split(values)
        return float(many.mean() + (change.mean() if len(change) else 0.0))

    def error(values: np.ndarray) -> float:
        many, change = split(values)
        return math.hypot(stated_error(_finite(many)), stated_error(change))

    outcomes = [outcome_of(one) for one in (*rough, *fine)]
    outcome, by_draws = over_rows(outcomes, mean), over_rows(outcomes, error)
    by_nodes = over_rows([one.errors for one in fine or rough], np.mean)
    errors = over_rows([by_draws, by_nodes], lambda both: float(np.hypot(*both)))
    spread = over_rows(outcomes[: len(rough)], lambda values: float(np.std(_finite(values))))
    unit, asked = allowed_errors(outcome, 1.0), allowed_errors(outcome, tolerance)
    allowed = {name: max(asked[name], _SHARE * spread.columns()[name]) for name in asked}
    worst = Accuracy.of(allowed, errors.columns())
    prediction = Prediction(
        **fields_of(outcome),
        errors=errors,
        numerical_error=errors.test_error,
        residual=max(one.residual for one in rough),
        iterations=sum(one.iterations for one in (*rough, *fine)),
        status=worst.status(tolerance, f"{len(rough)} draws of the query"),
        spread=spread.test_error,
    )
    relaxed = min(allowed[name] / unit[name] for name in unit if unit[name] > 0)
    nodes = Accuracy.of(allowed, by_nodes.columns()).excess
    return _Mean(prediction, nodes, worst.excess, relaxed)


def _finite(values: np.ndarray) -> np.ndarray:
    return np.where(np.isinf(values).any(), 0.0, values)
