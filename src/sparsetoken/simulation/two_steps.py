"""The gradients of the two steps that find a query, over real tokens."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from sparsetoken.attention import softmax_weights
from sparsetoken.stages import TwoSteps


class Gradient(NamedTuple):
    """Gradients of the mean loss by readout, query and bias."""

    by_w: Float[np.ndarray, " d"]
    by_q: Float[np.ndarray, " d"]
    by_b: float


def gradient(
    chunks: Iterable[tuple[np.ndarray, np.ndarray]],
    n: int,
    steps: TwoSteps,
    w: Float[np.ndarray, " d"],
    q: Float[np.ndarray, " d"],
    b: float,
) -> Gradient:
    """Return the gradients over n samples of real tokens, chunk by chunk.

    Parameters
    ----------
    chunks : iterable of (tokens, labels)
    n : int
    steps : TwoSteps
        With the temperature and the loss.
    w, q : arrays of shape (d,)
    b : float
    """
    by_w, by_q, by_b = np.zeros_like(w), np.zeros_like(q), 0.0
    for X, y in chunks:
        t, u = X @ w.astype(X.dtype), X @ q.astype(X.dtype)
        a = softmax_weights(steps.beta * u)
        scores = (a * t).sum(axis=1, keepdims=True)
        slope = np.asarray(steps.loss.slope(y[:, None], scores + b))
        flat = X.reshape(-1, X.shape[2])
        by_w += (slope * a).astype(X.dtype).ravel() @ flat
        by_q += (slope * steps.beta * a * (t - scores)).astype(X.dtype).ravel() @ flat
        by_b += float(slope.sum())
    return Gradient(by_w / n, by_q / n, by_b / n)
