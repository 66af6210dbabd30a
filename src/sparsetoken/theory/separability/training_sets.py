"""The least violation over the samples of training sets, in place of the law they are drawn from.

Elementwise weights of all tokens of a sample can be small at once. Divided by their norm C, the
margin of such a sample is that of the bias b/C, and what a bias costs the class that it speaks
against, E[(b/C)^2], may rest on samples so rare that hardly a training set holds one.
"""

from __future__ import annotations

import dataclasses
import math

import numpy as np
from jaxtyping import Float

from sparsetoken.numerics.newton import NewtonResult, damped_newton, follow
from sparsetoken.theory.feature_law import FeatureLaw
from sparsetoken.theory.separability.drawn_law import SCRAMBLES, drawn_law
from sparsetoken.theory.separability.proposal import LABELS, Proposal
from sparsetoken.theory.separability.search import separation_of_features
from sparsetoken.theory.separability.violation import (
    Expansion,
    Separation,
    expansion,
    least_violation,
)
from sparsetoken.theory.token_features import RelativeFeatures

_STAGE = 99  # of nodes that nothing else is found with
_ERRORS = 4.0  # standard errors of a median within which it may be the limit
_SHORTEST = 1e-6  # stands for the norm 0, over the median: it forbids a bias that matters
_ROUGH, _LAST = 1e-3, 2**12  # largest tolerance, and most nodes, of a limit that is compared
_SAMPLES = 2**11, 2**14  # of these sets at least, and at most
_LEAST_DIMENSION = 100  # of these sets, at the capacity


def separation_of_sets(features: RelativeFeatures, tolerance: float) -> tuple[Separation, str]:
    """Return the separation of features whose norms are not bounded away from 0, and a caution.

    The least violation may rest on samples that hardly a training set holds. If `TrainingSets` do
    not agree with it, theirs is returned, with a caution and with the distance from the limit as
    its error. Where there are more than a hundred samples per dimension no training sets are drawn.
    """
    sets = TrainingSets.of(features, _SAMPLES[0])
    limit = Separation(0.0, 0.0, np.zeros(3), 0.0, 0, True)
    if features.model.zero_codimension > 0 and sets.median != 0:
        limit = separation_of_features(features, min(tolerance, _ROUGH), _LAST)
    # E[1/C^2] diverges as slowly as a logarithm, of which no number of nodes says how far it goes.
    slowly = features.inverse_moments == 2
    samples = _LEAST_DIMENSION * limit.samples
    if slowly:
        samples = min(samples, _SAMPLES[1])
    elif samples > _SAMPLES[1]:
        return separation_of_features(features, tolerance), ""
    if samples > sets.samples:
        sets = TrainingSets.of(features, 2 ** math.ceil(math.log2(samples)))
    if math.isnan(sets.median):  # nothing that the limit could be compared with
        caution = "No training set was solved; count separable ones with simulation.is_separable."
        return limit, caution
    if not sets.agree(limit.samples):
        return _of_sets(sets, limit)
    if slowly:
        return limit._replace(error=max(limit.error, sets.error / sets.median)), ""
    return limit if 2 * limit.error <= tolerance else separation_of_features(
        features, tolerance
    ), ""


def _of_sets(sets: TrainingSets, limit: Separation) -> tuple[Separation, str]:
    """Return the separation of half of the sets, which is not the limit."""
    known = math.isfinite(limit.error) and sets.median > 0
    error = abs(1 - limit.samples / sets.median) if known else 1.0
    return limit._replace(samples=sets.median, error=error), (
        "Rare samples, all of whose weights are small, rule the capacity: half of the training "
        f"sets of {sets.samples} samples are separable at {sets.median:.4g} samples per weight, of "
        "larger ones fewer. Count those of your size with simulation.is_separable."
    )


@dataclasses.dataclass(frozen=True)
class TrainingSets:
    """Training sets of one size, with as many samples of either class, weighted by its rate.

    `capacities` are one over the least violation over the samples of each, 0 where both classes
    have the feature 0 and nan where it was not found.
    """

    samples: int
    capacities: Float[np.ndarray, " sets"]

    @classmethod
    def of(cls, features: RelativeFeatures, samples: int) -> TrainingSets:
        """Draw sets of an even number of samples, a scramble of plain nodes for each."""
        proposals = Proposal.of_classes(features.problem.length)
        law, _ = drawn_law(features, proposals, dict.fromkeys(LABELS, samples // 2), _STAGE)
        capacities = [_capacity(law.part(slice(i, i + 1))) for i in range(SCRAMBLES)]
        return cls(samples, np.array(capacities))

    @property
    def median(self) -> float:
        """The capacity of half of the sets, of those where it is found."""
        return float(np.median(self._found)) if self._found.size else math.nan

    @property
    def _found(self) -> Float[np.ndarray, " some"]:
        return self.capacities[np.isfinite(self.capacities)]

    @property
    def error(self) -> float:
        """The standard error of the median: it has pi/2 times the variance of a mean."""
        return math.sqrt(math.pi / 2 / SCRAMBLES) * float(np.std(self._found))

    def agree(self, capacity: float) -> bool:
        """Return whether a capacity is that of half of the sets.

        It may be as far away as the transition of n samples is wide, of relative order n^(-1/2),
        or as the median is uncertain.
        """
        width = self.median / math.sqrt(self.samples)
        return abs(self.median - capacity) <= max(width, _ERRORS * self.error)


def _capacity(law: FeatureLaw) -> float:
    """Return one over the least violation over nodes, nan where it is not found.

    Minima are followed while features that are shorter than a norm are scaled to it, and this
    norm falls from the median to 0.
    """
    if all(np.any((law.C[..., 0] == 0) & (law.y == label)) for label in LABELS):
        return 0.0
    median = np.median(law.C)
    C = np.where(law.C > 0, law.C / median, _SHORTEST)

    def scaled(norm: float) -> FeatureLaw:
        by = np.maximum(norm / C, 1.0)
        return dataclasses.replace(law, a=by * law.a / median, C=by * C)

    def newton(at: np.ndarray, norm: float) -> NewtonResult:
        there = scaled(norm)
        with np.errstate(all="ignore"):  # a step too far is refused by its norm
            return damped_newton(
                lambda x: Expansion.of(expansion(x, there).mean(axis=0)).system(), at
            )

    first = least_violation(scaled(1.0))
    at_start = NewtonResult(first.x, first.residual, first.iterations, first.converged)
    solution, last = follow(newton, at_start, 1.0, 0.0, enough=float(C.min()))
    # The few samples that are still scaled change the value by less than the transition is wide.
    few = np.count_nonzero(last > C) <= math.sqrt(C.size)
    # A bias near 0 is not known to the accuracy of the shortest features.
    places = solution.x, solution.x * [1, 1, 0]
    value = min(float(expansion(x, scaled(last))[:, 0].mean()) for x in places)
    return 1 / value if first.converged and few else math.nan
