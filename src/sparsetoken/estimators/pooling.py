"""Weights and features of bags for given token scores: softmax, or a function of each score."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

from sparsetoken.attention import ACTIVATIONS
from sparsetoken.bags import Bags
from sparsetoken.bags.segments import segment_softmax

__all__ = ["LARGEST_EXPONENT", "pooling_weights"]

LARGEST_EXPONENT = 40.0  # of activation exp: its square is still a float32


def pooling_weights(
    scores: Float[np.ndarray, " N"], bags: Bags, activation: str = "softmax"
) -> Float[np.ndarray, " N"]:
    """Return the weight of each token: softmax over its bag, or phi(score) / L_i.

    Scores of activation ``exp`` beyond 40 count as 40.
    """
    if activation == "softmax":
        return segment_softmax(scores, bags.offsets)
    if activation == "exp":
        scores = np.minimum(scores, LARGEST_EXPONENT)
    weights = ACTIVATIONS[activation](scores)
    return (weights / np.repeat(bags.sizes, bags.sizes)).astype(scores.dtype)
