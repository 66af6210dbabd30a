"""Predicted errors of the models at a number of bags, each at its best setting."""

from __future__ import annotations

import dataclasses
import functools
import math
from typing import NamedTuple

from sparsetoken.numerics.x64 import with_x64
from sparsetoken.problem import SparseTokenProblem
from sparsetoken.theory.alignment import align
from sparsetoken.theory.feature_law import FeatureLaw, feature_law
from sparsetoken.theory.learned_error import solve_readout
from sparsetoken.theory.potential import Potential
from sparsetoken.theory.score_law import ScoreLaw
from sparsetoken.training import FourStageTraining, Query

__all__ = ["MODELS", "SPLITS", "WORTH", "Attention", "Forecast", "Point", "better"]

MODELS = ("attention", "pooled", "vectorized")
SPLITS = (0.1, 0.2, 0.35, 0.5, 0.7)
_SHARPNESSES = (0.25, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0)
_RIDGES = (1.0, 0.1, 0.01, 0.001)
_POINTS = 64  # for each class and scramble: the test error is good to about 0.005
_MANY = 1e6  # bags for each dimension, for the limit of infinite data
WORTH = 0.005  # differences of predicted errors below this count for nothing


class Attention(NamedTuple):
    """Attention at its best split and sharpness.

    Attributes
    ----------
    error : float
    split : float
        Share of the bags for the query.
    sharpness : float
        k, the standard deviation of the token scores within the softmax.
    cosine : float
        Of query and signal.
    """

    error: float
    split: float
    sharpness: float
    cosine: float


class Point(NamedTuple):
    """Predicted test errors at n bags.

    Attributes
    ----------
    n : int
    attention, pooled, vectorized : float
        nan for a model that the bags do not allow.
    split, sharpness, cosine : float
        The setting of attention; the cosine is that of the loss of the forecast.
    """

    n: int
    attention: float
    pooled: float
    vectorized: float
    split: float
    sharpness: float
    cosine: float

    def error(self, model: str) -> float:
        """Return the error of a model."""
        return float(getattr(self, model))


@dataclasses.dataclass(frozen=True)
class Forecast:
    """Predictions for bags that look like a problem.

    Attributes
    ----------
    problem : SparseTokenProblem
    dimension : float
        The effective d.
    training : FourStageTraining
        Steps of the query; its loss is that of the readout, its ridge plays no part.
    equal_sizes : bool
        Whether the vectorized model can be fitted.
    """

    problem: SparseTokenProblem
    dimension: float
    training: FourStageTraining
    equal_sizes: bool

    def at(self, n: float, *, near: Attention | None = None) -> Point:
        """Return the predicted errors at n bags.

        Parameters
        ----------
        n : float
        near : Attention, optional
            A setting whose sharpness and split the search for the best starts from.
        """
        return self._point(n, self.attention(n, near))

    def fixed(self, n: float, setting: Attention) -> Point:
        """Return the predicted errors at n bags with attention of a given setting.

        Without the vectorized model: it has the signal of the pooled one and L times the
        weights, so that it is never the best.
        """
        found = self._attention(n, setting.split, setting.sharpness)
        return Point(round(n), found.error, self.linear("pooled", n), math.nan, *found[1:])

    def error(self, model: str, n: float, setting: Attention) -> float:
        """Return the error of one model at n bags, attention with a given setting."""
        if model == "attention":
            return self._attention(n, setting.split, setting.sharpness).error
        return self.linear(model, n)

    def _point(self, n: float, found: Attention) -> Point:
        vectorized = self.linear("vectorized", n) if self.equal_sizes else math.nan
        return Point(round(n), found.error, self.linear("pooled", n), vectorized, *found[1:])

    def trained_on(self, n0: float) -> FourStageTraining:
        """Return the training with n0 bags for the query."""
        return dataclasses.replace(self.training, alpha0=n0 / self.dimension)

    def linear(self, model: str, n: float) -> float:
        """Return the error of a model without a query at its best ridge."""
        return self._least(feature_law(model, self.problem, Query(0.0, 0.0), "erf", 1), n)

    def attention(self, n: float, near: Attention | None = None) -> Attention:
        """Return attention at its best split and sharpness of a grid, each searched in turn."""
        start = near or Attention(math.nan, 0.35, 1.0, math.nan)
        best = self._attention(n, start.split, start.sharpness)
        for _ in range(1 if near else 2):
            for k in _around(_SHARPNESSES, best.sharpness, near is not None):
                best = min(best, self._attention(n, best.split, k))
            for split in _around(SPLITS, best.split, near is not None):
                best = min(best, self._attention(n, split, best.sharpness))
        return best

    def infinite(self, model: str) -> float:
        """Return the error with endless data."""
        n = _MANY * self.dimension
        return self.attention(n).error if model == "attention" else self.linear(model, n)

    def _attention(self, n: float, split: float, k: float) -> Attention:
        if self.problem.length == 1:
            return Attention(self.linear("pooled", n), split, 0.0, 0.0)
        s = _cosine(self.problem, self.trained_on(split * n))
        law = _attention_law(self.problem, round(s, 2), k)
        return Attention(self._least(law, (1 - split) * n), split, k, s)

    @with_x64
    def _least(self, law: FeatureLaw, n: float) -> float:
        """Return the least error over a grid of ridges."""
        potential = Potential(law, self.training.loss, n / self.dimension)
        least, readout = math.inf, None
        for ridge in _RIDGES:
            readout = solve_readout(potential, ridge, readout)
            if readout.converged:
                least = min(least, ScoreLaw.of(law, readout.overlaps).test_error())
        return least

    @property
    def guess(self) -> float:
        """The error of the larger class for all."""
        pi = self.problem.positive_rate
        return min(pi, 1 - pi)


def better(point: Point, guess: float) -> str:
    """Return the model of least error; the pooled one unless another gains at least 0.005."""
    best = min((m for m in MODELS if not math.isnan(point.error(m))), key=point.error)
    gain = point.pooled - point.error(best)
    return best if gain >= WORTH and point.error(best) < guess else "pooled"


def _around(grid: tuple[float, ...], value: float, local: bool) -> tuple[float, ...]:
    """Return the grid without the value, or only the neighbours of the value."""
    if not local:
        return tuple(x for x in grid if x != value)
    below = [x for x in grid if x < value][-1:]
    above = [x for x in grid if x > value][:1]
    return tuple(below + above)


@functools.lru_cache(maxsize=4096)
def _cosine(problem: SparseTokenProblem, training: FourStageTraining) -> float:
    return max(-1.0, min(1.0, align(problem, training).cosine))


@functools.lru_cache(maxsize=512)
def _attention_law(problem: SparseTokenProblem, s: float, k: float) -> FeatureLaw:
    law = feature_law("attention", problem, Query(s, k), "erf", _POINTS)
    # All scrambles as one: no error estimate is needed, and one block of nodes is faster.
    names = ("along", "across", "C", "y", "weight")
    columns = {name: getattr(law, name).reshape(1, -1) for name in names}
    columns["weight"] = columns["weight"] / len(law.C)
    return dataclasses.replace(law, **columns)
