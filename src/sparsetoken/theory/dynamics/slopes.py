"""Losses of bags and their slopes by projections and further weights, compiled once."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import jax
import numpy as np
from jaxtyping import Float

from sparsetoken.losses import Loss
from sparsetoken.network_checks import sample_loss
from sparsetoken.networks import Architecture

Slopes = Callable[[Any, Any, Any], tuple[Any, Any, Any]]


def slopes_of(
    network: Architecture,
    loss: Loss | Callable[[Any, Any], Any],
    H: Float[np.ndarray, "m L n"],
    c: Float[np.ndarray, " C"],
    y: Float[np.ndarray, " n"],
    outputs: int,
    piece: int,
) -> tuple[Float[np.ndarray, " n"], Float[np.ndarray, "m L n"], Float[np.ndarray, "C n"]]:
    """Return the loss of each bag and its slopes by H and c.

    Parameters
    ----------
    network : Architecture
    loss : Loss or callable
    H : array of shape (m, L, n)
        Projections of the tokens on the columns.
    c : array of shape (C,)
    y : array of shape (n,)
        Targets.
    outputs : int
    piece : int
        Samples in one call: those of a half, so that whole and halves share what is compiled.
    """
    compiled = _compiled(network, loss, outputs)
    with jax.enable_x64(True):
        parts = [
            compiled(H[..., first : first + piece], c, y[first : first + piece])
            for first in range(0, len(y), piece)
        ]
    losses, by_H, by_c = (np.concatenate(part, axis=-1) for part in zip(*parts, strict=True))
    return losses, by_H, by_c


@functools.lru_cache(maxsize=64)
def _compiled(network: Architecture, loss: Any, outputs: int) -> Slopes:
    of_sample = sample_loss(loss, outputs)

    def of_bag(H: Any, c: Any, y: Any) -> tuple[Any, Any, Any]:
        def value(H: Any, c: Any) -> Any:
            return of_sample(network.scores(H.T, c, outputs), y)

        found, (by_H, by_c) = jax.value_and_grad(value, argnums=(0, 1))(H, c)
        return found, by_H, by_c

    return jax.jit(jax.vmap(of_bag, in_axes=(2, None, 0), out_axes=(0, 2, 1)))
