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

__all__ = ["GRID", "Candidate", "Chosen", "Featurizer", "choose", "gain"]

GRID = (0.25, 0.5, 1.0, 2.0, 4.0)  # besides 0; in units of 1 / standard deviation of the scores


class Candidate(NamedTuple):
    """Scores to pool by.

    Attributes
    ----------
    name : str
        The kind of query.
    scores : array of shape (N,)
        Of each token, as a query gives them that has not seen its bag.
    sign : float
        1, or -1 for the query turned round: it shares the array of scores.
    """

    name: str
    scores: Float[np.ndarray, " N"]
    sign: float = 1.0

    def sharpened(self, k: float) -> Float[np.ndarray, " N"]:
        """Return the scores of a sharpness."""
        return self.scores * self.scores.dtype.type(self.sign * k)


class Chosen(NamedTuple):
    """A kind of query, its sign, a sharpness and the readout of the features they make."""

    name: str
    sign: float
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
    else sharpness 0 is chosen. A query turned round must beat the others by as much.

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
    candidates, grid = list(candidates), list(grid)
    around = pooled.ridge if pooled.w.any() else None  # without weights no ridge is best

    def best(sign: float) -> Chosen | None:
        tried = []
        for one in candidates:
            for k in grid if one.sign == sign else ():
                F = featurize(one.sharpened(k))
                readout = choose_ridge(F, samples, loss, ridge, around)
                tried.append(Chosen(one.name, sign, k, readout))
        return min(tried, key=lambda one: samples.share @ one.readout.losses, default=None)

    found, turned = best(1.0), best(-1.0)
    if found is None or (turned and gain(turned.readout, found.readout, samples) > 1):
        found = turned
    if found is not None and gain(found.readout, pooled, samples) > 1:
        return found
    return Chosen(candidates[0].name, candidates[0].sign, 0.0, pooled)


def gain(readout: Readout, pooled: Readout, samples: Samples) -> float:
    """Return how many standard errors the left-out loss is below that of pooling.

    nan where a loss is not finite or there is none.
    """
    if not (readout.losses.size and pooled.losses.size):
        return float("nan")
    with np.errstate(invalid="ignore", divide="ignore"):
        gains = pooled.losses - readout.losses
        mean = samples.share @ gains
        return float(mean / np.sqrt(samples.parts @ np.square(gains - mean)))


def _sums(weights: np.ndarray, bags: Bags) -> np.ndarray:
    return segment_mean(weights[:, None], bags.offsets)[:, 0] * bags.sizes
