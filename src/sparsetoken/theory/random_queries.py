"""Predictions averaged over a query that is random at the dimension of the tokens."""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Callable, Sequence

import numpy as np
import scipy

from sparsetoken.model.models import Model
from sparsetoken.model.problem import SparseTokenProblem
from sparsetoken.model.stages import Query, QueryVector, Readout, TwoSteps
from sparsetoken.results import Overlaps, Prediction
from sparsetoken.theory.alignment.draws import (
    DRAWS,
    DrawnQueries,
    drawn_queries,
    may_vary,
    randomness_advice,
)
from sparsetoken.theory.predictor import Predictor
from sparsetoken.theory.query import advice_on, working_query
from sparsetoken.theory.readout.accuracy import TOLERANCE, allowed_error, status_of

_FIRST, _MOST = 12, 48  # draws that the spline goes through; one more check it
_SHARE = 0.1  # of the spread, to which the mean over draws is known


def predictions_of(
    problem: SparseTokenProblem,
    model: Model,
    test_problem: SparseTokenProblem | None,
    readouts: Sequence[Readout],
    tolerance: float,
) -> list[Prediction]:
    """Return predictions of readouts of one loss, means over draws of a query that may vary."""
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
    great number, and readouts solved at a few. A thin-plate spline in (tau, log sharpness) through
    draws that are far apart, solved with few nodes, is a control variate: its mean over all draws
    is known, and a linear regression of what it leaves out at a random sample of them gives the
    rest. The numerical error has the part of the nodes, which all draws have in common, that of
    the draws and that of the regression. Draws are added, or those of the sample solved with more
    nodes, until twice that error is allowed by the tolerance or is a tenth of the spread: one
    experiment has one query, and its test error is off by the spread.
    """
    assert isinstance(model.query, (TwoSteps, Query))
    queries = drawn_queries(problem, model.query, draws)
    if not queries.norm.any():  # no step was made
        limit = Predictor(problem, model, test_problem).predictions(readouts, tolerance)
        return [dataclasses.replace(one, spread=0.0) for one in limit]

    def solver(accuracy: float) -> Callable[[int], list[Prediction]]:
        last = None

        @functools.cache
        def solve(draw: int) -> list[Prediction]:
            nonlocal last
            vector = QueryVector(queries.vectors[draw].tolist(), float(queries.sharpness[draw]))
            given = dataclasses.replace(model, query=vector)  # type: ignore[call-arg]
            last = Predictor(problem, given, test_problem, like=last)
            return last.predictions(readouts, accuracy)

        return solve

    places = _places(queries)
    order = _far_apart(places, min(_MOST, draws // 2))
    number, rough = min(_FIRST, len(order)), solver(math.inf)
    solve = rough
    while True:
        chosen = order[:number]
        fitted = zip(*map(rough, chosen), strict=True)
        sample = zip(*map(solve, range(number + 1)), strict=True)
        means = [
            _Mean(places, chosen, some, tolerance) for some in zip(fitted, sample, strict=True)
        ]
        short = [one for one in means if not one.enough]
        if solve is rough and any(one.nodes > one.sampling for one in short):
            solve = solver(min(one.tolerance for one in means) / 2)
        elif short and number < len(order):
            number = min(2 * number, len(order))
        else:
            return [one.prediction(queries) for one in means]


def _places(queries: DrawnQueries) -> np.ndarray:
    """Return (tau, log sharpness) of each draw in standard deviations, without what is fixed."""
    places = np.stack([queries.projected, np.log(np.maximum(queries.sharpness, 1e-300))], axis=1)
    places -= places.mean(axis=0)
    size = places.std(axis=0)
    varies = size > 1e-9  # rounding
    return places[:, varies] / size[varies]


def _far_apart(places: np.ndarray, number: int) -> list[int]:
    """Return places, the one nearest to the middle first, each as far from the last as can be."""
    if not places.shape[1]:
        return [len(places) - 1]
    order = [int(np.argmin(np.sum(places**2, axis=1)))]
    apart = np.full(len(places), np.inf)
    while len(order) < number:
        apart = np.minimum(apart, np.sum((places - places[order[-1]]) ** 2, axis=1))
        order.append(int(np.argmax(apart)))
    return order


_FIELDS = ("test_error", "training_loss", "training_error", "auc", "susceptibility")
_OVERLAPS = ("query", "orthogonal", "noise", "bias")


class _Mean:
    """The mean of a readout's outcome over all draws; the chosen and the first are solved."""

    def __init__(
        self,
        places: np.ndarray,
        chosen: Sequence[int],
        solved: tuple[Sequence[Prediction], Sequence[Prediction]],
        tolerance: float,
    ) -> None:
        self._solved, sample = (*solved[0], *solved[1]), len(solved[1])
        values = np.array([_numbers(one) for one in self._solved])
        infinite = ~np.isfinite(values).all(axis=0)  # the susceptibility, where data can be fitted
        self.fails = bool(infinite[0])
        values[:, infinite] = 0.0
        at, first = np.split(values, [len(chosen)])
        fitted = np.repeat(at[:1], len(places), axis=0)
        if places.shape[1]:
            fitted = scipy.interpolate.RBFInterpolator(
                places[chosen], at, kernel="thin_plate_spline"
            )(places)
        line = np.column_stack([np.ones(len(places)), places])  # their means are 1 and 0
        inverse = np.linalg.pinv(line[:sample])
        fitted += line @ (inverse @ (first - fitted[:sample]))
        left = first[:, 0] - fitted[:sample, 0]
        missing = float(left @ left) / (sample - line.shape[1])
        varied = float(np.var(fitted[:, 0]))
        self._mean = fitted.mean(axis=0)
        self._mean[infinite] = math.inf
        self.sampling = math.sqrt(varied / len(places) + missing * float(inverse[0] @ inverse[0]))
        self.spread = math.sqrt(varied + missing)
        self.nodes = float(np.mean([one.numerical_error for one in solved[1]]))
        whole = allowed_error(float(self._mean[0]), 1.0)
        self.tolerance = max(tolerance, _SHARE * self.spread / whole if whole > 0 else 0.0)
        basis = f"{len(self._solved)} draws of the query"
        self._status = status_of(float(self._mean[0]), self._error, self.tolerance, basis)

    @property
    def _error(self) -> float:
        return math.hypot(self.nodes, self.sampling)

    @property
    def enough(self) -> bool:
        """Whether the error is allowed, or no error is known."""
        return self.fails or self._status.converged

    def prediction(self, queries: DrawnQueries) -> Prediction:
        """Return the mean as a prediction."""
        if self.fails:
            return next(one for one in self._solved if not math.isfinite(one.test_error))
        return Prediction(
            **dict(zip(_FIELDS, self._mean[: len(_FIELDS)].tolist(), strict=True)),
            overlaps=Overlaps(*self._mean[len(_FIELDS) :].tolist()),
            numerical_error=self._error,
            residual=max(one.residual for one in self._solved),
            iterations=sum(one.iterations for one in self._solved),
            status=self._status,
            cosine=float(np.clip(queries.cosine.mean(), -1.0, 1.0)),
            sharpness=float(queries.sharpness.mean()),
            spread=self.spread,
        )


def _numbers(prediction: Prediction) -> list[float]:
    """Return the quantities that are averaged, the test error first."""
    of_it = [getattr(prediction, name) for name in _FIELDS]
    return [*of_it, *(getattr(prediction.overlaps, name) for name in _OVERLAPS)]
