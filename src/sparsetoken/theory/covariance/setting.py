"""Predictions among tokens of a covariance."""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Sequence

from sparsetoken.losses import Loss
from sparsetoken.models import Model
from sparsetoken.problem import SparseTokenProblem
from sparsetoken.results import Prediction, Status, StatusCode
from sparsetoken.stages import Readout
from sparsetoken.theory.covariance.features import model_features
from sparsetoken.theory.covariance.nodes import FeatureNodes
from sparsetoken.theory.covariance.outcomes import readout_outcome, spread_over_scrambles
from sparsetoken.theory.covariance.readout import ROUGH_STEP, ConvexReadout, SolvedReadout
from sparsetoken.theory.curve import FIRST_POINTS, LAST_POINTS
from sparsetoken.theory.learned_error import outcome_without_features
from sparsetoken.theory.predict import with_query, without_readout
from sparsetoken.theory.query import advice_on, working_query
from sparsetoken.theory.ridgeless import Stage, ridgeless_stage
from sparsetoken.theory.score_law import ScoreLaw
from sparsetoken.validation import InvalidInput

_MORE = 4  # times as many points where they are not enough
_NOT_SOLVED = Status(
    StatusCode.MAX_ITERATIONS,
    "The saddle point was not reached; try a larger ridge or, with a query, less sharpness.",
)


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
            If a ridge is 0 and the features have no noise in some direction.
        """
        sequences: dict[Loss, _Sequence] = {}
        found = []
        for readout in readouts:
            if self._featureless:
                found.append(_featureless(readout, self))
                continue
            stage = self._stage(readout)
            if not stage.status.converged:
                found.append(without_readout(stage.status))
                continue
            if stage.loss not in sequences:
                sequences[stage.loss] = _Sequence(self, stage.loss, tolerance)
            found.append(sequences[stage.loss].solve(readout.alpha1, stage))
        return [with_query(one, self.query, self.advice) for one in found]

    @functools.cached_property
    def _first(self) -> FeatureNodes:
        return self._law(self.problem, self._nodes or FIRST_POINTS)

    @property
    def _featureless(self) -> bool:
        return not self._first.C.any() and not self._first.a.any()

    def _stage(self, readout: Readout) -> Stage:
        if readout.ridge > 0:
            return Stage(readout.loss, readout.ridge)
        covariances = self._features.covariances
        if not covariances.inverts:
            legal = "> 0 where features have no noise in some direction"
            remedy = "Take 1e-6, for example, or add a little to the diagonal of the covariance."
            raise InvalidInput("ridge (lambda)", legal, 0.0, remedy)
        return ridgeless_stage(
            self.problem,
            self.model,
            self.query,
            readout,
            weights=covariances.dimension // spectrum_dimension(self.problem),
            vanishing=not self._first.C.any(axis=-1).all(),
        )


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

    def solve(self, alpha: float, stage: Stage) -> Prediction:
        """Return the prediction with the fewest nodes that reach the tolerance."""
        setting = self._setting
        samples = alpha * spectrum_dimension(setting.problem)
        points, start = self._points, self._last or self._rough(stage.ridge, samples)
        while True:
            problem = self._readout(points)
            found = problem.solve(stage.ridge, samples, start)
            if not found.converged:
                return without_readout(_NOT_SOLVED, found.residual, found.iterations)
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
        if stage.fits_exactly:
            outcome = dataclasses.replace(outcome, training_loss=0.0, training_error=0.0)
        return Prediction(
            **vars(outcome),
            overlaps=setting._features.overlaps(found),
            susceptibility=math.inf if stage.fits_exactly else float(found.chi[0]),
            numerical_error=error,
            residual=found.residual,
            iterations=found.iterations,
            status=self._status(error, problem.nodes.C[..., 0].size),
        )

    def _rough(self, ridge: float, samples: float) -> SolvedReadout | None:
        """Return the solution for a law of few nodes that stands for this one."""
        nodes = self._setting._law(self._setting.problem, self._points)
        if nodes.exact:
            return None
        features = self._setting._features
        few = ConvexReadout(nodes.coarse(), features.covariances, self._loss, features.removed)
        return few.solve(ridge, samples, tolerance=ROUGH_STEP)

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


def _featureless(readout: Readout, setting: CovarianceSetting) -> Prediction:
    """Return the prediction when all features are 0 and only the bias learns."""
    pi, tested = setting.problem.positive_rate, setting.tested.positive_rate
    answer = outcome_without_features(readout.loss, pi, tested)
    size = setting._features.covariances.traces[0] / spectrum_dimension(setting.problem)
    ridge = readout.ridge
    return Prediction(
        **vars(answer),
        susceptibility=size / (ridge * readout.alpha1) if ridge > 0 else math.inf,
        numerical_error=0.0,
        residual=0.0,
        iterations=0,
        status=Status(StatusCode.CONVERGED),
    )
