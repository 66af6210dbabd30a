"""Gradients of the mean loss by readout, query and bias, from the projections of tokens."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.special import expit

from sparsetoken.attention import elementwise_weights, softmax_weights
from sparsetoken.models import Attention, Elementwise, Model
from sparsetoken.stages import JointDescent, TwoSteps
from sparsetoken.validation import InvalidInput, choice

_SLOPES: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "erf": lambda x: 2 / math.sqrt(math.pi) * np.exp(-np.square(x)),
    "sigmoid": lambda x: expit(x) * (1 - expit(x)),
    "tanh": lambda x: 1 - np.tanh(x) ** 2,
    "linear": np.ones_like,
    "exp": np.exp,
}


Weights = tuple[np.ndarray, np.ndarray, float]
"""Readout, query and bias."""


class Gradient(NamedTuple):
    """Mean loss of all samples, and its gradients over the batch whose turn it is."""

    loss: float
    by_w: Float[np.ndarray, " k"]
    by_q: Float[np.ndarray, " k"]
    by_b: float


class Slopes(NamedTuple):
    """Sums over samples: their loss, and its slopes.

    Attributes
    ----------
    loss : float
        Of all samples.
    by_readout, by_query : arrays of shape (n, L)
        By the projections of the tokens; 0 for samples outside the batch.
    pull : float
        By the bias, over the batch.
    """

    loss: float
    by_readout: Float[np.ndarray, "n L"]
    by_query: Float[np.ndarray, "n L"]
    pull: float


def slopes_of(
    model: Model,
    steps: TwoSteps | JointDescent,
    projections: tuple[Float[np.ndarray, "n L"], Float[np.ndarray, "n L"]],
    b: float,
    y: np.ndarray,
    batch: np.ndarray,
) -> Slopes:
    """Return the slopes at projections on (w, q) and a bias; batch tells who takes part."""
    t, u = projections
    weights, turns = _pooling(model, t, u, steps.beta)
    z = (weights * t).sum(axis=1) + b
    with np.errstate(over="ignore"):
        loss = float(np.sum(steps.loss.value(y, z)))
    h = np.asarray(steps.loss.slope(y, z)) * batch
    return Slopes(loss, h[:, None] * weights, h[:, None] * turns, float(h.sum()))


def gradient(
    chunks: Iterable[tuple[np.ndarray, np.ndarray]],
    n: int,
    model: Model,
    steps: TwoSteps | JointDescent,
    at: Weights,
    turn: tuple[int, int] = (0, 1),
) -> Gradient:
    """Return mean loss and gradients over n samples of real tokens, chunk by chunk.

    Parameters
    ----------
    chunks : iterable of (tokens, labels)
    n : int
    model : Attention or Elementwise
    steps : TwoSteps or JointDescent
        With the temperature and the loss.
    at : tuple
        Readout, query and bias.
    turn : tuple of int
        Number of the batch whose gradients are taken, and the number of batches.
    """
    w, q, b = at
    number, batches = turn
    loss, pull, first, size = 0.0, 0.0, 0, 0
    by_w, by_q = np.zeros_like(w), np.zeros_like(q)
    for X, y in chunks:
        batch = np.arange(first, first + len(y)) * batches // n == number
        projections = X @ w.astype(X.dtype), X @ q.astype(X.dtype)
        found = slopes_of(model, steps, projections, b, y, batch)
        flat = X.reshape(-1, X.shape[2])
        by_w += found.by_readout.astype(X.dtype).ravel() @ flat
        by_q += found.by_query.astype(X.dtype).ravel() @ flat
        loss, pull = loss + found.loss, pull + found.pull
        first, size = first + len(y), size + int(batch.sum())
    size = max(size, 1)
    return Gradient(loss / n, by_w / size, by_q / size, pull / size)


def _pooling(
    model: Model, t: np.ndarray, u: np.ndarray, beta: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return the weights of the tokens, and derivatives of the score by projections u on q."""
    if isinstance(model, Elementwise):
        slope = _SLOPES[model.activation](beta * u) / t.shape[1]
        return elementwise_weights(beta * u, model.activation), beta * slope * t
    a = softmax_weights(beta * u)
    return a, beta * a * (t - (a * t).sum(axis=1, keepdims=True))


def check_model(model: Model) -> None:
    """Raise `InvalidInput` unless descent can move both the readout and the query of a model."""
    if isinstance(model, Elementwise):
        remedy = "Its derivative jumps where a projection is 0, as all are at q = 0."
        choice("activation for gradient descent", model.activation, _SLOPES, remedy)
    elif not isinstance(model, Attention):
        legal = "attention or elementwise, for gradient descent on readout and query"
        raise InvalidInput("model", legal, model)
