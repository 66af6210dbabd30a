"""Moments of the tokens of all bags together, in float64 whatever the tokens are.

They are taken chunk by chunk, so that no float64 copy of all tokens is made.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

__all__ = ["Spectrum", "chunks", "covariance", "mean", "rounding", "spectrum", "variance"]

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


class Spectrum(NamedTuple):
    """Variances, falling, and the directions that have them, as rows of length 1."""

    variances: Float[np.ndarray, " d"]
    directions: Float[np.ndarray, "d d"]


def spectrum(covariance: Float[np.ndarray, "d d"]) -> Spectrum:
    """Return the spectrum; the largest entry of each direction is positive."""
    variances, columns = np.linalg.eigh(covariance)
    directions = columns.T[::-1]
    largest = np.abs(directions).argmax(axis=1)
    signs = np.sign(directions[np.arange(len(directions)), largest])
    return Spectrum(variances[::-1].copy(), directions * signs[:, None])


def rounding(
    spectrum: Spectrum,
    covariance: Float[np.ndarray, "d d"],
    mean: Float[np.ndarray, " d"],
    eps: float,
) -> Float[np.ndarray, " d"]:
    """Return the variances that rounding alone could make.

    The decomposition is exact to d float64 roundings of the largest variance; the tokens came
    rounded to a share eps of themselves.
    """
    decomposition = len(mean) * np.finfo(np.float64).eps * spectrum.variances[0]
    squares = np.square(mean) + np.diag(covariance)
    return decomposition + eps**2 * (np.square(spectrum.directions) @ squares)
