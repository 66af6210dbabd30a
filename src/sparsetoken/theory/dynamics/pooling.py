"""The score of a sample and its derivatives by the projections of the tokens."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.special import expit

from sparsetoken.attention import ACTIVATIONS
from sparsetoken.models import Attention, Elementwise, Model
from sparsetoken.validation import InvalidInput

Tokens = Float[np.ndarray, "L n"]


class Scores(NamedTuple):
    """Scores without the bias, and what they change by.

    Attributes
    ----------
    score : array of shape (n,)
    by_readout, by_query : arrays of shape (L, n)
        Derivatives of the score by the projections <x_l, w> and <x_l, q>.
    """

    score: Float[np.ndarray, " n"]
    by_readout: Tokens
    by_query: Tokens


Pooling = Callable[[Tokens, Tokens], Scores]
"""Maps the projections (<x_l, w>, <x_l, q>) of all tokens to the scores of the samples."""

_SLOPES: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "erf": lambda x: (2 / math.sqrt(math.pi)) * np.exp(-(x**2)),
    "sigmoid": lambda x: expit(x) * expit(-x),
    "tanh": lambda x: 1 / np.cosh(np.minimum(np.abs(x), 300.0)) ** 2,
    "linear": np.ones_like,
    "exp": np.exp,
}


def pooling_of(model: Model, beta: float) -> Pooling:
    """Return how a model turns projections into scores.

    Raises
    ------
    InvalidInput
        If the model has no weights that gradient descent could move, or its activation has a
        kink.
    """
    if isinstance(model, Attention):
        return lambda w, q: _softmax(w, q, beta)
    if isinstance(model, Elementwise):
        name = model.activation
        if name not in _SLOPES:
            remedy = "Its derivative jumps where a projection is 0, as all are at q = 0."
            legal = "one of " + ", ".join(sorted(_SLOPES)) + " for gradient descent"
            raise InvalidInput("activation", legal, name, remedy)
        return lambda w, q: _elementwise(w, q, beta, name)
    legal = "attention or elementwise, for gradient descent on readout and query"
    raise InvalidInput("model", legal, model, "Its weights have no gradient in the query.")


def _softmax(w: Tokens, q: Tokens, beta: float) -> Scores:
    a = np.exp(beta * (q - q.max(axis=0)))
    a /= a.sum(axis=0)
    score = np.einsum("ln,ln->n", a, w)
    return Scores(score, a, beta * a * (w - score))


def _elementwise(w: Tokens, q: Tokens, beta: float, name: str) -> Scores:
    L = len(w)
    a = ACTIVATIONS[name](beta * q) / L
    return Scores(np.einsum("ln,ln->n", a, w), a, (beta / L) * _SLOPES[name](beta * q) * w)
