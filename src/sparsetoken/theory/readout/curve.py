"""Saddle points and outcomes at a sequence of loads and ridges, for features of one law."""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Callable

import numpy as np

from sparsetoken.losses import Loss
from sparsetoken.problem import SparseTokenProblem
from sparsetoken.results import Outcome
from sparsetoken.theory.features import ModelFeatures
from sparsetoken.theory.readout.accuracy import allowed_error
from sparsetoken.theory.readout.equations import ConvexReadout, Load
from sparsetoken.theory.readout.nodes import FeatureNodes
from sparsetoken.theory.readout.outcome import (
    moved_errors,
    spread_of_test_error,
    standard_error,
    worth,
)
from sparsetoken.theory.readout.rare import DrawnError, drawn_error
from sparsetoken.theory.readout.solve import ROUGH_STEP, SaddlePoint, newton_distance, solve_readout
from sparsetoken.theory.readout.warm_starts import SolvedLoads
from sparsetoken.theory.score_law import ScoreLaw

FIRST_POINTS, LAST_POINTS = 512, 2**15  # nodes for each class and scramble
_MORE = 4  # times as many points where they are not enough
_NODES_APART = 1e-2  # relative: how far solutions with few and with more nodes are apart
_NEAR = 0.05  # relative: from here the spread is that of the solution within a factor 2


@dataclasses.dataclass(frozen=True)
class SolvedPoint:
    """The solution at one load and ridge.

    Attributes
    ----------
    saddle : SaddlePoint
        Use the rest only if it converged.
    test_error : float
    numerical_error : float
        Standard error of the test error: that over the scrambles of the nodes, and what all
        nodes may have missed.
    nodes : int
        Number of nodes of the law, over classes and scrambles.
    outcome : callable
        Returns the `Outcome`.
    """

    saddle: SaddlePoint
    test_error: float
    numerical_error: float
    nodes: int
    outcome: Callable[[], Outcome]


class LearningCurve:
    """Readouts of one law and loss at one load and ridge after another.

    Each point has the fewest nodes with which twice the numerical error of its test error is
    allowed by the tolerance, and is solved to the same length of the last Newton step. Its
    neighbours only give the place where Newton's method starts, so that its solution is the
    same in every sequence, to rounding.

    Parameters
    ----------
    features : ModelFeatures
    problem, tested : SparseTokenProblem
        Of the training, and of new data.
    loss : Loss
    tolerance : float
        Of the test error, as of `allowed_error`; inf for the first nodes, whatever their error.
    first_points : int
        Nodes for each class and scramble to begin with.
    like : LearningCurve, optional
        Of features that are much like these, whose solutions are where to start.
    """

    def __init__(
        self,
        features: ModelFeatures,
        problem: SparseTokenProblem,
        tested: SparseTokenProblem,
        loss: Loss,
        tolerance: float,
        first_points: int = FIRST_POINTS,
        like: LearningCurve | None = None,
    ) -> None:
        self._features, self._problem, self._tested = features, problem, tested
        self._loss, self._tolerance = loss, tolerance
        self._levels: dict[int, _Level] = {}
        self._found: dict[Load, SaddlePoint] = {}
        self._elsewhere = {} if like is None else like._found
        self._first = self._last = first_points  # the last is that of the point before

    def solve(self, alpha: float, ridge: float) -> SolvedPoint:
        """Return the solution at alpha = n1/d in (0, inf] and a ridge.

        At ridge 0 the loss must have a finite minimum. Float64 must be enabled in JAX.
        """
        load = Load(self._features.samples(alpha), ridge)
        points, found = self._first, None
        while True:
            level = self._level(points)
            attempt = _Attempt(level, load)
            start = self._start(points, load, found)
            last = points >= LAST_POINTS or level.exact or math.isinf(self._tolerance)
            near = found is not None or points < self._last
            if last or not (near and attempt.has_too_few_nodes(start, self._tolerance)):
                found = attempt.solve(start)
                done = not found.converged or attempt.enough(self._tolerance)
                if done or attempt.enough_by_drawing(found, self._tolerance) or last:
                    self._last, self._found[load] = points, found
                    return attempt.complete(found)
            points *= _MORE

    def _level(self, points: int) -> _Level:
        if points not in self._levels:
            law = self._features.nodes(self._problem, points)
            same = self._tested == self._problem
            tested = law if same else self._features.nodes(self._tested, points)
            readout = self._features.readout(law, self._loss)
            self._levels[points] = _Level(self._features, self._tested, tested, readout)
        return self._levels[points]

    def _start(self, points: int, load: Load, fewer: SaddlePoint | None) -> SaddlePoint:
        """Return the start that is probably nearest.

        That is one from neighbours with the same nodes or with others, the solution of this
        point with fewer nodes, or one of a law of few nodes.
        """
        here = self._level(points)
        best, distance = fewer, math.inf if fewer is None else _NODES_APART
        for known, level in self._levels.items():
            guess = level.solved.guess(load)
            if guess is None:
                continue
            away = guess.distance + (0.0 if known == points else 0.1 * _NODES_APART)
            if away < distance:
                state = here.readout.state(guess.x, load.samples)
                best, distance = SaddlePoint(guess.x, state, load, 0.0, math.inf, 0, True), away
        return here.rough(load, self._elsewhere.get(load)) if best is None else best


class _Level:
    """A law of some number of nodes, and what has been solved with it."""

    def __init__(
        self,
        features: ModelFeatures,
        problem: SparseTokenProblem,
        tested: FeatureNodes,
        readout: ConvexReadout,
    ) -> None:
        self._features, self._problem = features, problem
        self.tested, self.readout = tested, readout
        self.exact = readout.nodes.exact and tested.exact
        self.solved = SolvedLoads(readout.positive)

    def rough(self, load: Load, start: SaddlePoint | None) -> SaddlePoint:
        """Return the solution for a law of few nodes that stands for this one."""
        few = self._features.rough(self.readout.nodes, self.readout.loss)
        return solve_readout(few, load, start, ROUGH_STEP)

    def scores(self, at: SaddlePoint) -> ScoreLaw:
        """Return the scores of a readout on new data."""
        return self._features.scores(self.readout, at, self._problem, self.tested)

    def spread(self, at: SaddlePoint, load: Load, scores: ScoreLaw) -> float:
        """Return the standard error of the test error over scrambles, at a solution or near it."""
        there = dataclasses.replace(at, load=load)
        return spread_of_test_error(self.readout, there, self.tested, scores)

    def drawn(self, found: SaddlePoint) -> DrawnError | None:
        """Return the test error by importance sampling where the readout is wrong."""
        points = self.readout.nodes.y.shape[1]  # as many for each class as there are for both
        return drawn_error(self._features, self.readout, found, self._problem, points)

    def outcome(self, found: SaddlePoint, scores: ScoreLaw | None, test_error: float) -> Outcome:
        """Return the outcome of a solution."""
        overlaps = self._features.overlaps(self.readout, found)
        own = scores if self.tested is self.readout.nodes else None
        here = worth(self.readout, found, scores, own)._replace(test_error=test_error)
        return Outcome(**here._asdict(), overlaps=overlaps)


class _Attempt:
    """A point with the nodes of one level."""

    def __init__(self, level: _Level, load: Load) -> None:
        self._level, self._load = level, load
        self.test_error = self.error = math.nan
        self._scores: ScoreLaw | None = None

    def has_too_few_nodes(self, start: SaddlePoint, tolerance: float) -> bool:
        """Return whether the nodes are so few that their own solution is not worth its time.

        They are if the spread at a start nearby is twice of what is allowed.
        """
        if not start.converged or start.smoothing > 0:
            return False
        if newton_distance(self._level.readout, start, self._load) > _NEAR:
            return False
        scores = self._level.scores(start)
        if _counts_relatively(scores.test_error(), tolerance):
            return False  # other nodes serve such a test error
        most = allowed_error(scores.test_error(), tolerance)
        return self._level.spread(start, self._load, scores) > most

    def solve(self, start: SaddlePoint) -> SaddlePoint:
        """Return the solution, and keep it as a neighbour and its numerical error."""
        found = solve_readout(self._level.readout, self._load, start)
        if not found.converged:
            return found
        places = list(self._level.readout.positive(self._load.samples))
        if found.smoothing == 0 and np.all(found.x[places] > 0):
            self._level.solved.add(self._load, found.x)
        self._scores = scores = self._level.scores(found)
        self.test_error = scores.test_error()
        self.error = self._level.spread(found, self._load, scores)
        if not self._level.tested.exact:
            self.error = math.hypot(self.error, scores.unseen_error())
        return found

    def enough(self, tolerance: float) -> bool:
        """Return whether the error is allowed."""
        return 2 * self.error <= allowed_error(self.test_error, tolerance)

    def enough_by_drawing(self, found: SaddlePoint, tolerance: float) -> bool:
        """Return whether the error is allowed with nodes that are drawn where the readout is wrong.

        They are worth their time where the test error is so small that its relative error counts.
        """
        if not _counts_relatively(self.test_error, tolerance):
            return False
        drawn = self._level.drawn(found)
        if drawn is None:
            return False
        readout = self._level.readout
        moved = moved_errors(readout, found, drawn.nodes, drawn.scores)
        error = math.hypot(drawn.standard_error, standard_error(moved))
        if error < self.error:
            self.test_error, self.error = drawn.test_error, error
        return self.enough(tolerance)

    def complete(self, found: SaddlePoint) -> SolvedPoint:
        """Return the solution with all that follows from it."""
        nodes = self._level.readout.nodes.y.size
        outcome = functools.partial(self._level.outcome, found, self._scores, self.test_error)
        return SolvedPoint(found, self.test_error, self.error, nodes, outcome)


def _counts_relatively(test_error: float, tolerance: float) -> bool:
    """Return whether a test error is so small that its relative error asks more."""
    return allowed_error(test_error, tolerance) < tolerance
