"""Saddle points and outcomes at a sequence of loads and ridges, for features of one law."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from sparsetoken.losses import Loss
from sparsetoken.numerics.errors import stated_error
from sparsetoken.results import Outcome, Status, StatusCode
from sparsetoken.theory.feature_law import FeatureLaw
from sparsetoken.theory.features import Features, ModelFeatures
from sparsetoken.theory.readout.accuracy import allowed_error, status_of
from sparsetoken.theory.readout.equations import Load, SaddleEquations
from sparsetoken.theory.readout.outcome import (
    own_states,
    performance,
    scores_on,
    spread_of_test_error,
)
from sparsetoken.theory.readout.rare import drawn_error
from sparsetoken.theory.readout.solve import ROUGH_STEP, SaddlePoint, solve_readout
from sparsetoken.theory.readout.warm_starts import SolvedLoads
from sparsetoken.theory.score_law import ScoreLaw

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
    """The solution at one load and ridge; use the rest only if the saddle point converged.

    The numerical error of the test error is that over the scrambles of the nodes, and what all
    nodes may have missed. A bias that is free could be another one, with
    another test error. The outcome is that of `ModelFeatures`.
    """

    saddle: SaddlePoint
    equations: SaddleEquations
    test_error: float
    numerical_error: float
    status: Status
    outcome: Callable[[], Outcome]


class LearningCurve:
    """Readouts of one law and loss at one load and ridge after another.

    Each point has the fewest nodes, from `first_points` for each kind and scramble on, with which
    twice the numerical error of its test error is allowed by the tolerance, as of `allowed_error`;
    at inf those are the first nodes. It is solved to the same norm of the last Newton step. Its
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
            attempt = _Attempt(features, self._tested, level, load, self._tolerance)
            saddle = attempt.solve(self._start(level, load, saddle))
            last = _MORE * points > features.most_points or level.exact
            last |= math.isinf(self._tolerance)
            done = not saddle.converged or attempt.enough
            if done or attempt.enough_by_drawing(saddle) or last:
                self._saddles[load] = saddle
                return attempt.complete(saddle)
            points *= _MORE

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


class _Level(NamedTuple):
    """A law of some number of nodes for training and tests, and what has been solved with it."""

    tested: FeatureLaw
    equations: SaddleEquations
    solved: SolvedLoads

    @property
    def exact(self) -> bool:
        """Whether the nodes are the law itself."""
        return self.equations.nodes.exact and self.tested.exact


class _Attempt:
    """A point with the nodes of one level."""

    def __init__(
        self, features: Features, tested: Any, level: _Level, load: Load, tolerance: float
    ) -> None:
        self._features, self._problem, self._tolerance = features, tested, tolerance
        self._level, self._load = level, load
        self.test_error = self.error = math.nan
        self._scored: ScoreLaw | None = None

    def solve(self, start: SaddlePoint) -> SaddlePoint:
        """Return the solution, and keep it as a neighbour and its numerical error."""
        saddle = solve_readout(self._level.equations, self._load, start)
        if not saddle.converged:
            return saddle
        if saddle.smoothing == 0:
            self._level.solved.add(self._load, saddle.x)
        level, features = self._level, self._features
        state = features.state_on(self._problem, level.equations, saddle)
        self._scored = scores = features.scores(level.tested, state)
        self.test_error = scores.test_error()
        self.error = spread_of_test_error(level.equations, saddle, level.tested, scores)
        if not level.tested.exact:
            self.error = math.hypot(self.error, scores.unseen_error())
        return saddle

    @property
    def enough(self) -> bool:
        """Whether the error is allowed."""
        return bool(2 * self.error <= allowed_error(self.test_error, self._tolerance))

    def enough_by_drawing(self, saddle: SaddlePoint) -> bool:
        """Return whether the error is allowed with nodes that are drawn where the readout is wrong.

        They pay where the test error is so small that its relative error counts.
        """
        if not allowed_error(self.test_error, self._tolerance) < self._tolerance:
            return False
        equations = self._level.equations
        points = equations.nodes.y.shape[1]  # as many for each class as there are for both
        drawn = drawn_error(self._features, equations, saddle, self._problem, points)
        if drawn is None:
            return False
        moved = [
            scores_on(drawn.nodes, state).test_error() for state in own_states(equations, saddle)
        ]
        error = math.hypot(drawn.error, float(stated_error(np.array(moved))))
        if error < self.error:
            self.test_error, self.error = drawn.test_error, error
        return self.enough

    def complete(self, saddle: SaddlePoint) -> SolvedPoint:
        """Return the solution with all that follows from it."""
        equations = self._level.equations
        if not saddle.converged:
            status = _NOT_SOLVED
        elif equations.bias_is_free(saddle.state, saddle.smoothing):
            status = _FREE_BIAS
        else:
            basis = f"{equations.nodes.y.size} nodes"
            status = status_of(self.test_error, self.error, self._tolerance, basis)
        return SolvedPoint(
            saddle, equations, self.test_error, self.error, status, lambda: self._outcome(saddle)
        )

    def _outcome(self, saddle: SaddlePoint) -> Outcome:
        assert isinstance(self._features, ModelFeatures)
        equations, scores = self._level.equations, self._scored
        own = scores if self._level.tested is equations.nodes else None
        here = performance(equations, saddle, scores, own)._replace(test_error=self.test_error)
        return Outcome(**here._asdict(), overlaps=self._features.overlaps(equations, saddle))
