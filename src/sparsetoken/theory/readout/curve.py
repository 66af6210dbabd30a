"""Saddle points and outcomes at a sequence of loads and ridges, for features of one law."""

from __future__ import annotations

import dataclasses
import math
from typing import Any, NamedTuple

from sparsetoken.losses import Loss
from sparsetoken.results import Status, StatusCode
from sparsetoken.theory.accuracy import Accuracy, allowed_error, sizes_of
from sparsetoken.theory.laws.feature_law import FeatureLaw
from sparsetoken.theory.outcome.measured import Measured
from sparsetoken.theory.readout.features import Features
from sparsetoken.theory.readout.rare import nodes_where_wrong
from sparsetoken.theory.saddle.equations import Load, SaddleEquations
from sparsetoken.theory.saddle.solve import ROUGH_STEP, SaddlePoint, solve_readout
from sparsetoken.theory.saddle.warm_starts import SolvedLoads

_MORE = 4  # times as many points where they are not enough
_NODES_APART = 1e-2  # relative: how far solutions with few and with more nodes are apart

_NOT_SOLVED = Status(
    StatusCode.MAX_ITERATIONS,
    "The saddle point was not reached; try a larger ridge or, with a query, less sharpness.",
)
_FREE_BIAS = Status(
    StatusCode.NO_LIMIT,
    "The mean loss does not depend on the bias, which chance then decides at every finite "
    "dimension; lower the ridge, or take a loss that is curved.",
)


@dataclasses.dataclass(frozen=True)
class SolvedPoint:
    """The solution at one load and ridge; use it only if the saddle point converged.

    Outcome and errors are those of the features. The errors are those over the scrambles of the
    nodes, and what all nodes may have missed. A bias that is free could be another one, with
    another test error.
    """

    saddle: SaddlePoint
    equations: SaddleEquations
    outcome: Any
    errors: Any
    status: Status


class LearningCurve:
    """Readouts of one law and loss at one load and ridge after another.

    Each point has the fewest nodes, from `first_points` for each kind and scramble on, with which
    twice the error of each number is allowed by the tolerance, as of `Accuracy`; at inf those are
    the first nodes. It is solved to the same norm of the last Newton step. Its
    neighbours only give the place where Newton's method starts, so that its solution is the same in
    every sequence, to rounding. So do the solutions of another curve, of features that are much
    `like` these. New data have the problem `tested`.
    """

    def __init__(
        self,
        features: Features,
        tested: Any,
        loss: Loss,
        tolerance: float,
        first_points: int | None = None,
        like: LearningCurve | None = None,
    ) -> None:
        self._features, self._tested = features, tested
        self._loss, self._tolerance = loss, tolerance
        self._levels: dict[int, _Level] = {}
        self._saddles: dict[Load, SaddlePoint] = {}
        self._elsewhere = {} if like is None else like._saddles
        self._first = first_points or features.first_points

    def solve(self, alpha: float, ridge: float) -> SolvedPoint:
        """Return the solution at alpha = n1/d in (0, inf] and a ridge.

        It starts near those of neighbours, with more nodes at that with fewer. At ridge 0 the loss
        must have a finite minimum. Float64 must be enabled in JAX.
        """
        features = self._features
        load = Load(features.samples(alpha), ridge)
        points, saddle = self._first, None
        while True:
            level = self._level(points)
            saddle = solve_readout(level.equations, load, self._start(level, load, saddle))
            self._saddles[load] = saddle
            if not saddle.converged:
                return SolvedPoint(saddle, level.equations, None, None, _NOT_SOLVED)
            if saddle.smoothing == 0:
                level.solved.add(load, saddle.x)
            found = Measured(features, self._tested, level.equations, saddle, level.tested)
            enough = self._enough(found)
            if not enough:
                found = self._where_wrong(found) or found
                enough = self._enough(found)
            last = _MORE * points > features.most_points or level.exact
            if last or enough:
                return self._point(found)
            points *= _MORE

    def _enough(self, found: Measured) -> bool:
        """Return whether twice the error of each number is allowed; most fail by the first."""
        first = 2 * found.error_of_test_error <= allowed_error(found.test_error, self._tolerance)
        return first and self._accuracy(found).enough

    def _accuracy(self, found: Measured) -> Accuracy:
        outcome, errors = found.numbers
        allowed = self._features.allowed(outcome, self._tolerance)
        return Accuracy.of(allowed, errors.columns(), sizes_of(outcome))

    def _point(self, found: Measured) -> SolvedPoint:
        """Return what is known of a solution."""
        saddle, equations = found.saddle, found.equations
        if equations.bias_is_free(saddle.state, saddle.smoothing):
            status = _FREE_BIAS
        else:
            status = self._accuracy(found).status(
                self._tolerance, f" with {equations.nodes.y.size} nodes"
            )
        return SolvedPoint(saddle, equations, *found.numbers, status)

    def _level(self, points: int) -> _Level:
        if points not in self._levels:
            law = self._features.nodes(self._features.problem, points)
            tested = self._features.nodes(self._tested, points)
            equations = self._features.equations(law, self._loss)
            self._levels[points] = _Level(tested, equations, SolvedLoads(equations.bias_at + 1))
        return self._levels[points]

    def _start(self, level: _Level, load: Load, fewer: SaddlePoint | None) -> SaddlePoint:
        """Return a start: from neighbours with the same nodes, or the solution with fewer nodes."""
        equations, guess = level.equations, level.solved.guess(load)
        if guess is not None and (fewer is None or guess.distance < _NODES_APART):
            state = equations.state(guess.x, load.samples)
            return SaddlePoint(guess.x, state, load, 0.0, math.inf, 0, True)
        if fewer is not None:
            return fewer
        few = self._features.equations(equations.nodes, self._loss, rough=True)
        near = self._elsewhere.get(load)
        if near is not None:
            near = dataclasses.replace(near, iterations=0)
        return solve_readout(few, load, near, ROUGH_STEP)

    def _where_wrong(self, found: Measured) -> Measured | None:
        """Return the point on nodes that are drawn where the readout is wrong, if that is better.

        They pay where the test error is so small that its relative error counts.
        """
        if not allowed_error(found.test_error, self._tolerance) < self._tolerance:
            return None
        features, problem, solution = self._features, self._tested, found.solutions[0]
        points = found.equations.nodes.y.shape[1]  # as many for each class as there are for both
        nodes = nodes_where_wrong(features, features.problem, solution, points)
        same = problem == features.problem
        tested = nodes if same else nodes_where_wrong(features, problem, solution, points)
        if nodes is None or tested is None:
            return None
        equations = features.equations(nodes, self._loss)
        saddle = solve_readout(equations, found.saddle.load, found.saddle)
        if not saddle.converged:
            return None
        better = Measured(features, problem, equations, saddle, tested, drawn=True)
        return better if better.error_of_test_error < found.error_of_test_error else None


class _Level(NamedTuple):
    """A law of some number of nodes for training and tests, and what has been solved with it."""

    tested: FeatureLaw
    equations: SaddleEquations
    solved: SolvedLoads

    @property
    def exact(self) -> bool:
        """Whether the nodes are the law itself."""
        return self.equations.nodes.exact and self.tested.exact
