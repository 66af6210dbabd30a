"""Predictions among tokens of a covariance."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence

from sparsetoken.losses import Loss
from sparsetoken.models import Model
from sparsetoken.problem import SparseTokenProblem
from sparsetoken.results import Overlaps, Prediction, Status, StatusCode
from sparsetoken.stages import Readout
from sparsetoken.theory.covariance.features import model_features
from sparsetoken.theory.covariance.nodes import FeatureNodes
from sparsetoken.theory.covariance.outcomes import readout_outcome, spread_over_scrambles
from sparsetoken.theory.covariance.readout import ROUGH_STEP, ConvexReadout, SolvedReadout
from sparsetoken.theory.curve import FIRST_POINTS, LAST_POINTS
from sparsetoken.theory.learned_error import outcome_without_features
from sparsetoken.theory.query import advice_on, working_query
from sparsetoken.theory.score_law import ScoreLaw
from sparsetoken.validation import InvalidInput

__all__ = ["CovarianceSetting"]

_MORE = 4  # times as many points where they are not enough


class CovarianceSetting:
    """What predictions with the same features have in common, for tokens of a covariance.

    Parameters
    ----------
    problem : SparseTokenProblem
    model : Model
    test_problem : SparseTokenProblem or None
        Its tokens have the same law.
    nodes : int, optional
        A fixed number of nodes for each class and scramble.

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
    ) -> None:
        self.problem, self.model = problem, model
        self.tested = problem if test_problem is None else test_problem
        if self.tested.tokens != problem.tokens:
            legal = "those of the problem"
            raise InvalidInput("tokens of the test problem", legal, self.tested.tokens)
        model.check_test_problem(problem, self.tested)
        self.query = working_query(problem, model)
        self.advice = advice_on(problem, model, self.query)
        self._features = model_features(model, problem)
        self._nodes = nodes
        self._laws: dict[tuple[SparseTokenProblem, int], FeatureNodes] = {}

    def _law(self, problem: SparseTokenProblem, points: int) -> FeatureNodes:
        if (problem, points) not in self._laws:
            self._laws[problem, points] = self._features.nodes(problem, points)
        return self._laws[problem, points]

    def predictions(self, readouts: Sequence[Readout], tolerance: float) -> list[Prediction]:
        """Return the prediction with each readout, all of one loss.

        Raises
        ------
        InvalidInput
            If a ridge is 0.
        """
        for readout in readouts:
            if readout.ridge == 0:
                remedy = "The limit 0 is known for isotropic tokens only; take 1e-6, for example."
                raise InvalidInput("ridge (lambda)", "> 0 with a token covariance", 0.0, remedy)
        sequence = _Sequence(self, readouts[0].loss, tolerance)
        return [
            dataclasses.replace(sequence.solve(readout), query=self.query, advice=self.advice)
            for readout in readouts
        ]


class _Sequence:
    """Solves for one readout after another, each from the one before."""

    def __init__(self, setting: CovarianceSetting, loss: Loss, tolerance: float) -> None:
        self._setting, self._loss, self._tolerance = setting, loss, tolerance
        self._problems: dict[int, ConvexReadout] = {}
        self._last: SolvedReadout | None = None
        self._points = setting._nodes or FIRST_POINTS

    def _readout(self, points: int) -> ConvexReadout:
        if points not in self._problems:
            features = self._setting._features
            nodes = self._setting._law(self._setting.problem, points)
            self._problems[points] = ConvexReadout(
                nodes, features.covariances, self._loss, features.removed
            )
        return self._problems[points]

    def solve(self, readout: Readout) -> Prediction:
        """Return the prediction with the fewest nodes that reach the tolerance."""
        setting = self._setting
        samples = readout.alpha * spectrum_dimension(setting.problem)
        nodes = setting._law(setting.problem, self._points)
        if not nodes.C.any() and not nodes.a.any():
            return _featureless(readout, samples, setting)
        points, start = self._points, self._last or self._rough(readout, samples)
        while True:
            problem = self._readout(points)
            found = problem.solve(readout.ridge, samples, start)
            if not found.converged:
                return _not_solved(found)
            same = setting.tested == setting.problem
            tested = setting._law(setting.tested, points)
            scores = setting._features.scores(found, setting.tested, points)
            exact = problem.nodes.exact and tested.exact
            error = 0.0 if exact else self._error(problem, found, None if same else tested, scores)
            last = exact or setting._nodes is not None or points >= LAST_POINTS
            if last or 2 * error <= self._tolerance:
                break
            points, start = points * _MORE, found
        self._last, self._points = found, points
        outcome = readout_outcome(problem, found, scores)
        return Prediction(
            **vars(outcome),
            overlaps=setting._features.overlaps(found),
            susceptibility=float(found.chi[0]),
            numerical_error=error,
            residual=found.residual,
            iterations=found.iterations,
            status=self._status(error, problem.nodes.C[..., 0].size),
        )

    def _rough(self, readout: Readout, samples: float) -> SolvedReadout | None:
        """Return the solution for a law of few nodes that stands for this one."""
        nodes = self._setting._law(self._setting.problem, self._points)
        if nodes.exact:
            return None
        features = self._setting._features
        few = ConvexReadout(nodes.coarse(), features.covariances, self._loss, features.removed)
        return few.solve(readout.ridge, samples, tolerance=ROUGH_STEP)

    def _error(
        self,
        problem: ConvexReadout,
        found: SolvedReadout,
        tested: FeatureNodes | None,
        scores: ScoreLaw,
    ) -> float:
        spread = spread_over_scrambles(problem, found, tested)
        return math.hypot(spread, scores.unseen_error())

    def _status(self, error: float, nodes: int) -> Status:
        if 2 * error <= self._tolerance:
            return Status(StatusCode.CONVERGED)
        reached = f"Twice the standard error is {2 * error:.2e} with {nodes} nodes"
        remedy = f"{reached}; ask for a tolerance of {2.2 * error:.1e}."
        return Status(StatusCode.TOLERANCE_NOT_REACHED, remedy)


def spectrum_dimension(problem: SparseTokenProblem) -> int:
    """Return d of the tokens of a problem."""
    dimension = problem.tokens.dimension
    assert dimension is not None
    return dimension


def _featureless(readout: Readout, samples: float, setting: CovarianceSetting) -> Prediction:
    """Return the prediction when all features are 0 and only the bias learns."""
    pi, tested = setting.problem.positive_rate, setting.tested.positive_rate
    answer = outcome_without_features(readout.loss, pi, tested)
    return Prediction(
        **vars(answer),
        susceptibility=setting._features.covariances.traces[0] / (readout.ridge * samples),
        numerical_error=0.0,
        residual=0.0,
        iterations=0,
        status=Status(StatusCode.CONVERGED),
    )


def _not_solved(found: SolvedReadout) -> Prediction:
    nan = math.nan
    remedy = (
        "The saddle point was not reached; try a larger ridge or, with a query, less sharpness."
    )
    return Prediction(
        test_error=nan,
        training_loss=nan,
        training_error=nan,
        auc=nan,
        overlaps=Overlaps(nan, nan, nan, nan),
        susceptibility=nan,
        numerical_error=nan,
        residual=found.residual,
        iterations=found.iterations,
        status=Status(StatusCode.MAX_ITERATIONS, remedy),
    )
