"""Roots of increasing functions, many at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import jax

_MAX_STEPS = 200  # bisection alone narrows 1e9 to one ulp in fewer than 100


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
        return (step < _MAX_STEPS) & jnp.any(jnp.abs(move) > width)

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
