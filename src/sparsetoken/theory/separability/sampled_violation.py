"""The least violation over a law that is sampled, to a wanted relative error."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
from jaxtyping import Float

from sparsetoken.theory.feature_law import Coordinates, TokenFeatures
from sparsetoken.theory.separability.pilot import MOST_ROUNDS, Minimizer, pilot
from sparsetoken.theory.separability.proposal import LABELS, Proposal
from sparsetoken.theory.separability.streamed_law import SCRAMBLES, ClassNodes
from sparsetoken.theory.separability.training_sets import TrainingSets
from sparsetoken.theory.separability.violation import (
    Expansion,
    LeastViolation,
    expansion,
    squared_violation,
)

_FIRST = 512
_FINALISTS = 3  # proposals tried on more nodes, since their spread is uncertain too
_MOST_TOKENS = 2**28
_ROUGH = 1e-3  # largest tolerance of a limit that training sets are compared with
_SAMPLES = 2**11, 2**14  # of these sets at least, and at most
_LEAST_DIMENSION = 100  # of these sets, at the capacity
_FLAT = 0.05  # effective share of the nodes above which no rare one rules the mean


def sampled_violation(features: TokenFeatures, tolerance: float) -> LeastViolation:
    """Minimise E[(M + T g)_+^2] over (w_1, w_2, b) until twice its relative error is small enough.

    The value depends on the place of the minimum in second order only: a pilot of few nodes
    finds the place, the value there is averaged over many, and a last Newton step of these
    corrects it. Nodes are doubled, for the class that gains most, until
    the tolerance is reached or a limit of work.

    Where norms C of features are not bounded away from 0, the least violation may rest on samples
    that hardly a training set holds. If `TrainingSets` do not agree with it, theirs is returned,
    with a caution and with the distance from the limit as its error. Where there are more than a
    hundred samples per dimension no training sets are drawn.
    """
    if not features.sees_mean:  # the weights add up to 1, and C >= 1/sqrt(L)
        return _least(features, tolerance)
    sets, limit = TrainingSets.of(features, _SAMPLES[0]), LeastViolation(math.inf, 0.0, 0.0, 0)
    if not features.vanish and sets.median != 0:
        limit = _least(features, min(tolerance, _ROUGH), most_tokens=_MOST_TOKENS // 16)
    samples = _LEAST_DIMENSION / limit.value
    if samples > _SAMPLES[1]:
        return _least(features, tolerance)
    if samples > sets.samples:
        sets = TrainingSets.of(features, 2 ** math.ceil(math.log2(samples)))
    if math.isnan(sets.median):  # nothing that the limit could be compared with
        caution = "No training set was solved; count separable ones with simulation.is_separable."
        return dataclasses.replace(limit, caution=caution)
    if not sets.agree(1 / limit.value):
        return _of_sets(sets, limit)
    return limit if 2 * limit.error <= tolerance else _least(features, tolerance)


def _of_sets(sets: TrainingSets, limit: LeastViolation) -> LeastViolation:
    """Return the least violation of half of the sets, which is not the limit."""
    known = math.isfinite(limit.error)
    return dataclasses.replace(
        limit,
        value=1 / sets.median if sets.median else math.inf,
        error=abs(1 - 1 / (limit.value * sets.median)) if known and sets.median else 1.0,
        caution="Rare samples, all of whose weights are small, rule the capacity: half of the "
        f"training sets of {sets.samples} samples are separable at {sets.median:.4g} samples per "
        "weight, of larger ones fewer. Count those of your size with simulation.is_separable.",
    )


def _least(
    features: TokenFeatures, tolerance: float, most_tokens: int = _MOST_TOKENS
) -> LeastViolation:
    minimizer = Minimizer()
    means = _best_nodes(features, minimizer, tolerance)
    tokens = SCRAMBLES * features.layout(-1).dimensions
    drawn = sum(mean.points for mean in means) * tokens
    while True:
        estimate = _Estimate.of(means)
        if not 2 * estimate.error > tolerance or drawn > most_tokens:
            break
        if estimate.remainder > estimate.spread:
            minimizer.move(estimate.step)
            means = [mean.again(minimizer.x) for mean in means]
            drawn += sum(mean.points for mean in means) * tokens
        else:
            worst = max(means, key=lambda mean: mean.variance / mean.points)
            drawn += worst.points * tokens
            worst.add(worst.points)
    return LeastViolation(estimate.value, estimate.error, minimizer.residual, minimizer.iterations)


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
    def of(cls, means: list[_ClassMean]) -> _Estimate:
        here = Expansion.of(np.sum([m.scrambles.mean(axis=0) for m in means], axis=0))
        step = here.step
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


def _best_nodes(
    features: TokenFeatures, minimizer: Minimizer, tolerance: float
) -> list[_ClassMean]:
    """Return for each class the nodes on which the violation spreads least, as found by trial."""
    pilots = {c: pilot(features, c, minimizer) for c in features.tried}
    standard = Proposal.standard(features.problem.length)

    def trial(label: int, proposal: Proposal, coordinates: Coordinates) -> _ClassMean:
        nodes = ClassNodes(features, label, proposal, coordinates, stage=MOST_ROUNDS)
        mean = _ClassMean(nodes, minimizer.x)
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
