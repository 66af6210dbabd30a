"""The samples whose trajectories are followed, and their normal coordinates."""

from __future__ import annotations

import dataclasses
import functools
from typing import Any

import numpy as np
from jaxtyping import Float, Int
from scipy.special import ndtri

from sparsetoken.numerics.sobol import BITS, MOST_DIMENSIONS, sobol_sequence
from sparsetoken.problem import SparseTokenProblem

_SEED = 20250929  # any fixed number: the same samples in every run
_EVEN_ROWS = 9  # coordinates drawn evenly: signal, start, and the gradients of three steps


class Normals:
    """Independent N(0, 1) coordinates of the tokens of half a replica, row after row.

    The first rows are a Sobol sequence with a random digital shift in each class: they decide
    the first steps, where the error falls many times. Later rows are pseudo-random.

    Parameters
    ----------
    length : int
        L.
    size : int
        Samples of each class, a power of two.
    replica, half : int
        They make the seed.
    """

    def __init__(self, length: int, size: int, replica: int, half: int) -> None:
        self._shape = length, 2 * size
        self._even, state = _beginning(length, size, replica, half)
        self._rng = np.random.default_rng(0)
        self._rng.bit_generator.state = state
        self._used = 0

    def take(self, rows: int) -> Float[np.ndarray, "rows L n"]:
        """Return the next rows."""
        first, self._used = self._used, self._used + rows
        if self._used <= len(self._even):
            return self._even[first : self._used]
        return self._rng.standard_normal((rows, *self._shape), dtype=np.float32)

    def batches(self, count: int) -> Int[np.ndarray, " n"]:
        """Return the batch of each sample, equally many of each class in each."""
        size = self._shape[1] // 2
        return np.concatenate([self._rng.permutation(np.arange(size) % count) for _ in range(2)])


@functools.lru_cache(maxsize=4)  # each replica is followed three times, in a search more often
def _beginning(
    length: int, size: int, replica: int, half: int
) -> tuple[Float[np.ndarray, "rows L n"], Any]:
    """Return the evenly spread rows, not to be written to, and the state of the generator after."""
    rng = np.random.default_rng(np.random.SeedSequence(_SEED, spawn_key=(replica, half)))
    rows = min(_EVEN_ROWS, MOST_DIMENSIONS // length)
    even = np.empty((rows, length, 2 * size))
    for first in (0, size) if rows else ():
        normals = _shifted(rows * length, size, rng)
        even[:, :, first : first + size] = normals.reshape(rows, length, size)
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


@dataclasses.dataclass(frozen=True)
class Samples:
    """Labels and weights of the samples of some halves of a replica, and their coordinates.

    Each half holds as many positives as negatives, weighted by the chances of the classes.
    By symmetry the informative tokens come first.

    Parameters
    ----------
    problem : SparseTokenProblem
    size : int
        Samples of each class and half, a power of two.
    replica : int
    halves : tuple of int
    """

    problem: SparseTokenProblem
    size: int
    replica: int
    halves: tuple[int, ...]

    @property
    def labels(self) -> Float[np.ndarray, " n"]:
        """Labels in {-1, +1}."""
        return np.tile(np.repeat([1.0, -1.0], self.size), len(self.halves))

    @property
    def weights(self) -> Float[np.ndarray, " n"]:
        """Weights of the samples, which add up to 1."""
        pi = self.problem.positive_rate
        return np.where(self.labels > 0, pi, 1 - pi) / (self.size * len(self.halves))

    @property
    def signal(self) -> Float[np.ndarray, "L n"]:
        """What the signal adds to <x_l, xi>."""
        _, theta, R, L = self.problem.letters
        informative = np.arange(L) < R
        return theta * np.outer(informative, self.labels > 0)

    def normals(self) -> list[Normals]:
        """Return the coordinates of each half, from their beginning."""
        L = self.problem.length
        return [Normals(L, self.size, self.replica, half) for half in self.halves]
