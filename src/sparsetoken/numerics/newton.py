"""Damped Newton's method for the stationary points of smooth potentials, and continuation."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from jaxtyping import Float

if TYPE_CHECKING:
    import jax


Vector = Float[np.ndarray, " n"]
System = Callable[[Vector], tuple[Vector, Float[np.ndarray, "n n"]]]

_MIN_DAMPING = 1e-4
_MAX_STEPS = 40
_RATIO, _MAX_RATIO, _MIN_RATIO = 20.0, 100.0, 1.05
_MAX_TOTAL = 1000  # about three times the longest way that is common


class NewtonResult(NamedTuple):
    """A point, the relative norm of the last Newton step there, and the cost."""

    x: Vector
    residual: float
    iterations: int
    converged: bool


def damped_newton(
    system: System,
    start: Vector,
    *,
    positive: tuple[int, ...] = (),
    cautious: tuple[int, ...] = (),
    tolerance: float = 1e-6,
    least: float = 1e-12,
) -> NewtonResult:
    """Solve gradient(x) = 0 by Newton's method, damped until the next step is shorter.

    Norms of steps do not change under linear maps of the gradient, so badly scaled
    equations need no care (compare the natural monotonicity test of P. Deuflhard, Newton
    Methods for Nonlinear Problems, 3.3, which takes the next step with the old Jacobian).

    Parameters
    ----------
    system : callable
        Maps x to (gradient, Jacobian).
    start : array of shape (n,)
    positive : tuple of int
        Unknowns > 0; one step takes away at most nine tenths of them. Their scale is
        their own size, the other unknowns share one.
    cautious : tuple of int
        Unknowns that may have no curvature far from the solution; one step changes
        them by at most half of 1 + their size.
    tolerance : float
        Bound on the relative norm of the last step. The step is taken, so that the
        error is of the order of its square.
    least : float
        Shared scale of unknowns that are smaller, as a solution at 0 has it.
    """
    x = np.array(start, dtype=float)
    step = _step(*system(x))
    residual = np.inf
    for iteration in range(1, _MAX_STEPS + 1):
        scale = _scale(x, positive, least)
        residual = float(np.linalg.norm(step / scale))
        if residual <= tolerance:
            return NewtonResult(x + step, residual, iteration, True)
        if not np.isfinite(residual):
            return NewtonResult(x, residual, iteration, False)
        longest = _longest(x, step, positive, cautious)
        damping = longest
        while True:
            trial = x + damping * step
            next_step = _step(*system(trial))
            if np.linalg.norm(next_step / scale) <= (1 - damping / 20) * residual:
                break
            damping /= 2
            if not damping >= _MIN_DAMPING * longest:
                return NewtonResult(x, residual, iteration, False)
        x, step = trial, next_step
    return NewtonResult(x, residual, _MAX_STEPS, False)


def _step(gradient: np.ndarray, jacobian: np.ndarray) -> np.ndarray:
    if np.isfinite(jacobian).all() and np.isfinite(gradient).all():
        try:
            return np.linalg.solve(jacobian, -gradient)
        except np.linalg.LinAlgError:
            pass
    return np.full_like(gradient, np.inf)


def _scale(x: np.ndarray, positive: tuple[int, ...], least: float = 1e-12) -> np.ndarray:
    scale = np.full_like(x, max(float(np.linalg.norm(x)), least))
    scale[list(positive)] = x[list(positive)]
    return scale


def _longest(
    x: np.ndarray, step: np.ndarray, positive: tuple[int, ...], cautious: tuple[int, ...]
) -> float:
    longest = 1.0
    for i in positive:
        if step[i] < 0:
            longest = min(longest, -0.9 * x[i] / step[i])
    for i in cautious:
        if step[i] != 0:
            longest = min(longest, 0.5 * (1 + abs(x[i])) / abs(step[i]))
    return longest


def follow(
    solve: Callable[[Vector, float], NewtonResult],
    at_start: NewtonResult,
    start: float,
    stop: float,
    enough: float | None = None,
) -> tuple[NewtonResult, float]:
    """Follow a solution while a positive parameter falls from `start` to `stop`.

    The ratio of successive parameters grows after a success and shrinks after a
    failure. `stop` may be 0 if `enough` is given: below `enough` the next value is 0.
    The result is that at the last parameter reached, which is returned with it and is `stop` if it
    converged; its iterations count the whole way, with those of `at_start`.
    """
    at, ratio, total = start, _RATIO, at_start.iterations
    result = at_start
    while at > stop:
        target = max(stop, at / ratio)
        if enough is not None and target < enough:
            target = stop
        trial = solve(result.x, target)
        total += trial.iterations
        if trial.converged:
            result, at, ratio = trial, target, min(ratio**1.5, _MAX_RATIO)
        else:
            ratio = ratio**0.5
            if ratio < _MIN_RATIO or total > _MAX_TOTAL:
                return result._replace(iterations=total, converged=False), at
    return result._replace(iterations=total), at


_MOST_HALVINGS = 200  # bisection alone narrows 1e9 to one ulp in fewer than 100


def increasing_root(function: Callable[[Any], tuple[Any, Any]], low: Any, high: Any) -> jax.Array:
    """Return the root in [low, high] of an increasing function, element by element.

    The function maps z to value and derivative. Newton's step is taken while it stays in the
    bracket and at least halves the last step; otherwise the bracket is halved. So it cannot cycle,
    and a jump through zero (a kink of a loss) is found as well. It must be value(low) <= 0 <=
    value(high).
    """
    import jax  # on first use: it takes half a second
    import jax.numpy as jnp

    def unfinished(state: tuple) -> jax.Array:
        *_, z, move, step = state
        width = 2 * jnp.finfo(z.dtype).eps * jnp.maximum(jnp.abs(z), 1e-3)
        return (step < _MOST_HALVINGS) & jnp.any(jnp.abs(move) > width)

    def advance(state: tuple) -> tuple:
        low, high, z, move, step = state
        value, slope = function(z)
        low, high = jnp.where(value <= 0, z, low), jnp.where(value >= 0, z, high)
        newton = z - value / slope
        good = (newton >= low) & (newton <= high)
        good &= jnp.abs(newton - z) <= 0.5 * jnp.abs(move)
        target = jnp.where(good, newton, 0.5 * (low + high))
        return low, high, target, target - z, step + 1

    middle = 0.5 * (low + high)
    start = (low, high, middle, high - low, 0)
    return jax.lax.while_loop(unfinished, advance, start)[2]
