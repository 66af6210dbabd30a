"""The least violation over a law that is sampled, to a wanted relative error."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
from jaxtyping import Float

from sparsetoken.theory.feature_law import Coordinates, TokenFeatures
from sparsetoken.theory.separability.pilot import LEAST_NODES, MOST_ROUNDS, Place, pilot
from sparsetoken.theory.separability.proposal import LABELS, Proposal
from sparsetoken.theory.separability.streamed_law import SCRAMBLES, ClassNodes, drawn_law
from sparsetoken.theory.separability.violation import (
    Expansion,
    LeastViolation,
    effective_number,
    expansion,
    squared_violation,
)

_FEW_NODES = 8.0  # on which the mean of a law of infinite mean rests
_FIRST = 512
_FINALISTS = 3  # proposals tried on more nodes, since their spread is uncertain too
_MOST_TOKENS = 2**28
_FLAT = 0.05  # effective share of the nodes above which no rare one rules the mean


def sampled_violation(features: TokenFeatures, tolerance: float) -> LeastViolation:
    """Minimise E[(M + T g)_+^2] over (w_1, w_2, b) until twice its relative error is small enough.

    The value depends on the place of the minimum in second order only: a pilot of few nodes
    finds the place, the value there is averaged over many, and a last Newton step of these
    corrects it. Nodes are doubled, for the class that gains most, until
    the tolerance is reached or a limit of work.

    What a bias costs is E[(b/C)^2]. Where that is infinite, by samples that are found among a
    few thousand, the bias is 0; where by samples rarer than any training set holds, they are
    left out. Where it is finite but hardly a node tells it, the least violation is bracketed:
    it is below that without a bias, and above that over the nodes, which miss some of the cost.
    """
    cost_nodes = _cost_nodes(features)
    without_bias = dataclasses.replace(features, needs_bias=False)
    if features.infinite_cost and cost_nodes < _FEW_NODES:
        return _least(without_bias, tolerance)
    if cost_nodes >= LEAST_NODES:
        return _least(features, tolerance)
    above = _least(without_bias, tolerance)
    found = _least(features, tolerance, most_tokens=_MOST_TOKENS // 16)
    value = 0.5 * (found.value + above.value)
    apart = 0.5 * abs(above.value - found.value) / value
    return LeastViolation(
        value=value,
        error=math.hypot(max(found.error, above.error), apart),
        residual=found.residual,
        iterations=found.iterations + above.iterations,
    )


def _least(
    features: TokenFeatures, tolerance: float, most_tokens: int = _MOST_TOKENS
) -> LeastViolation:
    place = Place(features.needs_bias)
    means = _best_nodes(features, place, tolerance)
    tokens = SCRAMBLES * features.layout(-1).dimensions
    drawn = sum(mean.points for mean in means) * tokens
    while True:
        estimate = _Estimate.of(means, with_bias=features.needs_bias)
        if not 2 * estimate.error > tolerance or drawn > most_tokens:
            break
        if estimate.remainder > estimate.spread:
            place.move(estimate.step)
            means = [mean.again(place.x) for mean in means]
            drawn += sum(mean.points for mean in means) * tokens
        else:
            worst = max(means, key=lambda mean: mean.variance / mean.points)
            drawn += worst.points * tokens
            worst.add(worst.points)
    return LeastViolation(estimate.value, estimate.error, place.residual, place.iterations)


def _cost_nodes(features: TokenFeatures) -> float:
    """Return the effective number of the first plain nodes in the mean of 1/C^2."""
    if features.shared > 0 or not features.needs_bias:
        return math.inf  # softmax weights have lengths in [1/sqrt(L), 1]
    standard, coordinates = Proposal.standard(features.problem.length), features.tried[0]
    law, _ = drawn_law([ClassNodes(features, y, standard, coordinates, 0) for y in LABELS], _FIRST)
    return effective_number(law.C**-2.0)


class _ClassMean:
    """The violation of one class at a place and its derivatives, over more and more nodes."""

    def __init__(self, nodes: ClassNodes, x: np.ndarray) -> None:
        self._nodes, self._x = nodes, x
        self._sums = np.zeros((SCRAMBLES, 10))
        self._squares = 0.0
        self.points = 0

    def add(self, points: int) -> None:
        """Draw so many more nodes of each scramble."""
        for block in self._nodes.blocks(points):
            self._sums[block.scramble] += expansion(self._x, block.law)[0]
            share = block.law.weight * squared_violation(self._x, block.law)
            self._squares += float(np.sum(share**2))
        self.points += points

    def again(self, x: np.ndarray) -> _ClassMean:
        """Return the mean at another place over the same nodes."""
        other = _ClassMean(self._nodes.again(), x)
        other.add(self.points)
        return other

    @property
    def scrambles(self) -> Float[np.ndarray, "s 10"]:
        return self._sums / self.points

    @property
    def variance(self) -> float:
        """Squared standard error of the value."""
        return float(np.var(self.scrambles[:, 0], ddof=1)) / SCRAMBLES

    @property
    def relative_error(self) -> float:
        value = float(self.scrambles[:, 0].mean())
        return math.sqrt(self.variance) / value if value > 0 else math.inf

    @property
    def flat(self) -> bool:
        """Whether so many nodes count that no rare one can rule the mean."""
        total = float(self._sums[:, 0].sum())
        return total**2 >= _FLAT * self._squares * self.points * SCRAMBLES


@dataclasses.dataclass(frozen=True)
class _Estimate:
    """The least violation by one Newton step from a place near it, with relative errors."""

    value: float
    spread: float
    remainder: float
    step: np.ndarray

    @classmethod
    def of(cls, means: list[_ClassMean], *, with_bias: bool) -> _Estimate:
        here = Expansion.of(np.sum([m.scrambles.mean(axis=0) for m in means], axis=0))
        step = here.step(with_bias=with_bias)
        decrease = -0.5 * float(step @ here.gradient)
        value = here.value - decrease
        if not value > 0:
            return cls(value, math.inf, 0.0, step)
        spread = math.sqrt(sum(m.variance for m in means)) / value
        # What the step leaves out is of third order.
        return cls(value, spread, abs(2 * decrease / value) ** 1.5, step)

    @property
    def error(self) -> float:
        return math.hypot(self.spread, self.remainder)


def _best_nodes(features: TokenFeatures, place: Place, tolerance: float) -> list[_ClassMean]:
    """Return for each class the nodes on which the violation spreads least, as found by trial."""
    pilots = {c: pilot(features, c, place) for c in features.tried}
    standard = Proposal.standard(features.problem.length)

    def trial(label: int, proposal: Proposal, coordinates: Coordinates) -> _ClassMean:
        nodes = ClassNodes(features, label, proposal, coordinates, stage=MOST_ROUNDS)
        mean = _ClassMean(nodes, place.x)
        mean.add(_FIRST)
        return mean

    best = []
    for label in LABELS:
        trials: list[_ClassMean] = []
        for c, fitted in pilots.items():
            plain = trial(label, standard, c)
            # Plain nodes that miss what is rare would seem to spread little.
            trials += [plain] if plain.flat else []
            if plain.flat and plain.relative_error < tolerance:
                break
            trials += [trial(label, p, c) for p in fitted[label].values()]
        trials = sorted(trials, key=lambda mean: mean.variance)[:_FINALISTS]
        if len(trials) > 1 and trials[0].relative_error > tolerance:
            for mean in trials:
                mean.add(3 * _FIRST)
        best.append(min(trials, key=lambda mean: mean.variance))
    return best
