"""The four stages on any task: a readout fitted to the features of a frozen query."""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from jaxtyping import Float
from scipy.special import ndtri

from sparsetoken.base.validation import InvalidInput
from sparsetoken.losses import Loss
from sparsetoken.model.base import Problem
from sparsetoken.model.frozen import frozen
from sparsetoken.model.models import Model
from sparsetoken.model.stages import Readout
from sparsetoken.numerics.backend import compiled
from sparsetoken.results import TaskOutcome, TaskPrediction, Weights
from sparsetoken.theory.accuracy import (
    allowed_error,
    allowed_of_loss,
    allowed_of_weights,
)
from sparsetoken.theory.laws.feature_law import FeatureLaw
from sparsetoken.theory.laws.task import Bags, bags_of
from sparsetoken.theory.laws.tokens import SCRAMBLES
from sparsetoken.theory.outcome.measured import Scored
from sparsetoken.theory.outcome.scores import ScoreDistribution
from sparsetoken.theory.readout.curve import LearningCurve, SolvedPoint
from sparsetoken.theory.readout.features import Features, isotropic
from sparsetoken.theory.saddle.loss_means import OrderParameters

_SEED = 20251127  # any fixed number: the same nodes in every run
_BLOCK = 2**20  # normals in memory at once
_PRODUCTS = 2**23  # numbers that products of the order parameters may take in each scramble
_HEIGHTS = 16  # nodes along the score, shifted together at each node of the features


def predict_task(
    task: Problem, model: Model, readouts: Sequence[Readout], tolerance: float
) -> list[TaskPrediction]:
    """Return predictions of readouts of one loss on a task.

    Raises
    ------
    InvalidInput
        If the model or its query is not known for tasks, there are K > 2 classes, tokens have a
        covariance, the ridge is 0, or the loss does not fit the targets.
    """
    loss = readouts[0].loss
    for readout in readouts:
        if not readout.ridge > 0:
            remedy = "Use a small ridge such as 1e-6."
            raise InvalidInput("ridge (lambda) on a task", "> 0", readout.ridge, remedy)
    features = TaskFeatures(task, model, loss)
    curve = LearningCurve(features, task, loss, tolerance)
    solved = [curve.solve(one.alpha1, one.ridge) for one in readouts]
    return [_predicted(features, point) for point in solved]


def _predicted(features: TaskFeatures, point: SolvedPoint) -> TaskPrediction:
    saddle, outcome, errors = point.saddle, point.outcome, point.errors
    if not saddle.converged:
        outcome = errors = features.unknown()
    return TaskPrediction.of(
        outcome,
        errors=errors,
        numerical_error=errors.test_error,
        residual=saddle.residual,
        iterations=saddle.iterations,
        status=point.status,
    )


def allowed_errors(outcome: TaskOutcome, tolerance: float) -> dict[str, float]:
    """Return by column what a tolerance allows twice the error of a number to be."""
    w = outcome.weights
    size = max(float(w.norms[-1]), abs(float(w.c[0])))
    allowed = {
        "test_error": allowed_error(float(outcome.test_error), tolerance),
        "training_loss": allowed_of_loss(float(outcome.training_loss), tolerance),
    }
    for name in w.columns():
        own = 1.0 if name.startswith("cosine") else size
        allowed[name] = allowed_of_weights(own, tolerance)
    return allowed


class TaskFeatures(Features):
    """The features of a model on a task, in its directions and what of the query is beside them.

    Equation: task-features. A query with the cosines s_p gives the scores
    ``k (sum_p s_p Z_lp + c_l sqrt(1 - |s|^2) g_l)``, and the feature is
    ``sum_p A_p xi_p + B v + C h`` with A_p = sum_l a_l Z_lp along the directions of the task,
    B = sum_l a_l c_l g_l along the rest v of the query, C^2 = sum_l a_l^2 c_l^2, and noise h beside
    all of these. Given the bag its target is a number, so that the equations of a readout hold as
    they are.

    Raises
    ------
    InvalidInput
        If the model or its query is not known for tasks, tokens have a covariance, or the loss does
        not fit the targets.
    """

    first_points = 1024

    def __init__(self, task: Problem, model: Model, loss: Loss) -> None:
        self._law, self._query = frozen(task, model, loss)
        law, self._model = self._law, model
        beside = self._query is not None and self._query[-1] > 0
        J = len(law.directions) + beside
        super().__init__(task, isotropic(J))
        self.removed = np.eye(J)[None]
        self.most_points = min(2**16, _PRODUCTS // (J + 3) ** 2)
        y = self.nodes(task, self.first_points).y
        if not loss.real_labels and np.all(y == y[0, 0]):
            legal = f"of both classes, for the loss {loss.name}"
            raise InvalidInput("target of a task", legal, float(y[0, 0]))

    def _nodes(self, problem: Problem, points: int) -> FeatureLaw:
        law, kinds = self._law, len(self._law.rates)
        J = self.covariances.directions.mean.shape[1]
        most = 2 ** int(math.log2(_BLOCK / (law.uniforms + law.length * J)))
        block = min(points, max(self.first_points, most))
        scrambles = []
        for number in range(SCRAMBLES):
            rng = np.random.default_rng(np.random.SeedSequence(_SEED, spawn_key=(number,)))
            draw, parts = bags_of(law, law.length, J, rng), []
            for _ in range(points // block):
                bags = draw(block)
                weight = bags.weights * (block / points)
                columns = (*_features(bags, self._model, self._query), weight)
                mixed = np.arange(kinds * block).reshape(kinds, block).T.ravel()
                parts.append([column[mixed] for column in columns])
            scrambles.append([np.concatenate(column) for column in zip(*parts, strict=True)])
        a, C, y, weight = (np.stack(column) for column in zip(*scrambles, strict=True))
        if not np.isfinite(C).all():
            got = math.nan if self._query is None else self._model.query.sharpness
            raise InvalidInput("sharpness on a task", "so small that weights are numbers", got)
        if not C.any():
            legal = "> 0 for some tokens that are attended"
            raise InvalidInput("scale that draw of a task returns", legal, 0.0)
        return FeatureLaw(a, C[..., None], y, weight, np.zeros((a.shape[-1], a.shape[-1])))

    def scores(
        self, nodes: FeatureLaw, state: OrderParameters, first: int = 0
    ) -> ScoreDistribution:
        """Return the scores of a readout on data with these nodes, with the metric of the task."""
        scores = super().scores(nodes, state)
        if self._law.metric == "error":
            return scores
        parts = scores.mean, scores.width, scores.y, scores.weight
        return MetricScores(*parts, self._law.metric, first)

    def outcome(self, scored: Scored) -> TaskOutcome:
        """Return errors, and query and readout by their overlaps."""
        solution = scored.solution
        p, P = solution.state.p, len(self._law.directions)
        overlaps, gram = p[None, :P], np.array([[self.squared_norm(solution)]])
        if self._query is not None:
            q = self._query
            cross = float(q[: len(p)] @ p)
            overlaps = np.stack([q[:P], p[:P]])
            gram = np.array([[q @ q, cross], [cross, gram[0, 0]]])
        b = np.array([solution.state.b])
        return self._outcome(scored.new.test_error(), solution.training_loss, overlaps, gram, b)

    def _outcome(
        self, error: float, loss: float, overlaps: np.ndarray, gram: np.ndarray, b: np.ndarray
    ) -> TaskOutcome:
        names, directions = ("q", "w")[-len(gram) :], self._law.directions
        weights = Weights.of_columns(overlaps, gram, b, names, ("b",), directions)
        return TaskOutcome(error, loss, weights)

    def unknown(self) -> TaskOutcome:
        """Return the outcome where there is no solution."""
        nan, columns = math.nan, 1 if self._query is None else 2
        overlaps = np.full((columns, len(self._law.directions)), nan)
        return self._outcome(nan, nan, overlaps, np.full((columns, columns), nan), np.array([nan]))

    def allowed(self, outcome: TaskOutcome, tolerance: float) -> dict[str, float]:
        """Return by column what a tolerance allows twice the error of a number to be."""
        return allowed_errors(outcome, tolerance)


@dataclasses.dataclass(frozen=True)
class MetricScores(ScoreDistribution):
    """Scores whose error is the mean of a metric of one's own."""

    metric: Any
    first: int = 0  # number of the first scramble

    @functools.cached_property
    def errors(self) -> Float[np.ndarray, "scrambles nodes"]:
        """The mean of the metric for each node."""
        values, means = _values(self.metric), []
        for number, (mean, width, y) in enumerate(zip(self.mean, self.width, self.y, strict=True)):
            rng = np.random.default_rng(
                np.random.SeedSequence(_SEED, spawn_key=(self.first + number, 1))
            )
            shift = rng.random((len(y), 1))
            heights = ndtri((np.arange(_HEIGHTS) + shift) / _HEIGHTS)
            means.append(values(mean[:, None] + width[:, None] * heights, y).mean(axis=1))
        return np.stack(means)

    def unseen_error(self) -> float:
        """Return 0: a metric has no rare events that are known."""
        return 0.0


def _features(
    bags: Bags, model: Model, query: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the amounts of the directions, the amplitude of the noise and the target of bags."""
    P, scale = len(bags.task.directions), bags.scale
    Z, y = bags.seen(bags.normals[..., :P])
    along = np.concatenate([Z, scale[..., None] * bags.normals[..., P:]], axis=2)
    with np.errstate(over="ignore", invalid="ignore"):  # refused where all nodes are known
        if query is None:
            a = np.full(scale.shape, 1 / bags.task.length)
        else:
            a = model.network.weights(along @ query[: along.shape[2]])
        amounts = np.einsum("nl,nlj->nj", a, along)
        C = np.linalg.norm(a * scale, axis=1)
    return amounts, C, y


def _values(metric: Any) -> Callable[[np.ndarray, np.ndarray], np.ndarray]:
    """Return what maps scores (n, heights) and targets (n,) to the metric at each."""
    if isinstance(metric, Loss):
        return lambda z, y: np.asarray(metric.value(y[:, None], z))
    return functools.partial(_each, metric=metric)


@compiled("metric")
def _each(z: Any, y: Any, metric: Any) -> Any:
    import jax

    return jax.vmap(jax.vmap(metric, (0, None)))(z, y)
