"""Predictions with the same features: one problem, one model, several readouts."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator, Sequence
from typing import Any

from sparsetoken.base.validation import InvalidInput
from sparsetoken.losses import Loss
from sparsetoken.model.models import Model
from sparsetoken.model.problem import SparseTokenProblem
from sparsetoken.model.stages import Readout
from sparsetoken.results import (
    Overlaps,
    Prediction,
    ReadoutOutcome,
    Status,
    StatusCode,
    TaskPrediction,
)
from sparsetoken.theory.laws.feature_law import FeatureLaw
from sparsetoken.theory.outcome.measured import errors_of
from sparsetoken.theory.query.directions import limit_status
from sparsetoken.theory.query.working import advice_on, working_query
from sparsetoken.theory.readout.curve import LearningCurve, SolvedPoint
from sparsetoken.theory.readout.model_features import model_features
from sparsetoken.theory.readout.ridgeless import Stage, ridgeless_stage
from sparsetoken.theory.saddle.bias import outcome_without_features


class Predictor:
    """Predicts several readouts of the same features.

    A test problem has tokens of the same law. With `nodes` the number of nodes for each class and
    scramble is fixed. `like` is a predictor much like this one that has predicted the same
    readouts: its solutions are where to start.

    Raises
    ------
    InvalidInput
        If the model is not known among such tokens, or the test problem has others.
    """

    def __init__(
        self,
        problem: SparseTokenProblem,
        model: Model,
        test_problem: SparseTokenProblem | None = None,
        nodes: int | None = None,
        like: Predictor | None = None,
    ) -> None:
        self.problem, self.model = problem, model
        self.tested = problem if test_problem is None else test_problem
        model.check_test_problem(problem, self.tested)
        self.query = working_query(problem, model)
        self.advice = advice_on(problem, model, self.query)
        self._limit = limit_status(problem, model.query)
        self._features = model_features(model, problem, self.query)
        self._like, self._curves = like, dict[Loss, LearningCurve]()
        self._fixed, self._points = nodes is not None, nodes or self._features.first_points

    @property
    def _first(self) -> FeatureLaw:
        return self._features.nodes(self.problem, self._points)

    def predictions(self, readouts: Sequence[Readout], tolerance: float) -> list[Prediction]:
        """Return the prediction with each readout.

        Raises
        ------
        InvalidInput
            If a ridge is 0 and the features have no noise in some direction.
        """
        return [*self.each(readouts, tolerance)]

    def each(self, readouts: Sequence[Readout], tolerance: float) -> Iterator[Prediction]:
        """Yield the prediction with each readout."""
        accuracy = math.inf if self._fixed else tolerance
        self._curves = {}
        for readout in readouts:
            yield self._prediction(readout, accuracy)
        self._like = None  # a chain of predictors would keep them all

    def _prediction(self, readout: Readout, tolerance: float) -> Prediction:
        if self._first.vanishes:
            return self._with_query(self._without_features(readout))
        stage = self._stage(readout)
        if not stage.status.converged:
            return self._with_query(without_readout(stage.status))
        loss, curves = stage.loss, self._curves
        if loss not in curves:
            like = None if self._like is None else self._like._curves.get(loss)
            curves[loss] = LearningCurve(
                self._features, self.tested, loss, tolerance, self._points, like
            )
        point = curves[loss].solve(readout.alpha1, stage.ridge)
        return self._with_query(_predicted(point))

    def _with_query(self, prediction: Prediction) -> Prediction:
        """Return a prediction with the query that the model works with, and its advice."""
        query = self.query
        cosine, sharpness = (None, None) if query is None else (query.cosine, query.sharpness)
        if prediction.status.converged:
            prediction = dataclasses.replace(prediction, status=self._limit)
        return dataclasses.replace(
            prediction, cosine=cosine, sharpness=sharpness, notes=self.advice
        )

    def _stage(self, readout: Readout) -> Stage:
        if readout.ridge > 0:
            return Stage(readout.loss, readout.ridge)
        if not self._features.covariances.inverts:
            legal = "> 0 where features have no noise in some direction"
            remedy = (
                "Use 1e-6, for example, or add a small constant to the diagonal of the covariance."
            )
            raise InvalidInput("ridge (lambda)", legal, 0.0, remedy)
        return ridgeless_stage(
            self.problem,
            self.model,
            self.query,
            readout,
            weights=self._features.weights_per_dimension,
            vanishing=not self._first.C.any(axis=-1).all(),
        )

    def _without_features(self, readout: Readout) -> Prediction:
        """Return the prediction when all features are 0 and only the bias learns."""
        pi, tested, ridge = self.problem.positive_rate, self.tested.positive_rate, readout.ridge
        susceptibility = self._features.noise / (ridge * readout.alpha1) if ridge > 0 else math.inf
        outcome = outcome_without_features(readout.loss, pi, tested, susceptibility)
        return Prediction.of(
            outcome,
            errors=errors_of([outcome]),
            numerical_error=0.0,
            residual=0.0,
            iterations=0,
            status=Status(StatusCode.CONVERGED),
        )


def outcome_of(prediction: Prediction | TaskPrediction) -> Any:
    """Return the numbers of a prediction that have errors."""
    kind = type(prediction.errors)
    return kind(**{field.name: getattr(prediction, field.name) for field in kind.quantities})


def _predicted(point: SolvedPoint) -> Prediction:
    saddle = point.saddle
    if not saddle.converged:
        return without_readout(point.status, saddle.residual, saddle.iterations)
    return Prediction.of(
        point.outcome,
        errors=point.errors,
        numerical_error=point.errors.test_error,
        residual=saddle.residual,
        iterations=saddle.iterations,
        status=point.status,
    )


def without_readout(status: Status, residual: float = math.nan, iterations: int = 0) -> Prediction:
    """Return the prediction where there is no solution, for the reason that the status tells."""
    nan = math.nan
    unknown = ReadoutOutcome(nan, nan, nan, nan, Overlaps(nan, nan, nan, nan), nan)
    return Prediction.of(
        unknown,
        errors=unknown,
        numerical_error=nan,
        residual=residual,
        iterations=iterations,
        status=status,
    )
