"""Moments of the tokens of all bags together, in float64 whatever the tokens are.

They are taken chunk by chunk, so that no float64 copy of all tokens is made.
"""

from __future__ import annotations

import dataclasses
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


def covariance(
    tokens: Float[np.ndarray, "N d"], mean: Float[np.ndarray, " d"]
) -> Float[np.ndarray, "d d"]:
    """Return the covariance of the columns, with divisor N - 1."""
    total = np.zeros((len(mean), len(mean)))
    for rows in chunks(tokens):
        centred = tokens[rows] - mean
        total += centred.T @ centred
    return total / max(1, len(tokens) - 1)


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


@dataclasses.dataclass(frozen=True, eq=False)
class PrincipalComponents:
    """Mean, variances (falling), and the directions that have them, as rows of length 1.

    The largest entry of each direction is positive. Directions in which tokens do not vary have
    variance 0.
    """

    mean: Float[np.ndarray, " d"]
    variances: Float[np.ndarray, " d"]
    directions: Float[np.ndarray, "d d"]


def principal_components(tokens: Float[np.ndarray, "N d"], tolerance: float) -> PrincipalComponents:
    """Return the principal components of the tokens.

    Parameters
    ----------
    tokens : array of shape (N, d)
    tolerance : float
        Share of the largest variance up to which a variance counts as 0. So does one that
        rounding alone could make.
    """
    centre = mean(tokens)
    S = covariance(tokens, centre)
    rising, columns = np.linalg.eigh(S)
    variances, directions = rising[::-1].copy(), columns.T[::-1]
    largest = np.abs(directions).argmax(axis=1)
    signs = np.sign(directions[np.arange(len(directions)), largest])
    directions = directions * signs[:, None]
    # The decomposition is exact to d float64 roundings of the largest variance; the tokens came
    # rounded to a share eps of themselves.
    decomposition = len(centre) * np.finfo(np.float64).eps * variances[0]
    squares = np.square(centre) + np.diag(S)
    rounding = decomposition + np.finfo(tokens.dtype).eps ** 2 * (np.square(directions) @ squares)
    least = np.maximum(rounding, tolerance * variances[0])
    return PrincipalComponents(centre, np.where(variances > least, variances, 0.0), directions)
