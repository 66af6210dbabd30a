"""Moments of the tokens of all bags together, in float64 whatever the tokens are.

They are taken chunk by chunk, so that no float64 copy of all tokens is made.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from jaxtyping import Float

CHUNK = 1 << 18  # values worked on together: 2 MB in float64


def chunks(tokens: Float[np.ndarray, "N d"]) -> Iterator[slice]:
    """Return runs of rows that together are all tokens."""
    step = max(1, CHUNK // tokens.shape[1])
    return (slice(start, start + step) for start in range(0, len(tokens), step))


def mean(tokens: Float[np.ndarray, "N d"]) -> Float[np.ndarray, " d"]:
    """Return the mean of each column; that of a constant column is exact."""
    first = tokens[0].astype(np.float64)
    total: Any = sum((tokens[rows] - first).sum(axis=0) for rows in chunks(tokens))
    return first + total / len(tokens)


def variance(
    tokens: Float[np.ndarray, "N d"], mean: Float[np.ndarray, " d"]
) -> Float[np.ndarray, " d"]:
    """Return the variance of each column, with divisor N."""
    total: Any = sum(np.square(tokens[rows] - mean).sum(axis=0) for rows in chunks(tokens))
    return total / len(tokens)


def mean_and_variance(
    tokens: Float[np.ndarray, "N d"], weight: Float[np.ndarray, " N"]
) -> tuple[Float[np.ndarray, " d"], Float[np.ndarray, " d"]]:
    """Return weighted mean and variance of each column, in one pass over the tokens.

    Both are exact for a constant column. Mean and sum of squares of a chunk join those of the
    chunks before it (Chan, Golub and LeVeque, 1983), so that no digits cancel.
    """
    centre, squares, total = tokens[0].astype(np.float64), np.zeros(tokens.shape[1]), 0.0
    for rows in chunks(tokens):
        share, first = weight[rows], tokens[rows][0].astype(np.float64)
        more = float(share.sum())
        if more == 0:
            continue
        moved = tokens[rows] - first
        shift = share @ moved / more
        moved -= shift
        step = first + shift - centre
        total += more
        squares += share @ np.square(moved, out=moved) + np.square(step) * (more - more**2 / total)
        centre += step * (more / total)
    return centre, squares / total


def scales(
    deviation: Float[np.ndarray, " d"],
    mean: Float[np.ndarray, " d"],
    dtype: np.dtype,
    roundings: int,
) -> Float[np.ndarray, " d"]:
    """Return what to divide columns by: their standard deviation, or 1 if they are constant.

    A column is constant if its deviation is at most a number of roundings of its mean.
    """
    number = np.finfo(dtype)
    constant = deviation <= np.maximum(roundings * number.eps * np.abs(mean), number.tiny)
    return np.where(constant, 1.0, deviation)
