"""Predicted errors of the models at a number of bags, each at its best setting."""

from __future__ import annotations

import dataclasses
import functools
import math

from sparsetoken.models import Attention, Model, Pooled, Vectorized, make_model
from sparsetoken.problem import SparseTokenProblem
from sparsetoken.stages import Query, Readout, TwoSteps
from sparsetoken.theory import predict_readouts
from sparsetoken.theory.alignment.two_steps import align_point

__all__ = ["COMPARED", "WORTH", "AttentionSetting", "Forecast", "Point", "better"]

COMPARED = tuple(kind.name for kind in (Attention, Pooled, Vectorized))
WORTH = 0.005  # differences of predicted errors below this count for nothing
_LOSS = "square"
_SPLITS = (0.1, 0.2, 0.35, 0.5, 0.7)
_SHARPNESSES = (0.25, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0)
_RIDGES = (1.0, 0.1, 0.01, 0.001)
_NODES = 64  # for each class and scramble: test errors to about a hundredth
_MANY = 1e6  # bags for each dimension, for the limit of infinite data


@dataclasses.dataclass(frozen=True)
class AttentionSetting:
    """Attention with a split and a sharpness.

    Attributes
    ----------
    error : float
        Predicted test error.
    split : float
        Share of the bags that serve the query; the others serve the readout.
    sharpness : float
        k, the standard deviation of the token scores within the softmax.
    cosine : float
        Of query and signal.
    """

    error: float
    split: float
    sharpness: float
    cosine: float


@dataclasses.dataclass(frozen=True)
class Point:
    """Predicted test errors at n bags.

    Attributes
    ----------
    n : int
    attention, pooled, vectorized : float
        nan for a model that the bags do not allow.
    split, sharpness, cosine : float
        The setting of attention; the query is found with the square loss.
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

    @property
    def models(self) -> list[str]:
        """The models that the bags allow."""
        return [model for model in COMPARED if not math.isnan(self.error(model))]


@dataclasses.dataclass(frozen=True)
class Forecast:
    """Predictions, with the square loss, for bags that look like a problem.

    Attributes
    ----------
    problem : SparseTokenProblem
    dimension : float
        The effective d.
    equal_sizes : bool
        Whether all bags have one size, so that the vectorized model can be fitted.
    """

    problem: SparseTokenProblem
    dimension: float
    equal_sizes: bool

    def at(self, n: float, *, near: AttentionSetting | None = None) -> Point:
        """Return the predicted errors at n bags.

        Parameters
        ----------
        n : float
        near : AttentionSetting, optional
            Where the search for the best sharpness and split starts.
        """
        vectorized = self.linear(Vectorized(), n) if self.equal_sizes else math.nan
        return self._point(n, self.best_attention(n, near), vectorized)

    def fixed(self, n: float, setting: AttentionSetting) -> Point:
        """Return the predicted errors at n bags with attention of a given setting.

        Without the vectorized model: it has the signal of the pooled one and L times the
        weights, so that it is never the best.
        """
        return self._point(n, self._attention(n, setting.split, setting.sharpness), math.nan)

    def error(self, model: str, n: float, setting: AttentionSetting) -> float:
        """Return the error of one model at n bags, attention with a given setting."""
        if model == Attention.name:
            return self._attention(n, setting.split, setting.sharpness).error
        return self.linear(make_model(model), n)

    def infinite(self, model: str) -> float:
        """Return the error of a model with infinite data."""
        n = _MANY * self.dimension
        if model == Attention.name:
            return self.best_attention(n).error
        return self.linear(make_model(model), n)

    def linear(self, model: Model, n: float) -> float:
        """Return the error of a model without a query at its best ridge."""
        return _least_error(self.problem, model, n / self.dimension)

    def best_attention(self, n: float, near: AttentionSetting | None = None) -> AttentionSetting:
        """Return attention at its best sharpness and split on a grid, searched in turn.

        Near a setting only the neighbours of its values are tried.
        """
        local = near is not None
        start = near or AttentionSetting(math.nan, 0.35, 1.0, math.nan)
        best = self._attention(n, start.split, start.sharpness)
        for _ in range(1 if local else 2):
            for k in _others(_SHARPNESSES, best.sharpness, local):
                best = _better_setting(best, self._attention(n, best.split, k))
            for split in _others(_SPLITS, best.split, local):
                best = _better_setting(best, self._attention(n, split, best.sharpness))
        return best

    def query_steps(self, n0: float, loss: str = _LOSS) -> TwoSteps:
        """Return the steps that find a query on n0 bags."""
        return TwoSteps(alpha=n0 / self.dimension, loss=loss)

    def _attention(self, n: float, split: float, k: float) -> AttentionSetting:
        if self.problem.length == 1:
            return AttentionSetting(self.linear(Pooled(), n), split, 0.0, 0.0)
        s = max(-1.0, min(1.0, align_point(self.problem, self.query_steps(split * n)).cosine))
        model = Attention(Query(s, k))
        error = _least_error(self.problem, model, (1 - split) * n / self.dimension)
        return AttentionSetting(error, split, k, s)

    def _point(self, n: float, setting: AttentionSetting, vectorized: float) -> Point:
        return Point(
            n=round(n),
            attention=setting.error,
            pooled=self.linear(Pooled(), n),
            vectorized=vectorized,
            split=setting.split,
            sharpness=setting.sharpness,
            cosine=setting.cosine,
        )

    @property
    def guess(self) -> float:
        """The error of always answering with the larger class."""
        pi = self.problem.positive_rate
        return min(pi, 1 - pi)


def better(point: Point, guess: float) -> str:
    """Return the model of least error; the pooled one unless another gains at least 0.005."""
    best = min(point.models, key=point.error)
    gain = point.pooled - point.error(best)
    return best if gain >= WORTH and point.error(best) < guess else Pooled.name


def _better_setting(one: AttentionSetting, other: AttentionSetting) -> AttentionSetting:
    """Return the setting of less error, of equal ones that of the smaller split."""
    return min(one, other, key=lambda setting: (setting.error, setting.split))


def _others(grid: tuple[float, ...], value: float, local: bool) -> tuple[float, ...]:
    """Return the grid without the value, or only the neighbours of the value."""
    if not local:
        return tuple(x for x in grid if x != value)
    below = [x for x in grid if x < value][-1:]
    above = [x for x in grid if x > value][:1]
    return tuple(below + above)


@functools.lru_cache(maxsize=4096)
def _least_error(problem: SparseTokenProblem, model: Model, alpha: float) -> float:
    """Return the least test error over a grid of ridges; infinite where none was found."""
    readouts = [Readout(_LOSS, ridge, alpha) for ridge in _RIDGES]
    found = predict_readouts(problem, model, readouts, nodes=_NODES)
    errors = [prediction.test_error for prediction in found]
    return min((e for e in errors if math.isfinite(e)), default=math.inf)
