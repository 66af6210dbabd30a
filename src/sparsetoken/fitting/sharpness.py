"""How to pool, and how sharply: a grid of sharpnesses, compared by their left-out losses."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence

import numpy as np
from jaxtyping import Float

from sparsetoken.fitting.likelihood import likelihood_fits
from sparsetoken.fitting.linear_fit import CLEAR, LinearFit, gain
from sparsetoken.fitting.samples import Samples
from sparsetoken.fitting.signal_test import LEVEL
from sparsetoken.fitting.task import Task

GRID = (0.25, 0.5, 1.0, 2.0, 4.0)  # besides 0; in units of 1 / standard deviation of the scores


@dataclasses.dataclass(frozen=True, eq=False)
class Candidate:
    """Scores to pool by.

    Attributes
    ----------
    kind : str
        ``tied`` or ``two_step``, the query of attention, or ``likelihood``.
    scores : array of shape (N,)
        Of each token, as a query gives them that has not seen its bag.
    query : array of shape (d,), optional
        That of all bags, of sharpness 1.
    length : float
        What it was divided by.
    sign : float
        1, or -1 for the opposite query, which shares the array of scores.
    """

    kind: str
    scores: Float[np.ndarray, " N"]
    query: Float[np.ndarray, " d"] = dataclasses.field(default_factory=lambda: np.zeros(0))
    length: float = 1.0
    sign: float = 1.0

    def sharpened(self, k: float) -> Float[np.ndarray, " N"]:
        """Return the scores of a sharpness."""
        return self.scores * self.scores.dtype.type(self.sign * k)


@dataclasses.dataclass(frozen=True, eq=False)
class Choice:
    """A candidate, a sharpness, and the readout of what they make of the bags.

    That of ``likelihood`` is the slope and intercept of one number for each bag.
    """

    candidate: Candidate
    sharpness: float
    fit: LinearFit

    def loss(self, samples: Samples) -> float:
        """Return the left-out loss; infinite for likelihood pooling of the wrong direction.

        With a slope of the other sign the tokens that weigh most would speak for the class
        that lacks them.
        """
        if self.candidate.kind == "likelihood" and self.fit.w[0] * self.candidate.sign <= 0:
            return np.inf
        return self.fit.left_out_loss(samples)


def tried(
    task: Task, candidates: Iterable[Candidate], grid: Iterable[float], around: float | None = None
) -> list[Choice]:
    """Return every candidate at every sharpness.

    Ridges are searched around a given one, but for choices that are clearly worse with it
    than the best of all.
    """
    ks = list(grid)
    pairs = [(one, k) for one in candidates for k in ks]
    plain = (one.sharpened(k) for one, k in pairs if one.kind == "likelihood")
    likelihoods = iter(likelihood_fits(plain, task))
    found = [
        Choice(
            one, k, next(likelihoods) if one.kind == "likelihood" else _first(task, one, k, around)
        )
        for one, k in pairs
    ]
    if around is None or isinstance(task.ridge, float):
        return found
    top = min(found, key=lambda choice: choice.loss(task.samples), default=None)
    return [_refined(task, one) if _near(one, top, task.samples) else one for one in found]


def _first(task: Task, one: Candidate, k: float, around: float | None) -> LinearFit:
    F = task.features.pooled(one.sharpened(k))
    if around is None or isinstance(task.ridge, float):
        return task.fit(F)
    return task.fit_near(F, around)


def _near(one: Choice, top: Choice | None, samples: Samples) -> bool:
    """Whether another ridge may make this choice the best."""
    if one.candidate.kind == "likelihood":
        return False
    return top is None or one is top or not gain(one.fit, top.fit, samples) < -CLEAR


def _refined(task: Task, one: Choice) -> Choice:
    F = task.features.pooled(one.candidate.sharpened(one.sharpness))
    return dataclasses.replace(one, fit=task.refined(F, one.fit))


def best(choices: Iterable[Choice], samples: Samples) -> Choice | None:
    """Return the choice of least left-out loss.

    An opposite query must beat the others by more than one standard error.
    """

    def least(sign: float) -> Choice | None:
        losses = [one for one in every if one.candidate.sign == sign and one.loss(samples) < np.inf]
        return min(losses, key=lambda one: one.loss(samples), default=None)

    every = list(choices)
    found, opposite = least(1.0), least(-1.0)
    if found is None or (opposite and gain(opposite.fit, found.fit, samples) > 1):
        return opposite or found
    return found


def choose(task: Task, choices: Sequence[Choice], signal: float) -> Choice | None:
    """Return the choice of least left-out loss, or None where mean pooling does.

    It must beat mean pooling by more than one standard error of the difference, bag by bag, and
    `signal`, the p-value of labels that have nothing to do with tokens, must be below 0.05.
    """
    found = best(choices, task.samples)
    clear = found is not None and gain(found.fit, task.unsharpened_fit, task.samples) > 1
    return found if clear and signal < LEVEL else None
