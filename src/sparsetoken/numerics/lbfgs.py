"""L-BFGS for several problems at once, which share each pass over the data."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float

MEMORY = 8  # pairs of moves that stand for the curvature
ARMIJO = 1e-4  # share of the expected fall that a step must bring
SHRINK, TRIES = 0.35, 8  # of a step that does not bring it
LEAST = 1e-300  # product of move and change of slope, of which the inverse is still finite

Evaluate = Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]
"""From points (s, m) and the numbers (s,) of their functions to values (s,), gradients (s, m)."""


class Descents(NamedTuple):
    """Where S descents ended, and their values there."""

    points: Float[np.ndarray, "S m"]
    values: Float[np.ndarray, " S"]


class _Pair(NamedTuple):
    """A move, what the gradient changed by, and 1 / <move, change>; 0 where that is not > 0."""

    move: Float[np.ndarray, "S m"]
    change: Float[np.ndarray, "S m"]
    rho: Float[np.ndarray, " S"]


def descend_together(
    evaluate: Evaluate, start: Float[np.ndarray, "S m"], steps: int, tolerance: float
) -> Descents:
    """Minimise S functions of m unknowns, each from its own start, in at most so many steps.

    No value ever rises. A function is done when a step lowers it by less than a share
    `tolerance` of its value, and is not evaluated again.
    """
    x = np.array(start, dtype=float)
    f, g = evaluate(x, np.arange(len(x)))
    pairs: list[_Pair] = []
    busy = np.ones(len(x), dtype=bool)
    for _ in range(steps):
        p = -_inverse_curvature(pairs, g)
        # A pair of another region can turn the direction uphill: then the gradient itself.
        p = np.where((_dots(p, g) < 0)[:, None], p, -g) * busy[:, None]
        norm = np.sqrt(_dots(p, p))
        first = np.minimum(1.0, (1 + np.linalg.norm(x, axis=1)) / np.maximum(norm, 1e-300))
        moved, f_moved, g_moved = _line_search(evaluate, x, p, f, g, first, busy)
        pairs = [*pairs[-MEMORY + 1 :], _pair(moved - x, g_moved - g)]
        busy &= f - f_moved > tolerance * np.abs(f)
        x, f, g = moved, f_moved, g_moved
        if not busy.any():
            break
    return Descents(x, f)


def _line_search(
    evaluate: Evaluate,
    x: Float[np.ndarray, "S m"],
    p: Float[np.ndarray, "S m"],
    f: Float[np.ndarray, " S"],
    g: Float[np.ndarray, "S m"],
    step: Float[np.ndarray, " S"],
    busy: Bool[np.ndarray, " S"],
) -> tuple[Float[np.ndarray, "S m"], Float[np.ndarray, " S"], Float[np.ndarray, "S m"]]:
    """Shorten each step until it brings its share of the fall; one that never does is 0."""
    fall, rows = ARMIJO * _dots(p, g), np.flatnonzero(busy)
    x, f, g = x.copy(), f.copy(), g.copy()
    for _ in range(TRIES):
        trial = x[rows] + step[rows, None] * p[rows]
        f_trial, g_trial = evaluate(trial, rows)
        good = f_trial <= f[rows] + step[rows] * fall[rows]
        done = rows[good]
        x[done], f[done], g[done] = trial[good], f_trial[good], g_trial[good]
        rows, step = rows[~good], SHRINK * step
        if not len(rows):
            break
    return x, f, g


def _pair(move: Float[np.ndarray, "S m"], change: Float[np.ndarray, "S m"]) -> _Pair:
    product = _dots(move, change)
    useful = product > np.maximum(1e-12 * _dots(change, change), LEAST)
    return _Pair(move, change, np.divide(1.0, product, out=np.zeros_like(product), where=useful))


def _inverse_curvature(pairs: list[_Pair], g: Float[np.ndarray, "S m"]) -> Float[np.ndarray, "S m"]:
    """Return the two-loop recursion of L-BFGS, for each function by itself."""
    r, shares = g.copy(), []
    for pair in reversed(pairs):
        shares.append(pair.rho * _dots(pair.move, r))
        r -= shares[-1][:, None] * pair.change
    if pairs:
        last = pairs[-1]
        size = _dots(last.change, last.change) * last.rho
        r *= np.divide(1.0, size, out=np.ones_like(size), where=size > 0)[:, None]
    for pair, share in zip(pairs, reversed(shares), strict=True):
        r += (share - pair.rho * _dots(pair.change, r))[:, None] * pair.move
    return r


def _dots(a: Float[np.ndarray, "S m"], b: Float[np.ndarray, "S m"]) -> Float[np.ndarray, " S"]:
    return np.einsum("ij,ij->i", a, b)
