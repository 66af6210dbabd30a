"""How sharp to pool: a grid of sharpnesses, compared by their left-out losses."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence

import numpy as np
from jaxtyping import Float

from sparsetoken.fitting.linear_fit import LinearFit, choose_ridge
from sparsetoken.fitting.samples import Samples
from sparsetoken.fitting.task import Task

__all__ = ["GRID", "Candidate", "Choice", "choose", "gain"]

GRID = (0.25, 0.5, 1.0, 2.0, 4.0)  # besides 0; in units of 1 / standard deviation of the scores


@dataclasses.dataclass(frozen=True, eq=False)
class Candidate:
    """Scores to pool by.

    Attributes
    ----------
    kind : str
        Of the query: ``tied`` or ``two_step``.
    scores : array of shape (N,)
        Of each token, as a query gives them that has not seen its bag.
    sign : float
        1, or -1 for the opposite query, which shares the array of scores.
    """

    kind: str
    scores: Float[np.ndarray, " N"]
    sign: float = 1.0

    def sharpened(self, k: float) -> Float[np.ndarray, " N"]:
        """Return the scores of a sharpness."""
        return self.scores * self.scores.dtype.type(self.sign * k)


@dataclasses.dataclass(frozen=True, eq=False)
class Choice:
    """A candidate, a sharpness, and the readout of the features that they make."""

    candidate: Candidate
    sharpness: float
    fit: LinearFit


def choose(task: Task, candidates: Sequence[Candidate], grid: Iterable[float]) -> Choice:
    """Return the candidate and the sharpness of least left-out loss, if that beats pooling.

    It must beat sharpness 0 by more than one standard error of the difference, bag by bag;
    else sharpness 0 is chosen. An opposite query must beat the others by as much.
    Sharpnesses of the grid are > 0.
    """
    pooled, samples, ks = task.unsharpened_fit, task.samples, list(grid)
    around = pooled.ridge if pooled.w.any() else None  # a readout of zeros has no best ridge

    def tried(one: Candidate, k: float) -> Choice:
        F = task.features.pooled(one.sharpened(k))
        return Choice(one, k, choose_ridge(F, samples, task.loss, task.ridge, around))

    def best(sign: float) -> Choice | None:
        choices = [tried(one, k) for one in candidates if one.sign == sign for k in ks]
        return min(choices, key=lambda one: one.fit.left_out_loss(samples), default=None)

    found, opposite = best(1.0), best(-1.0)
    if found is None or (opposite and gain(opposite.fit, found.fit, samples) > 1):
        found = opposite
    if found is not None and gain(found.fit, pooled, samples) > 1:
        return found
    return Choice(candidates[0], 0.0, pooled)


def gain(fit: LinearFit, other: LinearFit, samples: Samples) -> float:
    """Return by how many standard errors the left-out loss of a fit is below that of another.

    nan where a loss is not finite or was not computed.
    """
    if fit.left_out is None or other.left_out is None:
        return float("nan")
    with np.errstate(invalid="ignore", divide="ignore"):
        gains = other.left_out - fit.left_out
        mean = samples.share @ gains
        return float(mean / np.sqrt(samples.variance_share @ np.square(gains - mean)))
