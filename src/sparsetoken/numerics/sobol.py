"""Sobol sequences as SciPy draws them, without its statistics, which take half a second to import.

Those remain for sequences of many dimensions, whose direction numbers are a large table.
"""

from __future__ import annotations

from typing import Protocol, runtime_checkable

import numpy as np
import scipy
from jaxtyping import Float, UInt32

from sparsetoken.numerics.sobol_directions import DIRECTIONS

BITS = 30  # of a coordinate
MOST_DIMENSIONS = 21201  # for which SciPy has direction numbers
FEW_DIMENSIONS = 1 + len(DIRECTIONS)
_PLACES = np.arange(BITS - 1, -1, -1, dtype=np.uint32)  # of the bits, the highest first


@runtime_checkable
class Sequence(Protocol):
    """Points that are drawn in turn."""

    def random(self, count: int, /) -> Float[np.ndarray, "count dimensions"]:
        """Return the next points, in [0, 1)."""


def sobol_sequence(dimensions: int, rng: np.random.Generator | None = None) -> Sequence:
    """Return the `scipy.stats.qmc.Sobol` of these dimensions, or one that draws the same points.

    Parameters
    ----------
    dimensions : int
        From 1 to 21201.
    rng : numpy.random.Generator, optional
        Scrambles the sequence.
    """
    if dimensions <= FEW_DIMENSIONS:
        return ShortSequence(dimensions, rng)
    many = scipy.stats.qmc.Sobol  # imported here, on first use
    sequence: Sequence = many(dimensions, scramble=rng is not None, bits=BITS, rng=rng)
    return sequence


class ShortSequence:
    """A Sobol sequence of few dimensions.

    Scrambled by a random lower triangular matrix and a shift (Matousek, J. Complexity 14, 1998);
    the points are in the order of the Gray code.
    """

    def __init__(self, dimensions: int, rng: np.random.Generator | None) -> None:
        self._directions = _directions(dimensions)
        self._shift = np.zeros(dimensions, np.uint32)
        self._drawn = 0
        if rng is not None:
            self._scramble(rng.spawn(1)[0])

    def _scramble(self, rng: np.random.Generator) -> None:
        size = len(self._shift)
        self._shift = _number(rng.integers(2, size=(size, BITS), dtype=np.uint32)[:, ::-1])
        lower = np.tril(rng.integers(2, size=(size, BITS, BITS), dtype=np.uint32), -1)
        lower += np.eye(BITS, dtype=np.uint32)
        bits = (self._directions[:, None] >> _PLACES[:, None]) & 1
        self._directions = _number(np.moveaxis(lower @ bits & 1, 1, 2))

    def random(self, count: int, /) -> Float[np.ndarray, "count dimensions"]:
        """Return the next points, in [0, 1)."""
        blocks = []
        while count > 0:
            size = 1 << (count.bit_length() - 1)
            size = min(size, self._drawn & -self._drawn or size)
            blocks.append(self._block(size))
            self._drawn, count = self._drawn + size, count - size
        return np.concatenate(blocks)

    def _block(self, size: int) -> Float[np.ndarray, "size dimensions"]:
        """Return points whose number is a power of two that divides the number of those drawn.

        The second half of a Gray code is the first one backwards with another bit.
        """
        gray = self._drawn ^ self._drawn >> 1
        changed = [k for k in range(BITS) if gray >> k & 1]
        points = np.empty((size, len(self._shift)), np.uint32)
        points[0] = self._shift ^ np.bitwise_xor.reduce(self._directions[:, changed], axis=1)
        for k in range(size.bit_length() - 1):
            half = 1 << k
            points[half : 2 * half] = points[:half][::-1] ^ self._directions[:, k]
        return points * 0.5**BITS


def _directions(dimensions: int) -> UInt32[np.ndarray, "dimensions bits"]:
    """Return the direction numbers, by the recurrence that a primitive polynomial sets."""
    found = [[1] * BITS]
    for polynomial, *numbers in DIRECTIONS[: dimensions - 1]:
        degree = len(numbers)
        for j in range(degree, BITS):
            number = numbers[j - degree]
            for k in range(1, degree + 1):
                if polynomial >> (degree - k) & 1:
                    number ^= numbers[j - k] << k
            numbers.append(number)
        found.append(numbers)
    return np.array(found, np.uint32) << _PLACES


def _number(bits: UInt32[np.ndarray, "*n bits"]) -> UInt32[np.ndarray, "*n"]:
    """Return the numbers with these bits, the highest first."""
    return np.bitwise_or.reduce(bits << _PLACES, axis=-1)
