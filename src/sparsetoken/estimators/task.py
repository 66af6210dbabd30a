"""One two-class problem: the data, the options, and the steps that all trainings share."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float

from sparsetoken.bags import Bags
from sparsetoken.bags.segments import segment_mean
from sparsetoken.estimators.coordinates import Coordinates
from sparsetoken.estimators.queries import Steps, pooled_readouts, two_steps
from sparsetoken.estimators.readout import Readout, Samples, choose_ridge
from sparsetoken.estimators.sharpness import Featurizer
from sparsetoken.losses import Loss

__all__ = ["Options", "Queries", "Task", "Trained", "evidence"]


class Options(NamedTuple):
    """Checked parameters of an estimator; `sparsetoken.AttentionClassifier` explains them."""

    training: str
    temperature: float | str
    split: float | str
    ridge: float | str
    query_ridge: float | str
    n_restarts: int
    n_folds: int
    steps: Steps


class Trained(NamedTuple):
    """What training found, in the coordinates.

    Attributes
    ----------
    q : array of shape (d,)
        With the sharpness in it.
    w : array of shape (d,)
    b : float
    ridge : float
    kind : str
        Of the query: tied, two_step or joint; mean where none is used.
    sharpness : float
        Standard deviation of the token scores.
    evidence : float
        Of the query, as `evidence` has it; nan if not measured.
    gain : float
        Standard errors by which the left-out loss is below that of pooling; nan if not measured.
    """

    q: Float[np.ndarray, " d"]
    w: Float[np.ndarray, " d"]
    b: float
    ridge: float
    kind: str
    sharpness: float
    evidence: float
    gain: float


class Queries(NamedTuple):
    """Queries of unit sharpness, one for each subset of the bags.

    Attributes
    ----------
    Q : array of shape (d, S)
    scores : array of shape (N, S)
        Of all tokens, with standard deviation 1 (0 for a query of length 0).
    length : array of shape (S,)
        What the queries were divided by.
    """

    Q: Float[np.ndarray, "d S"]
    scores: Float[np.ndarray, "N S"]
    length: Float[np.ndarray, " S"]


@dataclasses.dataclass(frozen=True)
class Task:
    """One class against another, or against the rest.

    Attributes
    ----------
    featurize : Featurizer
    means : array of shape (n, d)
        The mean tokens, in the coordinates.
    samples : Samples
    loss : Loss
    options : Options
    rng : RandomState
    """

    featurize: Featurizer
    means: Float[np.ndarray, "n d"]
    samples: Samples
    loss: Loss
    options: Options
    rng: np.random.RandomState

    @property
    def bags(self) -> Bags:
        """The bags."""
        return self.featurize.bags

    @property
    def coordinates(self) -> Coordinates:
        """The coordinates."""
        return self.featurize.coordinates

    @functools.cached_property
    def mean_readout(self) -> Readout:
        """The readout of the mean token."""
        return self.readout(self.means)

    @functools.cached_property
    def pooled(self) -> Readout:
        """The readout of what sharpness 0 makes of the bags."""
        if self.featurize.activation == "softmax":
            return self.mean_readout
        return self.readout(self.featurize(np.zeros(len(self.bags.tokens), self.bags.dtype)))

    def readout(self, features: Float[np.ndarray, "n d"]) -> Readout:
        """Return the readout of features."""
        return choose_ridge(features, self.samples, self.loss, self.options.ridge)

    def queries(self, kind: str, subsets: Sequence[Bool[np.ndarray, " n"]]) -> Queries:
        """Return the queries of one kind that subsets of the bags give."""
        if kind == "tied":
            ridge = self.mean_readout.ridge
            Q = pooled_readouts(self.means, self.samples, subsets, self.loss, ridge)
        else:
            data = (self.bags, self.means, self.samples, subsets, self.coordinates)
            Q = two_steps(*data, self.loss, self.options.steps)
        return self.unit(Q)

    def unit(self, Q: Float[np.ndarray, "d S"]) -> Queries:
        """Return the queries divided so that their token scores have standard deviation 1."""
        # Divided by the length first: float32 scores of a small step would lose digits.
        norm = np.linalg.norm(Q, axis=0)
        unit = Q / np.where(norm > 0, norm, 1.0)
        place, dtype = self.coordinates, self.bags.dtype
        offset = np.array([place.offset(q) for q in unit.T])
        scores = self.bags.tokens @ place.raw(unit.T).T.astype(dtype) + offset.astype(dtype)
        spread = np.array([self.spread(column) for column in scores.T])
        scale = np.where(spread > 0, spread, 1.0)
        scores /= scale.astype(dtype)
        return Queries(unit / scale, scores, norm * scale)

    def spread(self, scores: Float[np.ndarray, " N"]) -> float:
        """Return the standard deviation of token scores, each weighted as its bag."""
        weight, sizes = self.samples.weight / self.samples.unit, self.bags.sizes
        share = np.repeat(weight / (weight @ sizes), sizes)
        moved = scores.astype(np.float64) - float(scores[0])  # equal scores become exact zeros
        return float(np.sqrt(share @ np.square(moved - share @ moved)))

    def take(self, rows: Bool[np.ndarray, " n"]) -> Task:
        """Return the task of some bags."""
        part = self.featurize._replace(bags=self.bags[rows])
        means, samples = self.means[rows], self.samples.take(rows)
        return dataclasses.replace(self, featurize=part, means=means, samples=samples)


def evidence(scores: Float[np.ndarray, " N"], bags: Bags, samples: Samples) -> float:
    """Return how many standard errors the mean scores of positive bags are above the others.

    The scores must be of a query that has not seen the bags. A query of tokens of the other
    class gives a negative number. Without signal the number has a standard deviation of 1 for one
    query, and of about 1.5 over the queries of several folds, which share bags.
    """
    m, plus = segment_mean(scores[:, None], bags.offsets)[:, 0].astype(float), samples.y > 0
    mean, variance = zip(
        *(_mean(m[rows], samples.take(rows)) for rows in (plus, ~plus)), strict=True
    )
    return float((mean[0] - mean[1]) / np.sqrt(sum(variance))) if sum(variance) > 0 else 0.0


def _mean(values: Float[np.ndarray, " n"], samples: Samples) -> tuple[float, float]:
    """Return the weighted mean and its variance, free of bias for samples of equal law."""
    mean, parts = float(samples.share @ values), samples.parts
    lost = max(1 - parts.sum(), np.finfo(float).eps)  # 1 - 1/n for equal weights
    return mean, float(parts @ np.square(values - mean)) / lost
