"""Arithmetic over the bags of one flat array: softmax, sums, means and maxima.

`offsets`, of shape (n + 1,), says where bags begin and end: bag i is rows offsets[i] to
offsets[i+1]. No bag is empty. Every function keeps float32.
"""

from __future__ import annotations

import itertools

import numpy as np
import scipy
from jaxtyping import Float, Int


def segment_softmax(
    scores: Float[np.ndarray, " N"], offsets: Int[np.ndarray, " bounds"]
) -> Float[np.ndarray, " N"]:
    """Return the softmax of the scores within each bag; no score is too large."""
    starts, sizes = offsets[:-1], np.diff(offsets)
    weights = np.exp(scores - np.repeat(np.maximum.reduceat(scores, starts), sizes))
    weights /= np.repeat(np.add.reduceat(weights, starts), sizes)
    return weights


def segment_log_mean_exp(
    scores: Float[np.ndarray, " N"], offsets: Int[np.ndarray, " bounds"]
) -> Float[np.ndarray, " bounds-1"]:
    """Return log mean exp of the scores of each bag; no score is too large."""
    starts, sizes = offsets[:-1], np.diff(offsets)
    top = np.maximum.reduceat(scores, starts)
    total = np.add.reduceat(np.exp(scores - np.repeat(top, sizes)), starts)
    return top + np.log(total / sizes).astype(scores.dtype, copy=False)


def weighted_sum(
    tokens: Float[np.ndarray, "N d"],
    weights: Float[np.ndarray, " N"],
    offsets: Int[np.ndarray, " bounds"],
) -> Float[np.ndarray, "bounds-1 d"]:
    """Return the weighted sum of the tokens of each bag, in the dtype of the tokens."""
    # A sparse product reads the tokens once; np.add.reduceat along columns is 50 times slower.
    N = len(tokens)
    index = np.int32 if N < 2**31 else np.int64
    parts = weights.astype(tokens.dtype, copy=False), np.arange(N, dtype=index)
    shape = (len(offsets) - 1, N)
    return scipy.sparse.csr_array((*parts, offsets.astype(index)), shape=shape) @ tokens


def segment_sum(
    tokens: Float[np.ndarray, "N d"], offsets: Int[np.ndarray, " bounds"]
) -> Float[np.ndarray, "bounds-1 d"]:
    """Return the sum of the tokens of each bag."""
    return weighted_sum(tokens, np.ones(len(tokens), tokens.dtype), offsets)


def segment_mean(
    tokens: Float[np.ndarray, "N d"], offsets: Int[np.ndarray, " bounds"]
) -> Float[np.ndarray, "bounds-1 d"]:
    """Return the mean token of each bag."""
    sizes = np.diff(offsets)
    return weighted_sum(tokens, np.repeat(1 / sizes, sizes), offsets)


def segment_deviation(
    tokens: Float[np.ndarray, "N d"],
    means: Float[np.ndarray, "n d"],
    offsets: Int[np.ndarray, " bounds"],
) -> Float[np.ndarray, "n d"]:
    """Return the standard deviation of each column within each bag, from the mean tokens."""
    squares = np.empty(means.shape, tokens.dtype)
    bounds = zip(squares, means, itertools.pairwise(offsets.tolist()), strict=True)
    for row, mean, (start, stop) in bounds:  # less their mean first: no digits cancel
        np.square(tokens[start:stop] - mean).mean(axis=0, out=row)
    return np.sqrt(squares, out=squares)


def segment_max(
    tokens: Float[np.ndarray, "N d"], offsets: Int[np.ndarray, " bounds"]
) -> Float[np.ndarray, "bounds-1 d"]:
    """Return the largest value of each column within each bag."""
    return _reduced(np.maximum, tokens, offsets)


def segment_min(
    tokens: Float[np.ndarray, "N d"], offsets: Int[np.ndarray, " bounds"]
) -> Float[np.ndarray, "bounds-1 d"]:
    """Return the smallest value of each column within each bag."""
    return _reduced(np.minimum, tokens, offsets)


def _reduced(
    function: np.ufunc, tokens: Float[np.ndarray, "N d"], offsets: Int[np.ndarray, " bounds"]
) -> Float[np.ndarray, "bounds-1 d"]:
    found = np.empty((len(offsets) - 1, tokens.shape[1]), tokens.dtype)
    # Bag by bag: reduceat along columns is 20 times slower.
    for row, (start, stop) in zip(found, itertools.pairwise(offsets.tolist()), strict=True):
        function.reduce(tokens[start:stop], axis=0, out=row)
    return found
