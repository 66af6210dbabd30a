"""The normal coordinates of the samples that are followed, and the signals in their tokens."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
from jaxtyping import Float, Int
from scipy.special import ndtri

from sparsetoken.model.concepts import TaskLaw
from sparsetoken.numerics.quadrature import BITS, MOST_DIMENSIONS, sobol_sequence

_SEED = 20250929  # any fixed number: the same samples in every run
_EVEN_ROWS = 9  # coordinates drawn evenly: signal, start, and the gradients of three steps


class Normals:
    """Independent N(0, 1) coordinates of the bags of half a replica, row after row.

    The first rows are a Sobol sequence with a random digital shift in each kind of bag: they decide
    the first steps, where the error falls many times. Later rows are pseudo-random. A row has
    `entries` coordinates of each bag: one for each token, and one for the effect of the bag. Of
    each kind there are `size` samples, a power of two.
    """

    def __init__(self, entries: int, kinds: int, size: int, replica: int, half: int) -> None:
        self._shape, self._kinds = (entries, kinds * size), kinds
        self._even, state = _beginning(entries, kinds, size, replica, half)
        self._rng = np.random.default_rng(0)
        self._rng.bit_generator.state = state
        self._used = 0

    def take(self, rows: int) -> Float[np.ndarray, "rows entries n"]:
        """Return the next rows."""
        first, self._used = self._used, self._used + rows
        if self._used <= len(self._even):
            return self._even[first : self._used]
        return self._rng.standard_normal((rows, *self._shape), dtype=np.float32)

    def batches(self, count: int) -> Int[np.ndarray, " n"]:
        """Return the batch of each sample, equally many of each kind in each."""
        size = self._shape[1] // self._kinds
        own = np.arange(size) % count
        return np.concatenate([self._rng.permutation(own) for _ in range(self._kinds)])

    def order(self, length: int) -> Int[np.ndarray, "L n"]:
        """Return a random order of the tokens of each sample."""
        return np.argsort(self._rng.random((length, self._shape[1])), axis=0)


@functools.lru_cache(maxsize=4)  # each replica is followed three times, in a search more often
def _beginning(
    entries: int, kinds: int, size: int, replica: int, half: int
) -> tuple[Float[np.ndarray, "rows entries n"], Any]:
    """Return the evenly spread rows, not to be written to, and the state of the generator after."""
    rng = np.random.default_rng(np.random.SeedSequence(_SEED, spawn_key=(replica, half)))
    rows = min(_EVEN_ROWS, MOST_DIMENSIONS // entries)
    even = np.empty((rows, entries, kinds * size))
    for first in range(0, kinds * size, size) if rows else ():
        normals = _shifted(rows * entries, size, rng)
        even[:, :, first : first + size] = normals.reshape(rows, entries, size)
    even.flags.writeable = False
    return even, rng.bit_generator.state


def _shifted(rows: int, size: int, rng: np.random.Generator) -> Float[np.ndarray, "rows size"]:
    """Return evenly spread independent normals."""
    shift = rng.integers(2**BITS, size=(rows, 1), dtype=np.uint32)
    return ndtri(((_points(rows, size) ^ shift) + 0.5) / 2**BITS)


@functools.lru_cache(maxsize=4)
def _points(rows: int, size: int) -> np.ndarray:
    """Return a Sobol sequence as whole numbers below 2^30."""
    points = sobol_sequence(rows).random(size)
    return np.ascontiguousarray((points * 2**BITS).astype(np.uint32).T)


def placed_signals(law: TaskLaw) -> Float[np.ndarray, "kinds P L"]:
    """Return the strengths of the signals in the tokens of each kind, the first ones."""
    signals = np.zeros((len(law.patterns), len(law.strengths), law.length))
    for own, counts in zip(signals, law.patterns, strict=True):
        last = np.cumsum(counts)
        for p, (count, end) in enumerate(zip(counts, last, strict=True)):
            own[p, end - count : end] = law.strengths[p]
    return signals
