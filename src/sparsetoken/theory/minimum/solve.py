"""Solutions of the equations of the joint minimum: a damped iteration with Anderson mixing."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from sparsetoken.model.tokens import symmetric_root
from sparsetoken.theory.minimum.equations import Equations, Means, Order, State

_DAMPING, _LEAST_DAMPING = 0.5, 0.1  # of steps; smaller ones where weights run away
_PATIENCE = 30  # iterations, after which the damping is larger where the residual has not halved
_FIRST_MOVE, _GROWTH = 0.02, 1.05  # of the largest move of M in a step, where it starts slowly
_TERMS = 5  # of Anderson mixing
_NEAR = 0.15  # the residual from which on it is used
_RUNAWAY = 1e4  # of a number of the state
_SHIFT, _RESTARTS = 2.0, 3  # of the proximal operator from other starts
_LOWER = 1e-6  # relative, of another minimum
_CORRELATION, _PARTNERS = 0.95, 4  # of the normals of near projections, and their number


class Solution(NamedTuple):
    """Where an iteration ended."""

    state: State
    means: Means
    residual: float
    iterations: int
    diverged: bool

    @property
    def order(self) -> Order:
        """The order parameters."""
        return self.means.order

    @property
    def gram(self) -> Float[np.ndarray, "m m"]:
        """U^T U."""
        return self.order.gram


def solve(
    equations: Equations,
    start: State,
    x: Float[np.ndarray, "n Lf"] | None = None,
    *,
    tolerance: float,
    most: int = 200,
    wait: int = 6,
    slow: bool = False,
) -> Solution:
    """Iterate from a start until the equations hold to a tolerance, or as nearly as they come to.

    Parameters
    ----------
    equations : Equations
    start : State
    x : array, optional
        Of an earlier solution on the same bags, from which the proximal operator starts.
    tolerance : float
    most : int
        Iterations.
    wait : int
        Of these before Anderson mixing.
    slow : bool
        Whether overlaps move little at first: K and S then follow, and a branch without the signal
        is not leapt over.
    """
    x = first = equations.no_move() if x is None else x
    largest = _DAMPING
    v, damping, least = packed(start), _DAMPING, np.inf
    seen: list[tuple[np.ndarray, np.ndarray]] = []
    nearest: Solution | None = None
    for iteration in range(1, most + 1):
        state = _unpacked(v, start)
        means = equations.means(state, x)
        x = means.x
        most_move = min(1.0, _FIRST_MOVE * _GROWTH**iteration) if slow else 1.0
        residual = packed(equations.step(state, means, most_move)) - v
        size = float(np.abs(residual).max())
        if nearest is None or most_move < 1 or size < nearest.residual:
            nearest = Solution(state, means, size, iteration, False)
        if size < tolerance and means.prox_error < 1e-6:
            break
        if not np.isfinite(v).all() or np.abs(v).max() > _RUNAWAY:
            if largest < _LEAST_DAMPING:
                return Solution(state, means, size, iteration, True)
            largest /= 4
            v, x, damping, least = packed(start), first, largest, np.inf
            seen.clear()
            continue
        if iteration % _PATIENCE == 0:  # a solution that larger steps leap over
            damping, least = (damping, size) if size < 0.5 * least else (damping / 2, size)
            seen.clear()
        seen.append((v, residual))
        v = _next(equations, start, seen, damping, mixed=iteration > wait and size < _NEAR)
    assert nearest is not None
    return nearest._replace(iterations=iteration)


def packed(state: State) -> Float[np.ndarray, " unknowns"]:
    """Return the unknowns as one array."""
    return np.concatenate([part.ravel() for part in state])


def _unpacked(v: np.ndarray, like: State) -> State:
    parts, first = [], 0
    for part in like:
        parts.append(v[first : first + part.size].reshape(part.shape))
        first += part.size
    K, S, pull, M, c = parts
    return State(0.5 * (K + K.T), 0.5 * (S + S.T), 0.5 * (pull + pull.T), M, c)


def _legal(equations: Equations, v: np.ndarray, like: State) -> bool:
    """Whether S is a covariance and the ridges with K are positive."""
    if not np.isfinite(v).all():
        return False
    state, free = _unpacked(v, like), np.flatnonzero(~equations.problem.frozen)
    A = (np.diag(equations.problem.ridge) + state.K + state.pull)[np.ix_(free, free)]
    return bool(np.linalg.eigvalsh(state.S)[0] > 0 and np.linalg.eigvalsh(A)[0] > 0)


def _next(
    equations: Equations,
    like: State,
    seen: list[tuple[np.ndarray, np.ndarray]],
    damping: float,
    mixed: bool,
) -> np.ndarray:
    """Return the next unknowns: Anderson mixing of the last ones, or a damped step."""
    v, residual = seen[-1]
    before = seen[-1 - _TERMS : -1]
    if mixed and before:
        changes = np.array([residual - one for _, one in before]).T
        moves = np.array([v - one for one, _ in before]).T
        share = np.linalg.lstsq(changes, residual, rcond=1e-10)[0]
        mix = v + residual - (moves + changes) @ share
        near = np.abs(mix - v).max() < 2 * (1 + np.abs(v).max())
        if near and _legal(equations, mix, like):
            return mix
    while not _legal(equations, step := v + damping * residual, like) and damping > 1e-4:
        damping /= 3
    return step


def lowest(equations: Equations, found: Solution) -> np.ndarray | None:
    """Return the proximal operator of each bag at its lowest minimum; None if none is lower.

    It starts at the weights without the bag, and at random places.
    """
    x, values, _ = equations.prox(found.order, found.state.c, found.means.x)
    rng, first, best = np.random.default_rng(0), values.copy(), values.copy()
    for number in range(_RESTARTS):
        other = found.means.x + _SHIFT * rng.standard_normal(x.shape) if number else 0 * x
        end, value, _ = equations.prox(found.order, found.state.c, other)
        better = value < best - _LOWER * (1 + best)
        x[better], best[better] = end[better], value[better]
    return x if (first - best > _LOWER * (1 + first)).any() else None


def jumps_of(equations: Equations, found: Solution) -> Float[np.ndarray, "m m"]:
    """Return what jumps of the proximal operator add to its response, relative to the largest one.

    Between two near normals g of a bag, the pull G changes by the mean of its responses at both
    ends, apart from third order, and by its jumps in between:
    E[(G_1 - G_0 - (J_0 + J_1) (g_1 - g_0) / 2) (g_1 - g_0)^T] / E[(g_1 - g_0)^2] is the share of
    jumps in E[k G g^T], the left side of Stein's identity, which the equations leave out.
    """
    n, c, rng = equations.nodes, found.state.c, np.random.default_rng(0)
    order, x, parts = found.order, found.means.x, []
    for _ in range(_PARTNERS):
        fresh = rng.standard_normal(n.g.shape)
        other = _CORRELATION * n.g + math.sqrt(1 - _CORRELATION**2) * fresh
        move = other - n.g
        before, change = equations.pulls(order, c, n.g, x, move)
        after, later = equations.pulls(order, c, other, equations.nearest(order, c, other, x), move)
        gap = after - before - 0.5 * (change + later)
        parts.append(np.einsum("n,nl,nli,nlj->ij", n.weights, n.scale, gap, move))
    jumps = np.mean(parts, axis=0) / (2 * (1 - _CORRELATION))
    response = np.abs(found.means.of["K"] @ symmetric_root(found.order.R)).max()
    return jumps / max(float(response), 1e-12)
