"""Slopes of the losses of samples by the projections of their tokens on readout and query."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.special import expit

from sparsetoken.attention import elementwise_weights, softmax_weights
from sparsetoken.models import Attention, Elementwise, Model
from sparsetoken.stages import JointDescent
from sparsetoken.validation import InvalidInput, choice

_SLOPES: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "erf": lambda x: 2 / math.sqrt(math.pi) * np.exp(-np.square(x)),
    "sigmoid": lambda x: expit(x) * (1 - expit(x)),
    "tanh": lambda x: 1 - np.tanh(x) ** 2,
    "linear": np.ones_like,
    "exp": np.exp,
}


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
    descent: JointDescent,
    projections: tuple[Float[np.ndarray, "n L"], Float[np.ndarray, "n L"]],
    b: float,
    y: np.ndarray,
    batch: np.ndarray,
) -> Slopes:
    """Return the slopes at projections on (w, q) and a bias; batch tells who takes part."""
    t, u = projections
    weights, turns = _pooling(model, t, u, descent.beta)
    z = (weights * t).sum(axis=1) + b
    with np.errstate(over="ignore"):
        loss = float(np.sum(descent.loss.value(y, z)))
    h = np.asarray(descent.loss.slope(y, z)) * batch
    return Slopes(loss, h[:, None] * weights, h[:, None] * turns, float(h.sum()))


def _pooling(
    model: Model, t: np.ndarray, u: np.ndarray, beta: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return the weights of the tokens, and the derivative of the score by beta-free scores u."""
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
