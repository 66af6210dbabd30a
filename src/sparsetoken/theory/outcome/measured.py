"""The outcome of a readout on nodes of its features, and the errors of all its numbers."""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np

from sparsetoken.losses import Loss
from sparsetoken.losses.exact_fit import ExactFit
from sparsetoken.numerics.errors import stated_error
from sparsetoken.results import Record
from sparsetoken.results.record import over_rows
from sparsetoken.theory.laws.feature_law import FeatureLaw
from sparsetoken.theory.outcome.scores import ScoreDistribution
from sparsetoken.theory.saddle.covariances import Pull
from sparsetoken.theory.saddle.equations import Load, SaddleEquations
from sparsetoken.theory.saddle.loss_means import Means, OrderParameters
from sparsetoken.theory.saddle.solve import SaddlePoint, solve_readout

AnyRecord = TypeVar("AnyRecord", bound=Record)


class SolvedReadout(NamedTuple):
    """A readout, and what the samples that it was fitted to do to it.

    Its mean loss over them is that at the scores after the fit. A readout that fits exactly has
    neither loss nor training error, and an infinite susceptibility.
    """

    load: Load
    smoothing: float
    state: OrderParameters
    pull: Pull
    training_loss: float
    fits_exactly: bool


def solutions(
    equations: SaddleEquations, saddle: SaddlePoint
) -> tuple[SolvedReadout, list[SolvedReadout]]:
    """Return the solution of all nodes, and that of each scramble, a Newton step away.

    l(y, z*) is the envelope less V p^2/2, whose mean is chi times the gradient in chi.
    """
    load, mu = saddle.load, saddle.smoothing
    exactly = isinstance(equations.loss, ExactFit)

    def of(state: OrderParameters, means: Means) -> SolvedReadout:
        gradient = means.gradient.mean(axis=0)
        loss = 0.0 if exactly else float(means.value.mean() + gradient[equations.chi] @ state.chi)
        return SolvedReadout(load, mu, state, equations.pull_of(state, gradient), loss, exactly)

    means = equations.means.at(saddle.state, mu)
    common = of(saddle.state, means)
    if len(means.value) == 1:
        return common, [common]
    own = []
    for number, step in enumerate(equations.scramble_steps(saddle.x, load, mu)):
        state = equations.state(saddle.x + step, load.samples)
        part = Means(*(values[number : number + 1] for values in means))
        own.append(of(state, part.moved(state.vector - saddle.state.vector)))
    return common, own


def scores_on(nodes: FeatureLaw, state: OrderParameters) -> ScoreDistribution:
    """Return the scores of a readout on data with the directions and covariances of the nodes."""
    return ScoreDistribution.of(nodes, state.p, state.b, state.q)


@dataclasses.dataclass(frozen=True, eq=False)
class Scored:
    """A readout, with its scores on data like those fitted and on new data.

    An AUC that is known is not computed again.
    """

    solution: SolvedReadout
    loss: Loss
    nodes: FeatureLaw
    fitted: ScoreDistribution
    new: ScoreDistribution
    known_auc: float | None = None

    @functools.cached_property
    def after_fit(self) -> ScoreDistribution:
        """Scores whose sign is that of fitted samples, from those of new data like them.

        Equation: learned-error. y z* < 0 where the score of a new sample is beyond the point that
        the prox maps to 0.
        """
        V = self.solution.smoothing + self.nodes.C**2 @ self.solution.state.chi
        turn = V * self.loss.slope(self.nodes.y, 0 * self.nodes.y)
        return dataclasses.replace(self.fitted, mean=self.fitted.mean - turn)

    @property
    def auc(self) -> float:
        """The AUC on new data."""
        return self.new.auc() if self.known_auc is None else self.known_auc


@dataclasses.dataclass(frozen=True, eq=False)
class Measured:
    """What a readout is worth on new data of a problem, and the errors of all its numbers.

    Equation: shifted-test-law. The readout stays; new data, with nodes `tested`, may have another
    law than the training's.

    Each scramble gives an outcome, with a readout of its own: the errors are those of their mean. A
    test law of its own has scrambles of its own, drawn from the same numbers. Errors of class have
    an error from events that no node has seen, but for nodes that are `drawn` where these are.
    """

    features: Any
    problem: Any
    equations: SaddleEquations
    saddle: SaddlePoint
    tested: FeatureLaw
    drawn: bool = False

    @functools.cached_property
    def solutions(self) -> tuple[SolvedReadout, list[SolvedReadout]]:
        """The solution of all nodes, and that of each scramble."""
        return solutions(self.equations, self.saddle)

    @functools.cached_property
    def _whole(self) -> Scored:
        return self._scored(self.solutions[0], self.equations.nodes, self.tested)

    @functools.cached_property
    def _scrambles(self) -> list[Scored]:
        nodes, own = self.equations.nodes, self.solutions[1]
        count = max(len(nodes.y), len(self.tested.y))
        return [
            self._scored(own[n % len(own)], _scramble(nodes, n), _scramble(self.tested, n), n)
            for n in range(count)
        ]

    def _scored(
        self, one: SolvedReadout, fitted: FeatureLaw, new: FeatureLaw, first: int = 0
    ) -> Scored:
        features, loss = self.features, self.equations.loss
        scores = features.scores(fitted, one.state, first)
        if self.problem == features.problem:
            return Scored(one, loss, fitted, scores, scores)
        state = features.state_on(self.problem, one)
        return Scored(one, loss, fitted, scores, features.scores(new, state, first))

    @functools.cached_property
    def test_error(self) -> float:
        """The test error."""
        return self._whole.new.test_error()

    @functools.cached_property
    def error_of_test_error(self) -> float:
        """The error of the test error."""
        values = np.array([one.new.test_error() for one in self._scrambles])
        return math.hypot(float(stated_error(values)), self._unseen(self._whole.new, self.tested))

    def _unseen(self, scores: ScoreDistribution, law: FeatureLaw) -> float:
        return 0.0 if self.drawn or law.exact else scores.unseen_error()

    @functools.cached_property
    def numbers(self) -> tuple[Any, Any]:
        """The outcome, and its errors."""
        rows = [self.features.outcome(one) for one in self._scrambles]
        whole, outcome = self._whole, rows[0]
        if len(rows) > 1:
            if hasattr(outcome, "auc"):
                auc = float(np.mean([row.auc for row in rows]))
                whole = dataclasses.replace(whole, known_auc=auc)
            outcome = self.features.outcome(whole)
        errors = errors_of(rows)
        if self.saddle.smoothing > 0:
            errors = over_rows([errors, self._moved_by_smoothing(outcome)], _hypot)
        more: dict[str, Any] = {"test_error": self.error_of_test_error}
        if hasattr(errors, "training_error") and not whole.solution.fits_exactly:
            unseen = self._unseen(whole.after_fit, self.equations.nodes)
            more["training_error"] = math.hypot(float(errors.training_error), unseen)
        return outcome, dataclasses.replace(errors, **more)

    def _moved_by_smoothing(self, outcome: Record) -> Record:
        """Return how much all numbers change at twice the smoothing, about what is left of it."""
        twice = dataclasses.replace(self.saddle, smoothing=2 * self.saddle.smoothing)
        other = solve_readout(self.equations, self.saddle.load, twice)
        rougher = dataclasses.replace(self, saddle=other)
        moved = self.features.outcome(rougher._whole)
        return over_rows([outcome, moved], lambda pair: np.abs(pair[1] - pair[0]))


def _scramble(law: FeatureLaw, number: int) -> FeatureLaw:
    """Return one of the scrambles, over and over."""
    place = number % len(law.y)
    return law.part(slice(place, place + 1))


def _hypot(pair: np.ndarray) -> np.ndarray:
    return np.asarray(np.hypot(*pair))


def errors_of(rows: Sequence[AnyRecord]) -> AnyRecord:
    """Return the error of the mean of each number over independent records; 0 for a single one."""

    def error(values: np.ndarray) -> np.ndarray:
        alike = (values == values[:1]).all(axis=0)  # a susceptibility may be infinite in all
        return stated_error(np.where(alike, 0.0, values))

    return over_rows(rows, error)
