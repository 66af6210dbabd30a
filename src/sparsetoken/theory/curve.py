"""Saddle points and outcomes at a sequence of loads and ridges, for one law of features."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterable, Iterator

from sparsetoken.losses import Loss
from sparsetoken.results import Outcome
from sparsetoken.theory.feature_law import FeatureLaw
from sparsetoken.theory.learned_error import (
    ROUGH_STEP,
    SaddlePoint,
    newton_distance,
    outcome,
    solve_readout,
    spread_of_test_error,
)
from sparsetoken.theory.nearby import Load, SolvedLoads
from sparsetoken.theory.potential import Potential
from sparsetoken.theory.score_law import ScoreLaw

FIRST_POINTS, LAST_POINTS = 512, 2**15  # nodes for each class and scramble
_MORE = 4  # times as many points where they are not enough
_NODES_APART = 1e-2  # relative: how far solutions with few and with more nodes are apart
_NEAR = 0.05  # relative: from here the spread is that of the solution within a factor 2

Laws = Callable[[int], FeatureLaw]


@dataclasses.dataclass(frozen=True)
class SolvedPoint:
    """The solution at one load and ridge.

    Attributes
    ----------
    saddle : SaddlePoint
    outcome : Outcome or None
        None if the saddle point was not reached.
    numerical_error : float
        Standard error of the test error: that over the scrambles of the nodes, and what all
        nodes may have missed. nan without an outcome.
    nodes : int
        Number of nodes of the law, over classes and scrambles.
    susceptibility : float
        nan without an outcome.
    """

    saddle: SaddlePoint
    outcome: Outcome | None
    numerical_error: float
    nodes: int
    susceptibility: float


def solve_along(
    laws: Laws,
    loss: Loss,
    loads: Iterable[tuple[float, float]],
    tolerance: float,
    *,
    test_laws: Laws | None = None,
) -> Iterator[SolvedPoint]:
    """Solve for the readout at one (alpha, ridge) after another.

    Each point has the fewest nodes with which twice the numerical error of its test error is
    below the tolerance, and is solved to the same length of the last Newton step. Its
    neighbours only give the place where Newton's method starts, so that its solution is the
    same in every sequence, to rounding.

    Float64 must be enabled in JAX while the points are drawn from the iterator.

    Parameters
    ----------
    laws : callable
        Maps a number of points for each class and scramble to the law of the features. It
        is called at most once for each number.
    loss : Loss
    loads : iterable of (alpha, ridge)
        alpha = n1/d in (0, inf], ridge >= 0; at 0 the loss must have a finite minimum.
        Solutions along an axis of one of them help to find the next.
    tolerance : float
        Of the test error, in (0, 1).
    test_laws : callable, optional
        The law of the features of new data; by default the same.
    """
    sequence = _Sequence(laws, test_laws, loss, tolerance)
    for alpha, ridge in loads:
        yield sequence.solve(Load(alpha, ridge))


class _Sequence:
    """Solves points of one law one after another."""

    def __init__(self, laws: Laws, test_laws: Laws | None, loss: Loss, tolerance: float) -> None:
        self._laws, self._test_laws = laws, test_laws
        self._loss, self._tolerance = loss, tolerance
        self._levels: dict[int, _Level] = {}
        self._last_points = FIRST_POINTS  # of the point before

    def solve(self, load: Load) -> SolvedPoint:
        """Return the solution at a load."""
        points, found = FIRST_POINTS, None
        while True:
            level = self._level(points)
            attempt = _Attempt(level, load)
            start = self._start(points, load, found)
            last = points >= LAST_POINTS or level.exact
            near = found is not None or points < self._last_points
            if last or not (near and attempt.has_too_few_nodes(start, self._tolerance)):
                found = attempt.solve(start)
                if last or not found.converged or 2 * attempt.error <= self._tolerance:
                    self._last_points = points
                    return attempt.complete(found)
            points *= _MORE

    def _level(self, points: int) -> _Level:
        if points not in self._levels:
            law = self._laws(points)
            tested = law if self._test_laws is None else self._test_laws(points)
            self._levels[points] = _Level(law, tested, Potential(law, self._loss, 1.0))
        return self._levels[points]

    def _start(self, points: int, load: Load, fewer: SaddlePoint | None) -> SaddlePoint:
        """Return the start that is probably nearest.

        That is one from neighbours with the same nodes or with others, the solution of this
        point with fewer nodes, or one of a law of few nodes.
        """
        best, distance = fewer, math.inf if fewer is None else _NODES_APART
        for known, level in self._levels.items():
            guess = level.solved.guess(load)
            if guess is None:
                continue
            away = guess.distance + (0.0 if known == points else 0.1 * _NODES_APART)
            if away < distance:
                best, distance = SaddlePoint(guess.x, 0.0, math.inf, 0, True), away
        return self._level(points).rough(load) if best is None else best


@dataclasses.dataclass(frozen=True)
class _Level:
    """A law of some number of nodes, and what has been solved with it."""

    law: FeatureLaw
    tested: FeatureLaw
    potential: Potential
    solved: SolvedLoads = dataclasses.field(default_factory=SolvedLoads)

    @property
    def exact(self) -> bool:
        """Whether more nodes would change nothing."""
        return self.law.exact and self.tested.exact

    def rough(self, load: Load) -> SaddlePoint:
        """Return the solution for a law of few nodes that stands for this one."""
        few = Potential(self.law.coarse(), self.potential.loss, load.alpha)
        return solve_readout(few, load.ridge, tolerance=ROUGH_STEP)


class _Attempt:
    """A point with the nodes of one level."""

    def __init__(self, level: _Level, load: Load) -> None:
        self._level, self._load = level, load
        self._potential = level.potential.at(load.alpha)
        self.error = math.nan

    def has_too_few_nodes(self, start: SaddlePoint, tolerance: float) -> bool:
        """Return whether the nodes are so few that their own solution is not worth its time.

        They are if the spread at a start nearby is twice of what is allowed.
        """
        if not start.converged or start.smoothing > 0:
            return False
        if newton_distance(self._potential, self._load.ridge, start) > _NEAR:
            return False
        return self._spread(start, ScoreLaw.of(self._level.tested, start.overlaps)) > tolerance

    def solve(self, start: SaddlePoint) -> SaddlePoint:
        """Return the solution, and keep it as a neighbour and its numerical error."""
        found = solve_readout(self._potential, self._load.ridge, start)
        if not found.converged:
            return found
        if found.smoothing == 0:
            self._level.solved.add(self._load, found.x)
        self._scores = ScoreLaw.of(self._level.tested, found.overlaps)
        self.error = self._spread(found, self._scores)
        if not self._level.tested.exact:
            self.error = math.hypot(self.error, self._scores.unseen_error())
        return found

    def complete(self, found: SaddlePoint) -> SolvedPoint:
        """Return the solution with all that follows from it."""
        nodes = self._level.law.C.size
        if not found.converged:
            return SolvedPoint(found, None, math.nan, nodes, math.nan)
        answer = outcome(self._potential, found, self._level.tested, self._scores)
        return SolvedPoint(found, answer, self.error, nodes, self._potential.chi(found.x))

    def _spread(self, at: SaddlePoint, scores: ScoreLaw) -> float:
        return spread_of_test_error(
            self._potential, self._load.ridge, at, self._level.tested, scores
        )
