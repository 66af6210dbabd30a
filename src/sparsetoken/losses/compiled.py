"""Gaussian means of a loss for NumPy arrays of any shape, with few compiled shapes."""

from __future__ import annotations

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from sparsetoken.losses.base import Loss, Smoothed

__all__ = ["smoothed_at"]

BLOCKS = (16, 128, 1024)  # points in one call


def smoothed_at(loss: Loss, y: np.ndarray, m: np.ndarray, T: np.ndarray, v: np.ndarray) -> Smoothed:
    """Return `Loss.smoothed` as NumPy arrays of the shape of y, to which all broadcast.

    Float64 must be enabled in JAX.
    """
    size = next((size for size in BLOCKS if y.size <= size), BLOCKS[-1])
    columns = np.stack([np.broadcast_to(column, y.shape).ravel() for column in (y, m, T, v)])
    pad = -y.size % size
    padded = np.concatenate([columns, columns[:, :1].repeat(pad, axis=1)], axis=1)
    blocks = np.split(padded, padded.shape[1] // size, axis=1)
    rows = np.concatenate(jax.device_get([_smoothed(loss, block) for block in blocks]), axis=1)
    return Smoothed(*rows[:, : y.size].reshape(-1, *y.shape))


@functools.partial(jax.jit, static_argnums=0)
def _smoothed(loss: Loss, arguments: Any) -> Any:
    return jnp.stack(loss.smoothed(*arguments))
