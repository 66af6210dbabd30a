"""The weights of the tokens from their scores, written once for NumPy and JAX."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from sparsetoken.numerics.backend import namespace, special


def _one_plus_erf(x: Any) -> Any:
    """Return 1 + erf(x): without cancellation in NumPy; in JAX, where erfc is slow, with it."""
    return special(x).erfc(-x) if namespace(x) is np else 1 + special(x).erf(x)


ACTIVATIONS: dict[str, Callable[[Any], Any]] = {
    "erf": _one_plus_erf,
    "sigmoid": lambda x: special(x).expit(x),
    "tanh": lambda x: namespace(x).tanh(x),
    "relu": lambda x: namespace(x).maximum(x, 0),
    "linear": lambda x: 1 + x,
    "exp": lambda x: namespace(x).exp(x),
}
"""The functions phi of attention without normalisation."""

_WIDEST = {np.dtype(np.float64): 600.0, np.dtype(np.float32): 80.0}
"""Scores that differ by less may all be taken relative to the largest: no row underflows."""


def softmax_weights(scores: Any) -> Any:
    """Return softmax(scores) over the last axis, without overflow.

    Parameters
    ----------
    scores : array of shape (..., L)
        beta X q.

    Returns
    -------
    array of shape (..., L), rows adding up to 1
    """
    if namespace(scores) is not np:
        import jax

        return jax.nn.softmax(scores)
    scores = np.asarray(scores, dtype=np.result_type(scores, np.float32))
    top = np.max(scores, initial=-np.inf)
    if not top - np.min(scores, initial=np.inf) < _WIDEST.get(scores.dtype, 0.0):
        top = np.max(scores, axis=-1, keepdims=True)
    weights = np.subtract(scores, top)
    np.exp(weights, out=weights)
    weights /= (weights @ np.ones(weights.shape[-1], weights.dtype))[..., None]
    return weights


def elementwise_weights(scores: Any, activation: str) -> Any:
    """Return phi(scores) / L.

    Parameters
    ----------
    scores : array of shape (..., L)
        beta X q.
    activation : str
        A name in `ACTIVATIONS`.
    """
    return ACTIVATIONS[activation](scores) / scores.shape[-1]


def largest_weight(scores: np.ndarray) -> np.ndarray:
    """Return 1 for the largest score of each row, 0 for all others."""
    chosen = np.zeros_like(scores)
    np.put_along_axis(chosen, scores.argmax(axis=-1)[..., None], 1.0, axis=-1)
    return chosen
