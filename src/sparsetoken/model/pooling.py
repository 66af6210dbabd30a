"""Pooling: attention weights from scores, features from weights."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from sparsetoken.base.validation import InvalidInput, choice

if TYPE_CHECKING:
    from jaxtyping import Float


def _erf(x: np.ndarray) -> np.ndarray:
    from scipy.special import erfc

    return erfc(-x)  # 1 + erf(x) without cancellation


def _sigmoid(x: np.ndarray) -> np.ndarray:
    from scipy.special import expit

    return expit(x)


ACTIVATIONS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "erf": _erf,
    "sigmoid": _sigmoid,
    "tanh": np.tanh,
    "relu": lambda x: np.maximum(x, 0),
    "linear": lambda x: 1 + x,
    "exp": np.exp,
}
"""The functions phi of approximate attention."""


_LARGEST_EXPONENT = 300.0  # e^300 squared is still a float64


def check_exponent(activation: str, sharpness: float, shift: float) -> None:
    """Refuse exponential weights that overflow.

    Parameters
    ----------
    activation : str
    sharpness : float
        k.
    shift : float
        theta |s|, the mean of the largest projection; noise adds up to 7.

    Raises
    ------
    InvalidInput
        If the activation is exp and k (theta |s| + 7) exceeds 300.
    """
    exponent = sharpness * (shift + 7)
    if activation == "exp" and exponent > _LARGEST_EXPONENT:
        raise InvalidInput(
            "sharpness with activation exp",
            f"small enough that k (theta |s| + 7) <= {_LARGEST_EXPONENT:g}",
            f"k = {sharpness:g}, where it is {exponent:g}",
            "exp(k t) overflows; use a smaller sharpness or a bounded activation.",
        )


_WIDEST = {np.dtype(np.float64): 600.0, np.dtype(np.float32): 80.0}
"""Scores that differ by less may all be taken relative to the largest: no row underflows."""


def softmax_weights(
    scores: Float[np.ndarray, "*n L"],
) -> Float[np.ndarray, "*n L"]:
    """Return softmax(scores) over the last axis, without overflow.

    Parameters
    ----------
    scores : array of shape (..., L)
        beta X q.

    Returns
    -------
    array of shape (..., L), rows adding up to 1
    """
    scores = np.asarray(scores, dtype=np.result_type(scores, np.float32))
    top = np.max(scores, initial=-np.inf)
    if not top - np.min(scores, initial=np.inf) < _WIDEST.get(scores.dtype, 0.0):
        top = np.max(scores, axis=-1, keepdims=True)
    weights = np.subtract(scores, top)
    np.exp(weights, out=weights)
    weights /= (weights @ np.ones(weights.shape[-1], weights.dtype))[..., None]
    return weights


def elementwise_weights(
    scores: Float[np.ndarray, "*n L"], activation: str = "erf"
) -> Float[np.ndarray, "*n L"]:
    """Return phi(scores) / L, the weights of approximate attention.

    Parameters
    ----------
    scores : array of shape (..., L)
        beta X q.
    activation : str
        erf (1 + erf), sigmoid, tanh, relu, linear (1 + x) or exp.

    Raises
    ------
    InvalidInput
        If the activation is unknown.
    """
    phi = ACTIVATIONS[choice("activation", activation, ACTIVATIONS)]
    return phi(scores) / scores.shape[-1]


def pool(
    tokens: Float[np.ndarray, "*n L d"], weights: Float[np.ndarray, "*n L"]
) -> Float[np.ndarray, "*n d"]:
    """Return the weighted sum of the tokens, X^T a.

    Parameters
    ----------
    tokens : array of shape (..., L, d)
    weights : array of shape (..., L)
    """
    return np.matmul(weights[..., None, :], tokens)[..., 0, :]
