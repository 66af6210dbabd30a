"""The four stages on any task: a readout fitted to the features of a frozen query."""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.special import ndtri

from sparsetoken.base.validation import InvalidInput
from sparsetoken.losses import Loss
from sparsetoken.model.descent import Descent
from sparsetoken.model.models import Model, Pooled, QueriedModel
from sparsetoken.model.network_checks import check_metric
from sparsetoken.model.stages import Query, QueryCosines, Readout
from sparsetoken.model.task_law import Problem, TaskLaw, law_for_loss, law_of
from sparsetoken.model.tokens import isotropic_only
from sparsetoken.numerics.quadrature import MOST_DIMENSIONS, sobol_sequence
from sparsetoken.results import Status, StatusCode, TaskPrediction, Weights
from sparsetoken.results.outcomes import cosines_of, norms_of
from sparsetoken.theory.feature_law import FeatureLaw
from sparsetoken.theory.predictor import FREE_BIAS
from sparsetoken.theory.readout.accuracy import allowed_error, status_of
from sparsetoken.theory.readout.covariances import CommutingCovariances, Directions
from sparsetoken.theory.readout.equations import Load, SaddleEquations
from sparsetoken.theory.readout.means import OrderParameters
from sparsetoken.theory.readout.outcome import scores_on, standard_error, training_loss
from sparsetoken.theory.readout.solve import SaddlePoint, solve_readout

SCRAMBLES = 8
_SEED = 20251127  # any fixed number: the same nodes in every run
_FIRST, _LAST, _MORE = 1024, 2**16, 4  # nodes in each scramble, and times as many as before
_BLOCK = 2**20  # normals in memory at once
_SUMS = 2**26  # numbers that products of the order parameters may take
_HEIGHTS = 16  # nodes along the score, shifted together at each node of the features

_NOT_SOLVED = Status(
    StatusCode.MAX_ITERATIONS, "The saddle point was not reached; try a larger ridge."
)


class TaskQuery(NamedTuple):
    """The direction of a query by its cosines with those of the task, and its sharpness."""

    cosines: tuple[float, ...]
    sharpness: float

    @property
    def sine(self) -> float:
        """The share of the query beside the directions of the task."""
        return math.sqrt(max(1 - math.hypot(*self.cosines) ** 2, 0.0))


def predict_task(
    task: Problem, model: Model, readouts: Sequence[Readout], tolerance: float
) -> list[TaskPrediction]:
    """Return predictions of readouts of one loss on a task.

    Equation: task-features. A query with the cosines s_p gives the scores
    ``k (sum_p s_p Z_lp + c_l sqrt(1 - |s|^2) g_l)``, and the feature is
    ``sum_p A_p xi_p + B v + C h`` with A_p = sum_l a_l Z_lp along the directions of the task,
    B = sum_l a_l c_l g_l along the rest v of the query, C^2 = sum_l a_l^2 c_l^2, and noise h beside
    all of these. Given the bag its target is a number, so that the equations of a readout hold as
    they are.

    Raises
    ------
    InvalidInput
        If the model or its query is not known for tasks, tokens have a covariance, the ridge is 0,
        or the loss does not fit the targets.
    """
    law = law_for_loss(law_of(task), readouts[0].loss)
    isotropic_only(law.tokens, "A readout on a task")
    if law.outputs > 1:
        raise InvalidInput("outputs of a task", "1 for a readout", law.outputs)
    check_metric(law, readouts[0].loss)
    query = _query_of(task, law.directions, model)
    levels: dict[int, SaddleEquations] = {}
    predictions: list[TaskPrediction] = []
    saddle = None
    for readout in readouts:
        if not readout.ridge > 0:
            remedy = "Use a small ridge such as 1e-6."
            raise InvalidInput("ridge (lambda) on a task", "> 0", readout.ridge, remedy)
        points, load = _FIRST, Load(readout.alpha1, readout.ridge)
        if saddle is not None:  # at infinite data unknowns are 0 that are not elsewhere
            finite = math.isfinite(load.samples) and math.isfinite(saddle.load.samples)
            saddle = dataclasses.replace(saddle, iterations=0) if finite else None
        while True:
            if points not in levels:
                nodes = task_nodes(law, model, query, points)
                _require_classes(readout.loss, nodes.y)
                levels[points] = _equations(nodes, readout.loss)
            equations = levels[points]
            saddle = solve_readout(equations, load, saddle)
            if not saddle.converged:
                break
            error, spread = _test_error(equations, saddle, law)
            size = (len(saddle.x) ** 2) * SCRAMBLES * _MORE * points
            enough = 2 * spread <= allowed_error(error, tolerance)
            if enough or points >= _LAST or size > _SUMS:
                break
            points *= _MORE
        if saddle.converged:
            basis = f"{equations.nodes.y.size} nodes"
            status = status_of(error, spread, tolerance, basis)
            if equations.bias_is_free(saddle.state, saddle.smoothing):
                status = FREE_BIAS
            loss = training_loss(equations, saddle)
        else:
            error = spread = loss = math.nan
            status = _NOT_SOLVED
        predictions.append(
            TaskPrediction(
                error,
                loss,
                _weights(law, query, equations, saddle),
                numerical_error=spread,
                residual=saddle.residual,
                iterations=saddle.iterations,
                status=status,
            )
        )
    return predictions


def _require_classes(loss: Loss, y: np.ndarray) -> None:
    if not loss.real_labels and np.all(y == y[0, 0]):
        legal = f"of both classes, for the loss {loss.name}"
        raise InvalidInput("target of a task", legal, float(y[0, 0]))


def _query_of(task: Problem, names: tuple[str, ...], model: Model) -> TaskQuery | None:
    """Return the query of a model, None of a pooled one."""
    if isinstance(model, Pooled):
        return None
    if not isinstance(model, QueriedModel):
        raise InvalidInput("model on a task", "Pooled() or one with a query", model)
    query = model.query
    if isinstance(query, Descent):
        from sparsetoken.theory.dynamics import descended_query  # with JAX

        return TaskQuery(*descended_query(task, query))
    if isinstance(query, Query) and len(names) == 1:
        query = QueryCosines({names[0]: query.cosine}, query.sharpness)
    if not isinstance(query, QueryCosines):
        one = "Query(cosine, sharpness) of the one direction"
        several = f"QueryCosines of {', '.join(names)}"
        legal = f"{one if len(names) == 1 else several}, or a Descent"
        raise InvalidInput("query on a task", legal, query)
    given = dict(query.cosines)
    for name in given:
        if name not in names:
            legal = f"of {', '.join(names)}" if names[0] else "Query(cosine, sharpness) here"
            raise InvalidInput("cosines of the query", legal, name)
    return TaskQuery(tuple(given.get(name, 0.0) for name in names), query.sharpness)


def task_nodes(law: TaskLaw, model: Model, query: TaskQuery | None, points: int) -> FeatureLaw:
    """Return nodes of the features of a task, so many of each kind of bag and scramble.

    The directions are those of the task and, where the query is not among them, the rest of it.
    """
    scrambles = []
    beside = query is not None and query.sharpness > 0 and query.sine > 0
    dimensions = law.uniforms + law.length * (len(law.directions) + beside)
    block = min(points, max(_FIRST, 2 ** int(math.log2(_BLOCK / dimensions))))
    for number in range(SCRAMBLES):
        rng = np.random.default_rng(np.random.SeedSequence(_SEED, spawn_key=(number,)))
        sequences = [_uniforms(dimensions, rng) for _ in law.rates]
        parts = []
        for _ in range(points // block):
            uniforms = np.concatenate([drawn(block) for drawn in sequences])
            weight = np.repeat(np.array(law.rates) / points, block)
            parts.append((*_features(law, model, query, uniforms, rng), weight))
        scrambles.append([np.concatenate(column) for column in zip(*parts, strict=True)])
    a, C, y, weight = (np.stack(column) for column in zip(*scrambles, strict=True))
    if not np.isfinite(C).all():
        got = query.sharpness if query is not None else math.nan
        raise InvalidInput("sharpness on a task", "so small that weights are numbers", got)
    if not C.any():
        legal = "> 0 for some tokens that are attended"
        raise InvalidInput("scale that draw of a task returns", legal, 0.0)
    return FeatureLaw(a, C[..., None], y, weight, np.zeros((a.shape[-1], a.shape[-1])))


def _uniforms(dimensions: int, rng: np.random.Generator) -> Callable[[int], np.ndarray]:
    """Return what draws so many points, evenly spread where there is a sequence."""
    if dimensions <= MOST_DIMENSIONS:
        drawn: Callable[[int], np.ndarray] = sobol_sequence(dimensions, rng).random
        return drawn
    return lambda n: rng.random((n, dimensions))


def _features(
    law: TaskLaw,
    model: Model,
    query: TaskQuery | None,
    uniforms: Float[np.ndarray, "n k"],
    rng: np.random.Generator,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the amounts of the directions, the amplitude of the noise and the target of bags."""
    n, L, P = len(uniforms), law.length, len(law.directions)
    inside = np.clip(uniforms, 2.0**-31, 1 - 2.0**-31)  # 0 has no normal
    size = n // len(law.rates)
    latent = dict(law.of_each_kind(size, rng, inside[:, : law.uniforms]))
    scale = latent.setdefault("scale", np.ones((n, L)))
    noise = ndtri(inside[:, law.uniforms :]).reshape(n, L, -1) * scale[..., None]
    Z = latent["coefficients"] + noise[..., :P]
    along = np.concatenate([Z, noise[..., P:]], axis=2)
    with np.errstate(over="ignore", invalid="ignore"):  # refused where all nodes are known
        if query is None or not isinstance(model, QueriedModel):
            a = np.full((n, L), 1 / L)
        else:
            direction = np.array([*query.cosines, query.sine])[: along.shape[2]]
            a = model.weights(query.sharpness * (along @ direction))
        amounts = np.einsum("nl,nlj->nj", a, along)
        C = np.linalg.norm(a * scale, axis=1)
    return amounts, C, law.targets(latent, Z).astype(float)


def _equations(nodes: FeatureLaw, loss: Loss) -> SaddleEquations:
    J = nodes.a.shape[-1]
    frame = Directions(np.zeros((1, J)), {(j, j): np.ones(1) for j in range(J)})
    isotropic = CommutingCovariances(np.ones((1, 1)), frame)
    return SaddleEquations(nodes, loss, isotropic, np.eye(J)[None])


def _test_error(
    equations: SaddleEquations, saddle: SaddlePoint, law: TaskLaw
) -> tuple[float, float]:
    """Return the mean of the metric on new bags, and its standard error over scrambles.

    Each scramble has its own solution, one Newton step of the common equations away.
    """
    steps = equations.scramble_steps(saddle.x, saddle.load, saddle.smoothing)
    moved = [equations.state(saddle.x + step, saddle.load.samples) for step in steps]
    mean = float(
        np.mean([_metric(equations.nodes, saddle.state, law, s) for s in range(SCRAMBLES)])
    )
    own = np.array([_metric(equations.nodes, state, law, s) for s, state in enumerate(moved)])
    return mean, standard_error(own)


def _metric(nodes: FeatureLaw, state: OrderParameters, law: TaskLaw, scramble: int) -> float:
    """Return the mean of the metric over the bags of a scramble."""
    here = slice(scramble, scramble + 1)
    some = FeatureLaw(
        nodes.a[here], nodes.C[here], nodes.y[here], nodes.weight[here], nodes.covariance
    )
    scores = scores_on(some, state)
    if law.metric == "error":
        return scores.test_error()
    rng = np.random.default_rng(np.random.SeedSequence(_SEED, spawn_key=(scramble, 1)))
    shift = rng.random((*scores.y.shape, 1))
    heights = ndtri((np.arange(_HEIGHTS) + shift) / _HEIGHTS)
    z = scores.mean[..., None] + scores.width[..., None] * heights
    values = _values(law.metric)(z[0], scores.y[0])
    return float(scores.weight[0] @ values.mean(axis=1))


def _values(metric: Any) -> Callable[[np.ndarray, np.ndarray], np.ndarray]:
    """Return what maps scores (n, heights) and targets (n,) to the metric at each."""
    if isinstance(metric, Loss):
        return lambda z, y: np.asarray(metric.value(y[:, None], z))
    return _compiled(metric)


@functools.lru_cache(maxsize=16)
def _compiled(metric: Any) -> Callable[[np.ndarray, np.ndarray], np.ndarray]:
    import jax

    each = jax.jit(jax.vmap(jax.vmap(metric, (0, None))))

    def values(z: np.ndarray, y: np.ndarray) -> np.ndarray:
        with jax.enable_x64(True):
            return np.asarray(each(z, y))

    return values


def _weights(
    law: TaskLaw, query: TaskQuery | None, equations: SaddleEquations, saddle: SaddlePoint
) -> Weights:
    """Return query and readout by their overlaps."""
    p, P, load = saddle.state.p, len(law.directions), saddle.load
    _, (kappa,), (rho,) = equations.pull(saddle.state, saddle.smoothing)
    rest = rho / load.samples / (load.ridge + kappa) ** 2
    overlaps, gram = p[None, :P], np.array([[p @ p + rest]])
    if query is not None:
        q = query.sharpness * np.array([*query.cosines, query.sine])
        cross = float(q[: len(p)] @ p)
        overlaps = np.stack([q[:P], p[:P]])
        gram = np.array([[q @ q, cross], [cross, p @ p + rest]])
    names = ("w",) if query is None else ("q", "w")
    cosines = cosines_of(overlaps, gram)
    b = np.array([saddle.state.b])
    if not saddle.converged:
        overlaps, cosines, gram, b = (x * math.nan for x in (overlaps, cosines, gram, b))
    norms = norms_of(gram)
    return Weights(overlaps, cosines, norms, gram, b, names, ("b",), law.directions)
