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
    """

    q: Float[np.ndarray, " d"]
    w: Float[np.ndarray, " d"]
    b: float
    ridge: float
    kind: str
    sharpness: float
    evidence: float

    @classmethod
    def of(
        cls, q: np.ndarray, readout: Readout, kind: str, sharpness: float, evidence: float
    ) -> Trained:
        """Return the result for a query of unit sharpness."""
        w, b, ridge = readout[:3]
        return cls(sharpness * q, w, b, ridge, kind, sharpness, evidence)


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

    @property
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
        spread = scores.std(axis=0, dtype=np.float64)
        scale = np.where(spread > 0, spread, 1.0)
        scores /= scale.astype(dtype)
        return Queries(unit / scale, scores, norm * scale)

    def take(self, rows: Bool[np.ndarray, " n"]) -> Task:
        """Return the task of some bags."""
        part = self.featurize._replace(bags=self.bags[rows])
        means, samples = self.means[rows], self.samples.take(rows)
        return dataclasses.replace(self, featurize=part, means=means, samples=samples)


def evidence(scores: Float[np.ndarray, " N"], bags: Bags, samples: Samples) -> float:
    """Return how many standard errors the mean scores of positive bags are above the others.

    The scores must be of a query that has not seen the bags. A query that turns away from the
    signal gives a negative number, one without signal a number of size 1.
    """
    m, plus = segment_mean(scores[:, None], bags.offsets)[:, 0].astype(float), samples.y > 0
    variance = sum(m[rows].var() / max(1, np.count_nonzero(rows) - 1) for rows in (plus, ~plus))
    gap = m[plus].mean() - m[~plus].mean()
    return float(gap / np.sqrt(variance)) if variance > 0 else 0.0
