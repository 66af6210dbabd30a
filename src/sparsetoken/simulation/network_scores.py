"""Gradients of a network over samples, and errors on new ones, from projections of tokens."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Real

from sparsetoken.model.architectures.base import Architecture, attention_of, scores_of
from sparsetoken.model.base import Latent, Problem
from sparsetoken.model.network_checks import sample_loss
from sparsetoken.model.training import Training
from sparsetoken.numerics.backend import compiled
from sparsetoken.simulation.frames import factor

_BAGS = 2**13  # new bags in one call


class Sums(NamedTuple):
    """The loss of all samples, and its gradients by projections and further weights over a batch.

    Those by projections are 0 for samples outside the batch.
    """

    loss: float
    by_H: Float[np.ndarray, "n L m"]
    by_c: Float[np.ndarray, " C"]


def sums_of(
    training: Training,
    H: Float[np.ndarray, "n L m"],
    c: Float[np.ndarray, " C"],
    y: np.ndarray,
    batch: Float[np.ndarray, " n"],
) -> Sums:
    """Return the sums over samples whose projections are known; batch tells who takes part."""
    static = training.network, training.loss, training.task.outputs
    (by_H, by_c), loss = _gradient(np.asarray(H, dtype=float), c, y, batch, *static)
    return Sums(float(loss), by_H, by_c)


@compiled("network", "loss", "outputs")
def _gradient(
    H: Any, c: Any, y: Any, batch: Any, network: Architecture, loss: Any, outputs: int
) -> Any:
    import jax  # on first use, as in what follows: it takes half a second

    def total(H: Any, c: Any) -> tuple[Any, Any]:
        scores = jax.vmap(lambda h: network.scores(h, c, outputs))(H)
        losses = jax.vmap(sample_loss(loss, outputs))(scores, y)
        return (losses * batch).sum(), losses.sum()

    return jax.grad(total, argnums=(0, 1), has_aux=True)(H, c)


class ColumnSums(NamedTuple):
    """The loss of all samples, and its gradients by all weights over a batch."""

    loss: float
    by_U: Float[np.ndarray, "d m"]
    by_c: Float[np.ndarray, " C"]


def sums_by_columns(
    training: Training,
    X: Float[np.ndarray, "n L d"],
    U: Float[np.ndarray, "d m"],
    c: Float[np.ndarray, " C"],
    y: np.ndarray,
    batch: Float[np.ndarray, " n"],
) -> ColumnSums:
    """Return the sums over samples by automatic differentiation of the loss by U itself.

    It is for networks that depend on U^T U too: theory has the chain rule of that.
    """
    static = training.network, training.loss, training.task.outputs
    (by_U, by_c), loss = _gradient_by_columns(U, c, X, y, batch, *static)
    return ColumnSums(float(loss), by_U, by_c)


@compiled("network", "loss", "outputs")
def _gradient_by_columns(
    U: Any, c: Any, X: Any, y: Any, batch: Any, network: Architecture, loss: Any, outputs: int
) -> Any:
    import jax

    def total(U: Any, c: Any) -> tuple[Any, Any]:
        scores = jax.vmap(lambda h: scores_of(network, h, c, U.T @ U, outputs))(X @ U)
        losses = jax.vmap(sample_loss(loss, outputs))(scores, y)
        return (losses * batch).sum(), losses.sum()

    return jax.grad(total, argnums=(0, 1), has_aux=True)(U, c)


def bag_by_bag(
    training: Training,
    X: Float[np.ndarray, "n L d"],
    y: np.ndarray,
    U: Float[np.ndarray, "d m"],
    c: Float[np.ndarray, " C"],
) -> tuple[Float[np.ndarray, "n+1 d m"], Float[np.ndarray, "n+1 C"]]:
    """Return the weights before the first of some bags and after the step with each.

    Gradients are by automatic differentiation of the loss by U itself.
    """
    rates = training.rates[0] / len(U), training.decay, training.rates_c[0] / len(U)
    static = training.network, training.loss, training.task.outputs
    later_U, later_c = _bag_by_bag(U, c, X, y, rates, *static)
    return np.concatenate([U[None], later_U]), np.concatenate([c[None], later_c])


@compiled("network", "loss", "outputs")
def _bag_by_bag(
    U: Any, c: Any, X: Any, y: Any, rates: Any, network: Architecture, loss: Any, outputs: int
) -> Any:
    import jax

    def of_bag(U: Any, c: Any, X: Any, y: Any) -> Any:
        return sample_loss(loss, outputs)(scores_of(network, X @ U, c, U.T @ U, outputs), y)

    def step(now: Any, bag: Any) -> Any:
        (U, c), (of_columns, decay, of_c) = now, rates
        by_U, by_c = jax.grad(of_bag, (0, 1))(U, c, *bag)
        now = U - of_columns * (by_U + decay * U), c - of_c * by_c
        return now, now

    return jax.lax.scan(step, (U, c), (X, y))[1]


class Moments(NamedTuple):
    """What the law of the projections of new tokens depends on.

    That is U^T xi_p, U^T U, U^T S_w U and U^T S_b U. Where targets see the noise along xi, S_w and
    S_b have rows of xi before those of U.
    """

    overlaps: Float[np.ndarray, "m P"]
    gram: Float[np.ndarray, "m m"]
    within: Float[np.ndarray, "k k"]
    between: Float[np.ndarray, "k k"]


class Counted(NamedTuple):
    """The metric of new bags, and the share of those with a signal that attends to one.

    The metric may be the share in a wrong class. The second is nan where no bag has a signal, and
    for networks without attention.
    """

    test_error: float
    attended: float


class _Chunk(NamedTuple):
    """Some new bags: normals along xi where targets see them, and along the columns of U."""

    latent: Latent
    along: tuple[np.ndarray, np.ndarray]
    beside: tuple[np.ndarray, np.ndarray]


class NewBags:
    """New bags in a number, the same for all states of a trial."""

    def __init__(self, task: Problem, columns: int, count: int, rng: np.random.Generator) -> None:
        self._task, self._columns = task, columns
        self._own = len(task.directions) if task.sees_noise else 0
        self._chunks = [self._drawn(rng) for _ in range(-(-count // _BAGS))]

    def _drawn(self, rng: np.random.Generator) -> _Chunk:
        latent, L = self._task.latent(_BAGS, rng), self._task.length

        def normals(width: int) -> tuple[np.ndarray, np.ndarray]:
            return rng.standard_normal((_BAGS, L, width)), rng.standard_normal((_BAGS, 1, width))

        beside = normals(self._columns)
        return _Chunk(latent, normals(self._own), beside)

    def counted(
        self, network: Architecture, at: Moments, c: np.ndarray, metric: Any = None
    ) -> Counted:
        """Return a metric, by default that of the task, and attention; ties count their part."""
        task = self._task
        metric = task.metric if metric is None else metric
        parts = [_JointNoise(S, self._own) if S.any() else None for S in (at.within, at.between)]
        total, attended, holding = 0.0, 0.0, 0
        for latent, along, beside in self._chunks:
            coefficients = latent["coefficients"]
            scale = latent["scale"][..., None] if "scale" in latent else 1.0
            pairs = zip(parts, along, beside, strict=True)
            noises = [part.drawn(*both) for part, *both in pairs if part is not None]
            H = coefficients @ at.overlaps.T + scale * sum(H for _, H in noises)
            Z = coefficients + scale * sum(Z for Z, _ in noises) if self._own else np.empty(0)
            y = task.targets(latent, Z)
            scores, weights = _forward(H, c, at.gram, network, task.outputs)
            total += metric_sum(metric, scores, y, task.outputs)
            informative = latent.get("informative", np.zeros((_BAGS, task.length))) != 0
            there = informative.any(axis=1)
            holding += int(there.sum())
            if weights is not None:
                most = weights == weights.max(axis=1, keepdims=True)
                attended += ((most * informative).sum(axis=1) / most.sum(axis=1))[there].sum()
            else:
                attended = np.nan
        count = _BAGS * len(self._chunks)
        return Counted(total / count, float(attended / holding) if holding else np.nan)


class _JointNoise:
    """Noise along xi and U of a covariance: first along xi, then along U given that."""

    def __init__(self, S: Float[np.ndarray, "k k"], own: int) -> None:
        self._root = factor(S[:own, :own])
        self._known = np.linalg.pinv(self._root) @ np.linalg.pinv(self._root.T) @ S[:own, own:]
        rest = S[own:, own:] - S[own:, :own] @ self._known
        self._rest = factor(rest)

    def drawn(self, along: np.ndarray, beside: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the noise along xi and along U."""
        Z, H = along @ self._root, beside @ self._rest
        return (Z, H + Z @ self._known) if along.shape[2] else (Z, H)


@compiled("network", "outputs")
def _forward(
    H: Any, c: Any, gram: Any, network: Architecture, outputs: int
) -> tuple[Any, Any | None]:
    """Return the scores and the attention weights of bags, None of a network without these."""
    import jax

    def of_bag(h: Any) -> tuple[Any, Any | None]:
        return scores_of(network, h, c, gram, outputs), attention_of(network, h, c, gram)

    return jax.vmap(of_bag)(H)


def metric_sum(metric: Any, scores: Float[np.ndarray, "n K"], y: np.ndarray, outputs: int) -> float:
    """Return the sum of a metric over bags, of their scores and targets."""
    if metric == "error":
        return _wrong(scores, y)
    return float(_metric(scores, y, metric, outputs))


def _wrong(scores: Float[np.ndarray, "n K"], targets: Real[np.ndarray, " n"]) -> float:
    """Return how many bags are put into a wrong class; ties count their part."""
    if scores.shape[1] == 1:
        return float(0.5 * (1 - targets * np.sign(scores[:, 0])).sum())
    best = scores == scores.max(axis=1, keepdims=True)
    own = np.take_along_axis(best, targets[:, None], axis=1)[:, 0]
    return float((1 - own / best.sum(axis=1)).sum())


@compiled("metric", "outputs")
def _metric(scores: Any, y: Any, metric: Any, outputs: int) -> Any:
    import jax

    return jax.vmap(sample_loss(metric, outputs))(scores, y).sum()
