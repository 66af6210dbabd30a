"""Losses of samples and their slopes, by automatic differentiation."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import jax
import numpy as np
from jaxtyping import Float

from sparsetoken.model.descent import Training
from sparsetoken.model.network_checks import sample_loss
from sparsetoken.model.networks import Architecture


def slopes_of(
    training: Training, H: Float[np.ndarray, "m L n"], c: np.ndarray, y: np.ndarray, pieces: int = 1
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the loss of each sample, and its slopes by projections and further weights.

    Samples in one piece or in several equal ones share what is compiled for a piece.
    """
    compiled = _compiled(training.network, training.loss, training.law.outputs)
    size = len(y) // pieces
    some = [slice(first, first + size) for first in range(0, len(y), size)]
    with jax.enable_x64(True):
        parts = [compiled(H[..., own], c, y[own]) for own in some]
    losses, by_H, by_c = (np.concatenate(x, axis=-1) for x in zip(*parts, strict=True))
    return losses, by_H, by_c


@functools.lru_cache(maxsize=64)
def _compiled(network: Architecture, loss: Any, outputs: int) -> Callable[..., Any]:
    """Return what maps projections, further weights and targets to losses and their slopes."""
    of_sample = sample_loss(loss, outputs)

    def of_bag(H: Any, c: Any, y: Any) -> tuple[Any, Any, Any]:
        def value(H: Any, c: Any) -> Any:
            return of_sample(network.scores(H.T, c, outputs), y)

        loss, (by_H, by_c) = jax.value_and_grad(value, argnums=(0, 1))(H, c)
        return loss, by_H, by_c

    return jax.jit(jax.vmap(of_bag, in_axes=(2, None, 0), out_axes=(0, 2, 1)))
