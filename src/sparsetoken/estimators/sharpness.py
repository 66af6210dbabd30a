"""How sharp to pool: a grid of sharpnesses, compared by their left-out losses."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from sparsetoken.bags import Bags
from sparsetoken.bags.segments import segment_mean, weighted_sum
from sparsetoken.estimators.coordinates import Coordinates
from sparsetoken.estimators.pooling import pooling_weights
from sparsetoken.estimators.readout import Readout, Samples, choose_ridge
from sparsetoken.losses import Loss

__all__ = ["GRID", "Candidate", "Chosen", "Featurizer", "choose"]

GRID = (0.25, 0.5, 1.0, 2.0, 4.0)  # besides 0; in units of 1 / standard deviation of the scores


class Candidate(NamedTuple):
    """Scores to pool by.

    Attributes
    ----------
    name : str
        The kind of query.
    scores : array of shape (N,)
        Of each token, as a query gives them that has not seen its bag.
    """

    name: str
    scores: Float[np.ndarray, " N"]


class Chosen(NamedTuple):
    """A kind of query, a sharpness and the readout of the features they make."""

    name: str
    sharpness: float
    readout: Readout


class Featurizer(NamedTuple):
    """Makes features of scores.

    Attributes
    ----------
    bags : Bags
    coordinates : Coordinates
    activation : str
    """

    bags: Bags
    coordinates: Coordinates
    activation: str = "softmax"

    def __call__(self, scores: Float[np.ndarray, " N"]) -> Float[np.ndarray, "n d"]:
        """Return the weighted sums of the tokens, in the coordinates."""
        bags = self.bags
        weights = pooling_weights(scores, bags, self.activation)
        total = 1.0 if self.activation == "softmax" else _sums(weights, bags)
        return self.coordinates.summed(weighted_sum(bags.tokens, weights, bags.offsets), total)


def choose(
    featurize: Featurizer,
    candidates: Iterable[Candidate],
    grid: Iterable[float],
    samples: Samples,
    loss: Loss,
    ridge: float | str,
    pooled: Readout,
) -> Chosen:
    """Return the candidate and the sharpness of least left-out loss, if that beats pooling.

    It must beat the mean token by more than one standard error of the difference, bag by bag;
    else sharpness 0 is chosen.

    Parameters
    ----------
    featurize : Featurizer
    candidates : iterable of Candidate
    grid : iterable of floats > 0
    samples : Samples
    loss : Loss
    ridge : float or "auto"
    pooled : Readout
        Of the mean token.
    """
    share, best = samples.share, None
    candidates = list(candidates)
    for candidate in candidates:
        for k in grid:
            F = featurize(candidate.scores * candidate.scores.dtype.type(k))
            readout = choose_ridge(F, samples, loss, ridge, around=pooled.ridge)
            if best is None or share @ readout.losses < share @ best.readout.losses:
                best = Chosen(candidate.name, k, readout)
    if best is not None and _clear(pooled.losses - best.readout.losses, samples):
        return best
    return Chosen(candidates[0].name, 0.0, pooled)


def _clear(gain: Float[np.ndarray, " n"], samples: Samples) -> bool:
    """Whether a mean gain is more than its standard error."""
    share = samples.share
    with np.errstate(invalid="ignore"):
        mean = share @ gain
        error = np.sqrt(np.square(share) @ np.square(gain - mean))
    return bool(mean > error)


def _sums(weights: np.ndarray, bags: Bags) -> np.ndarray:
    return segment_mean(weights[:, None], bags.offsets)[:, 0] * bags.sizes
