"""Predictions averaged over a query that is random at the dimension of the tokens."""

from __future__ import annotations

import dataclasses
import itertools
import math
import operator
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from sparsetoken.model.descent import Descent
from sparsetoken.model.models import Model
from sparsetoken.model.problem import SparseTokenProblem
from sparsetoken.model.stages import Query, QueryVector, Readout, TwoSteps
from sparsetoken.numerics.errors import stated_error
from sparsetoken.results import Overlaps, Prediction, ReadoutOutcome, StatusCode
from sparsetoken.results.record import fields_of
from sparsetoken.theory.alignment.draws import (
    DRAWS,
    DrawnQueries,
    drawn_queries,
    may_vary,
    randomness_advice,
)
from sparsetoken.theory.features import allowed_errors
from sparsetoken.theory.predictor import Predictor
from sparsetoken.theory.query import advice_on, working_query
from sparsetoken.theory.readout.accuracy import TOLERANCE, Accuracy

_FIRST, _MOST = 32, 384  # draws that are solved; the first tell the spread to a twentieth
_FINE = 4  # draws from which the effect of more nodes is known, which is common to all
_SHARE = 0.1  # of the spread, to which the mean over draws is known


def predictions_of(
    problem: SparseTokenProblem,
    model: Model,
    test_problem: SparseTokenProblem | None,
    readouts: Sequence[Readout],
    tolerance: float,
) -> list[Prediction]:
    """Return predictions of readouts of one loss, means over draws of a query that may vary."""
    if isinstance(model.query, Descent):
        from sparsetoken.theory.descended import predict_after_descent  # with JAX

        return predict_after_descent(problem, model, test_problem, readouts, tolerance)
    if not may_vary(model.query, problem):
        return Predictor(problem, model, test_problem).predictions(readouts, tolerance)
    predictions = predict_over_draws(
        problem, model, readouts, tolerance=tolerance, test_problem=test_problem
    )
    advice = randomness_advice(problem, model.query)
    notes = (*advice_on(problem, model, working_query(problem, model)), *filter(None, [advice]))
    return [dataclasses.replace(one, notes=notes) for one in predictions]


def predict_over_draws(
    problem: SparseTokenProblem,
    model: Model,
    readouts: Sequence[Readout],
    *,
    tolerance: float = TOLERANCE,
    test_problem: SparseTokenProblem | None = None,
    draws: int = DRAWS,
) -> list[Prediction]:
    """Predict readouts of one loss for a query that is random at the dimension of the tokens.

    Given the query the theory is exact. The outcome of a readout depends on the query of a
    `TwoSteps` or a `Query` through tau = theta <q, xi>/sigma and the sharpness, which fix the law
    of the scores of tokens, and only weakly on the rest of its direction. So queries are drawn in
    great number, and readouts solved at the first of them. A quadratic function of (tau, log
    sharpness), fitted by least squares, is a control variate: its mean over all draws is known.
    The numerical error has the part of the nodes, which all draws have in common, that of the
    draws and that of the fit. More draws are solved, until twice that error is allowed by the
    tolerance or is a tenth of the spread: one experiment has one query, and its test error is off
    by the spread. What more nodes change is found from a few of the draws. Where their error is
    too large itself, no more draws are solved.
    """
    assert isinstance(model.query, (TwoSteps, Query))
    queries = drawn_queries(problem, model.query, draws)
    if not queries.norm.any():  # no step was made
        limit = Predictor(problem, model, test_problem).predictions(readouts, tolerance)
        return [dataclasses.replace(one, spread=0.0) for one in limit]
    columns, number, most = _quadratic(queries), min(_FIRST, draws), min(_MOST, draws)
    solved: list[list[Prediction]] = []
    fine: list[list[Prediction]] = []

    def solve(some: list[list[Prediction]], count: int, accuracy: float) -> None:
        last = None
        for draw in range(len(some), count):
            vector = QueryVector(queries.vectors[draw].tolist(), float(queries.sharpness[draw]))
            given = dataclasses.replace(model, query=vector)  # type: ignore[call-arg]
            last = Predictor(problem, given, test_problem, like=last)
            some.append(last.predictions(readouts, accuracy))

    while True:
        solve(solved, number, math.inf)
        means = [
            _mean([one[i] for one in solved], [one[i] for one in fine], columns, tolerance)
            for i in range(len(readouts))
        ]
        short = [
            one for one in means if one.prediction.status.code is StatusCode.TOLERANCE_NOT_REACHED
        ]
        if not fine and any(one.nodes > one.sampling for one in short):
            solve(fine, min(_FINE, number), min(one.tolerance for one in means) / 2)
        elif number < most and any(one.nodes_are_enough for one in short):
            number = min(2 * number, most)
        else:
            cosine = float(np.clip(queries.cosine.mean(), -1.0, 1.0))
            sharpness = float(queries.sharpness.mean())
            return [
                dataclasses.replace(one.prediction, cosine=cosine, sharpness=sharpness)
                for one in means
            ]


def _quadratic(queries: DrawnQueries) -> np.ndarray:
    """Return the monomials up to degree 2 of tau and the logarithm of the sharpness."""
    places = np.stack([queries.projected, np.log(np.maximum(queries.sharpness, 1e-300))])
    places -= places.mean(axis=1, keepdims=True)
    size = places.std(axis=1)
    varies = size > 1e-9  # rounding
    linear = [np.ones(places.shape[1]), *places[varies] / size[varies, None]]
    pairs = itertools.combinations_with_replacement(linear, 2)
    return np.stack([one * other for one, other in pairs], axis=1)


_FIELDS = ("test_error", "training_loss", "training_error", "auc", "susceptibility")
_OVERLAPS = ("query", "orthogonal", "noise", "bias")
_NUMBERS = (*_FIELDS, *(f"overlaps.{name}" for name in _OVERLAPS))


class _Mean(NamedTuple):
    """A mean over draws, and the parts, by nodes and by draws, of the error of its worst number.

    What the effect of more nodes differs by at a few draws belongs to the part of the nodes. What
    is allowed is twice an error.
    """

    prediction: Prediction
    nodes: float = 0.0
    sampling: float = 0.0
    allowed: float = math.inf
    tolerance: float = math.inf

    @property
    def nodes_are_enough(self) -> bool:
        """Whether more draws may reach the tolerance: the error by nodes alone is allowed."""
        return 2 * self.nodes <= self.allowed


def _mean(
    solved: Sequence[Prediction], fine: Sequence[Prediction], columns: np.ndarray, tolerance: float
) -> _Mean:
    """Return the mean over all draws, of which the first are solved; one that fails, if any.

    The very first may be solved with more nodes, too.
    """
    failed = next((one for one in (*solved, *fine) if not math.isfinite(one.test_error)), None)
    if failed is not None:
        return _Mean(failed)
    get = operator.attrgetter(*_NUMBERS)
    values, better = np.array([get(one) for one in solved]), np.array([get(one) for one in fine])
    infinite = ~np.isfinite(values).all(axis=0)  # the susceptibility, where data can be fitted
    values[:, infinite] = 0.0
    inverse = np.linalg.pinv(columns[: len(solved)])
    fitted = columns @ (inverse @ values)
    left = values - fitted[: len(solved)]
    missing = np.square(left).sum(axis=0) / max(len(solved) - columns.shape[1], 1)
    varied, weights = np.var(fitted, axis=0), columns.mean(axis=0) @ inverse
    sampling = np.sqrt(varied / len(columns) + missing * float(weights @ weights))
    spread = np.sqrt(varied + missing)
    nodes = np.mean([get(one.errors) for one in fine or solved], axis=0)
    mean = fitted.mean(axis=0)
    if fine:
        change = better - values[: len(fine)]
        mean += change.mean(axis=0)
        nodes = np.hypot(nodes, stated_error(change))
    mean[infinite] = math.inf
    error = np.hypot(nodes, sampling)
    outcome, errors = _outcome(mean), _outcome(error)
    shares = _outcome(_SHARE * spread).columns()
    allowed = {
        name: max(most, float(shares[name]))
        for name, most in allowed_errors(outcome, tolerance).items()
    }
    worst = Accuracy.of(allowed, errors.columns())
    prediction = Prediction(
        **fields_of(outcome),
        errors=errors,
        numerical_error=errors.test_error,
        residual=max(one.residual for one in solved),
        iterations=sum(one.iterations for one in solved),
        status=worst.status(tolerance, f"{len(solved)} draws of the query"),
        spread=spread[0],
    )
    by_nodes, by_draws = (float(_outcome(part).columns()[worst.name]) for part in (nodes, sampling))
    unit = allowed_errors(outcome, 1.0)[worst.name]
    asked = worst.allowed / unit if unit > 0 else tolerance
    return _Mean(prediction, by_nodes, by_draws, worst.allowed, asked)


def _outcome(numbers: np.ndarray) -> ReadoutOutcome:
    """Return the outcome with numbers in the order of `_NUMBERS`."""
    overlaps = Overlaps(*numbers[-len(_OVERLAPS) :])
    return ReadoutOutcome(**dict(zip(_FIELDS, numbers, strict=False)), overlaps=overlaps)
