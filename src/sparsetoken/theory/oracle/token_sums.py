"""The distribution of a sum over tokens, exact at any length, on a lattice."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from sparsetoken.base.validation import integer
from sparsetoken.model.problem import SparseTokenProblem

TokenFunction = Callable[[np.ndarray], np.ndarray]
"""x(t), the share of one token with projection t in a sum, for arrays of t."""

LARGEST_EXPONENT = 300.0  # token functions stay below e^300, so that squares are finite
_FINEST = 13  # 2^13 lattice points: the relative error of tail chances is below 1e-3
_LONGEST = 2**20
_REACH = 9.0  # P(|t| > REACH) = 2e-19
_TILT = 20.0  # what leaves the lattice comes back e^-20 times smaller
_FILL = 0.8  # part of the lattice between the least sum and 0
_IMPOSSIBLE = 1e-40  # chance that all values are negative, where it no longer counts
_NEGLIGIBLE = -45.0  # log of the characteristic function where it no longer counts


def check_length(length: int) -> None:
    """Refuse lengths at which rounding errors affect the law of a sum.

    Raises
    ------
    InvalidInput
        If the length is above 2^20.
    """
    integer("length (L)", length, 1, _LONGEST, "Rounding errors would affect longer sums.")


def error_of_sum(token: TokenFunction, problem: SparseTokenProblem, finest: int = _FINEST) -> float:
    """Return the error of the test that calls positive where sum_l x(t_l) > 0.

    The tokens t_l are N(0, 1), those that carry the signal N(theta, 1). The function x is below
    e^300 in size, and bounded below on the line or falling no faster than linearly. `finest` is
    log2 of the number of lattice points, a small multiple of which is the memory at any length.

    Equation: token-sum-law.
    """
    miss, rest = (
        chance_of_rest(token, problem, positive=positive, finest=finest)
        for positive in (True, False)
    )
    return problem.positive_rate * miss + (1 - problem.positive_rate) * (1 - rest)


def chance_of_rest(
    token: TokenFunction, problem: SparseTokenProblem, *, positive: bool, finest: int = _FINEST
) -> float:
    """Return P(sum_l x(t_l) <= 0) in one class."""
    return _not_positive(_groups(token, problem, positive, finest), 2**finest)


def mean_of_sum(
    token: TokenFunction, problem: SparseTokenProblem, *, positive: bool, finest: int = _FINEST
) -> float:
    """Return E[sum_l x(t_l)] in one class."""
    groups = _groups(token, problem, positive, finest)
    return sum(count * float(chance @ x) for x, chance, count in groups)


Group = tuple[Float[np.ndarray, " m"], Float[np.ndarray, " m"], int]
"""Values that tokens have, their chances, and how many such tokens there are."""


def _groups(
    token: TokenFunction, problem: SparseTokenProblem, positive: bool, finest: int
) -> list[Group]:
    """Return the tokens of one class without and with the signal."""
    _, theta, R, L = problem.letters
    z, chance = _normal_cells(2**finest)
    if not positive or theta == 0:
        return [(token(z), chance, L)]
    own = (token(theta + z), chance, R)
    return [(token(z), chance, L - R), own] if L > R else [own]


@functools.lru_cache(maxsize=4)
def _normal_cells(count: int) -> tuple[np.ndarray, np.ndarray]:
    """Return midpoints and normal chances of equal cells; exact to rounding for smooth x."""
    z = (np.arange(count) + 0.5) * (2 * _REACH / count) - _REACH
    density = np.exp(-0.5 * z**2)
    return z, density / density.sum()


def _not_positive(groups: list[Group], size: int) -> float:
    """Return P(S <= 0) for the sum S of some groups.

    A value so large that the others cannot undo it decides by itself. It is left out, and
    what remains is light-tailed: the lattice needs to reach only from the least likely
    sum up to 0, and its step is a small part of the spread at any length. Exponential
    tilting keeps larger sums from coming back around the circle (Gruebel and Hermesmeier,
    ASTIN Bulletin 29, 1999). Sums of negative values alone are counted apart: sharp
    weights leave them closer to 0 than any lattice can show.
    """
    cap, low = _window(groups)
    if low >= 0:
        return 0.0
    step = -low / (_FILL * size)
    whole = int(1.1 * _FILL * size)  # rounding to the lattice may lead below `low`
    below = [chance * _share_below(x) for x, chance, _ in groups]
    certain = math.prod(b.sum() ** count for b, (*_, count) in zip(below, groups, strict=True))
    every = negative = np.ones(1, dtype=complex)
    for (x, chance, count), b in zip(groups, below, strict=True):
        kept = x <= cap
        point = _Lattice.of(x[kept] / step, size)
        every = every * _power(point.spectrum(chance[kept]), count)
        if certain > _IMPOSSIBLE:
            negative = negative * _power(point.spectrum(b[kept]), count)
    apart = every - negative if certain > _IMPOSSIBLE else every
    at = np.arange(-whole, 1)
    law = np.fft.irfft(apart, size)[at] * np.exp(_TILT / size * at)
    return float(np.clip(certain + law.sum() - 0.5 * law[-1], 0.0, 1.0))


def _share_below(x: np.ndarray) -> np.ndarray:
    """Return the part of each cell where x < 0, by its slope."""
    width = np.empty_like(x)  # |np.gradient(x)|, in half its time
    width[1:-1] = 0.5 * np.abs(x[2:] - x[:-2])
    width[0], width[-1] = abs(x[1] - x[0]), abs(x[-1] - x[-2])
    sloped = width > 1e-170  # elsewhere x is flat, or too close to 0 to divide by
    share = 0.5 - np.divide(x, width, out=np.zeros_like(x), where=sloped)
    return np.where(sloped, np.clip(share, 0.0, 1.0), x <= 0)


def _window(groups: list[Group]) -> tuple[float, float]:
    """Return (cap, low): sums of values up to `cap` stay above `low` and above -cap.

    Bernstein's inequality for values bounded below: chance e^-40 at most. A value above
    `cap` makes any sum positive.
    """
    ceilings = np.sort(np.concatenate([x for x, *_ in groups]), kind="stable")
    # Only those from 0 on can be caps, and the largest one below 0 serves as a bound for them.
    below = int(np.searchsorted(ceilings, 0.0))
    least = min(float(ceilings[0]), 0.0)
    ceilings = ceilings[max(below - 1, 0) :]
    floor, mean, spread = 0.0, np.zeros_like(ceilings), np.zeros_like(ceilings)
    for x, chance, count in groups:
        order = np.argsort(x, kind="stable")  # quick where x rises or falls throughout
        x, chance = x[order], chance[order]
        at = np.searchsorted(x, ceilings, side="right")
        mean += count * np.append(0.0, np.cumsum(chance * x))[at]
        spread += count * np.append(0.0, np.cumsum(chance * x**2))[at]
        floor += count * min(float(x[0]), 0.0)
    bounds = np.maximum(mean - 9 * np.sqrt(spread) + 27 * least, floor)
    if below > 0:  # positive values only raise a sum
        bounds = np.maximum(bounds, bounds[0])
    enough = np.nonzero(ceilings >= -bounds)[0]
    i = enough[0] if len(enough) else -1
    bound = min(float(bounds[i]), 0.0)
    # The tilt makes low sums more likely: it must not reach below the lattice.
    room = max(min(bound, 27 * least, -9 * math.sqrt(spread[i])), floor)
    return -bound, room if bound < 0 else 0.0


class _Lattice(NamedTuple):
    """Values shared among the three nearest points so that mean and variance stay exact.

    Sums of many values then keep both. The size is a power of two.
    """

    where: np.ndarray
    share: np.ndarray
    size: int

    @classmethod
    def of(cls, u: np.ndarray, size: int) -> _Lattice:
        """Place values u, in steps of the lattice."""
        point = np.rint(u)
        f, tilt = u - point, _TILT / size
        shares = (0.5 * f * (f - 1) * math.exp(tilt), 1 - f**2, 0.5 * f * (f + 1) * math.exp(-tilt))
        at = point.astype(np.int64)
        where = np.concatenate([(at + step) & (size - 1) for step in (-1, 0, 1)])
        return cls(where, np.stack(shares) * np.exp(-tilt * point), size)

    def spectrum(self, chance: np.ndarray) -> np.ndarray:
        """Return the transform of the tilted law."""
        law = np.bincount(self.where, (self.share * chance).ravel(), self.size)
        return np.fft.rfft(law)


def _power(spectrum: np.ndarray, count: int) -> np.ndarray:
    raised = np.zeros_like(spectrum)
    size = np.abs(spectrum)
    kept = size > size.max() * math.exp(_NEGLIGIBLE / count)
    base, power = spectrum[kept], None
    while count:  # by squares: complex powers are slow
        if count & 1:
            power = base if power is None else power * base
        count >>= 1
        base = base * base
    raised[kept] = power
    return raised
