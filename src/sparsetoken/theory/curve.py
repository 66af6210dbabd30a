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
    test_error_spread,
)
from sparsetoken.theory.nearby import Load, SolvedLoads
from sparsetoken.theory.potential import Potential
from sparsetoken.theory.score_law import ScoreLaw

__all__ = ["FIRST_POINTS", "LAST_POINTS", "SolvedPoint", "solve_along"]

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
        Everything else holds only if it has converged.
    outcome : Outcome or None
        None if the saddle point was not reached.
    spread : float
        Standard error of the test error over the scrambles of the nodes.
    nodes : int
        Number of nodes of the law, over classes and scrambles.
    susceptibility : float
    """

    saddle: SaddlePoint
    outcome: Outcome | None
    spread: float
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

    Each point has the fewest nodes with which twice the standard error of its test error is
    below the tolerance, and is solved to the same length of the last Newton step. Its
    neighbours only give the place where Newton's method starts, so that its solution is the
    same in every sequence, to rounding.

    Parameters
    ----------
    laws : callable
        Maps a number of points for each class and scramble to the law of the features. It
        is called once for each number.
    loss : Loss
    loads : iterable of (alpha, ridge)
        alpha = n1/d in (0, inf], ridge >= 0. Solutions along an axis of one of them help to
        find the next.
    tolerance : float
        Of the test error.
    test_laws : callable, optional
        The law of the features of new data; by default the same.
    """
    sequence = _Sequence(laws, test_laws, loss, tolerance)
    for alpha, ridge in loads:
        yield sequence.solve(Load(alpha, ridge))


class _Level:
    """A law of some number of nodes, and what has been solved with it."""

    def __init__(self, law: FeatureLaw, tested: FeatureLaw, loss: Loss) -> None:
        self.law, self.tested = law, tested
        self._potential = Potential(law, loss, 1.0)
        self.solved = SolvedLoads()

    @property
    def exact(self) -> bool:
        """Whether more nodes would change nothing."""
        return self.law.exact and self.tested.exact

    def potential(self, load: Load) -> Potential:
        """Return the potential at a load."""
        return self._potential.at(load.alpha)


class _Sequence:
    """Solves points of one law one after another."""

    def __init__(self, laws: Laws, test_laws: Laws | None, loss: Loss, tolerance: float) -> None:
        self._laws, self._test_laws = laws, test_laws
        self._loss, self._tolerance = loss, tolerance
        self._levels: dict[int, _Level] = {}
        self._last_points = LAST_POINTS  # of the point before

    def solve(self, load: Load) -> SolvedPoint:
        """Return the solution at a load."""
        points, start = FIRST_POINTS, None
        while True:
            level = self._level(points)
            potential = level.potential(load)
            start = self._start(points, load, potential, start)
            last = points >= LAST_POINTS or level.exact
            doubtful = not last and points < self._last_points
            if not (doubtful and self._too_few(level, potential, load, start)):
                saddle = solve_readout(potential, load.ridge, start)
                if not saddle.converged:
                    return SolvedPoint(saddle, None, math.nan, level.law.C.size, math.nan)
                if saddle.smoothing == 0:
                    level.solved.add(load, saddle.x)
                scores = ScoreLaw.of(level.tested, saddle.overlaps)
                spread = test_error_spread(potential, load.ridge, saddle, level.tested, scores)
                if last or 2 * spread <= self._tolerance:
                    self._last_points = points
                    answer = outcome(potential, saddle, level.tested, scores)
                    chi = potential.chi(saddle.x)
                    return SolvedPoint(saddle, answer, spread, level.law.C.size, chi)
                start = saddle
            points *= _MORE

    def _level(self, points: int) -> _Level:
        if points not in self._levels:
            law = self._laws(points)
            tested = law if self._test_laws is None else self._test_laws(points)
            self._levels[points] = _Level(law, tested, self._loss)
        return self._levels[points]

    def _start(
        self, points: int, load: Load, potential: Potential, lower: SaddlePoint | None
    ) -> SaddlePoint:
        """Return the start that is probably nearest.

        That is one from neighbours with the same nodes or with others, the solution of this
        point with fewer nodes, or one of a law of few nodes.
        """
        best, distance = lower, _NODES_APART if lower is not None else math.inf
        for other, level in self._levels.items():
            guess = level.solved.guess(load)
            if guess is None:
                continue
            away = guess.distance + (0.0 if other == points else 0.1 * _NODES_APART)
            if away < distance:
                spent = 0 if lower is None else lower.iterations
                best, distance = SaddlePoint(guess.x, 0.0, math.inf, spent, True), away
        if best is not None:
            return best
        few = Potential(potential.law.coarse(), self._loss, load.alpha)
        return solve_readout(few, load.ridge, tolerance=ROUGH_STEP)

    def _too_few(self, level: _Level, potential: Potential, load: Load, start: SaddlePoint) -> bool:
        """Return whether the nodes are so few that their own solution is not worth its time.

        They are if the spread at a start nearby is twice of what is allowed.
        """
        if not start.converged or start.smoothing > 0:
            return False
        if newton_distance(potential, load.ridge, start) > _NEAR:
            return False
        return test_error_spread(potential, load.ridge, start, level.tested) > self._tolerance
