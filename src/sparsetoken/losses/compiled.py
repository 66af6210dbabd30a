"""Gaussian means of a loss for NumPy arrays."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
from jaxtyping import Float

from sparsetoken.losses.base import Loss, Smoothed
from sparsetoken.numerics.quadrature import RANGE, trapezoidal_step

BLOCKS = (16, 128, 1024)  # points in one compiled call
_CALL = 64  # points that take about as long as a call by itself
_MOST_NODES = 1024  # of the trapezoidal rule; a compiled call is faster from there
_FEW_VALUES = 2**14  # of a function at all nodes: less work than it is to compile a call
_WIDTHS = 1e-100, 1e100  # whose squares are numbers
_VALUES = 2**17  # of a function at the nodes of a block of rows: they stay in the cache


def smoothed_at(loss: Loss, y: np.ndarray, m: np.ndarray, T: np.ndarray, v: np.ndarray) -> Smoothed:
    """Return `Loss.smoothed` as NumPy arrays of the shape of y, to which all broadcast.

    Few points take the trapezoidal rule, if the dual is analytic in a strip, so that no process
    compiles anything for them, nor imports JAX.
    """
    columns = np.empty((4, *y.shape))
    for row, column in zip(columns, (y, m, T, v), strict=True):
        row[...] = column
    columns = columns.reshape(4, -1)
    nodes = _nodes_in_g(loss, columns[2])
    if y.size * nodes <= _FEW_VALUES:
        return Smoothed(*_trapezoidal_in_g(loss, columns, int(nodes)).reshape(-1, *y.shape))
    size = min(BLOCKS, key=lambda size: math.ceil(y.size / size) * (size + _CALL))
    pad = -y.size % size
    padded = np.concatenate([columns, columns[:, :1].repeat(pad, axis=1)], axis=1)
    blocks = np.split(padded, padded.shape[1] // size, axis=1)
    rows = np.concatenate(_smoothed(loss, blocks), axis=1)
    return Smoothed(*rows[:, : y.size].reshape(-1, *y.shape))


def _nodes_in_g(loss: Loss, T: np.ndarray) -> float:
    """Return how many evenly spaced g serve all widths; inf if no strip is known."""
    if loss.strip == 0:
        return math.inf
    widths = np.clip(T, *_WIDTHS)
    return 2 + float(2 * RANGE * np.max(widths / trapezoidal_step(widths, loss.strip)))


def _trapezoidal_in_g(loss: Loss, columns: np.ndarray, nodes: int) -> np.ndarray:
    """Return the means at points (y, m, T, v) over g in common, in the order of `Smoothed`."""
    y, m, T, v = columns[:, :, None]
    g, step = np.linspace(-RANGE, RANGE, nodes, retstep=True)
    weight = step / math.sqrt(2 * math.pi) * np.exp(-0.5 * g**2)
    value, p, D = loss.at_prox(y, m + T * g, v)
    M, pp, pD, ppD = value + 0.5 * v * p**2, p**2, p * D, p**2 * D
    zeroth, first, second = weight, weight * g, weight * g**2
    means = [M @ zeroth, p @ zeroth, pp @ zeroth, D @ zeroth, D @ first, D @ second]
    return np.stack([*means, pD @ zeroth, pD @ first, ppD @ zeroth])


def _smoothed(loss: Loss, blocks: list[np.ndarray]) -> list[np.ndarray]:
    import jax

    with jax.enable_x64(True):
        return jax.device_get([_compiled()(loss, block) for block in blocks])


@functools.cache
def _compiled() -> Callable[..., Any]:
    import jax

    @functools.partial(jax.jit, static_argnums=0)
    def smoothed(loss: Loss, arguments: Any) -> Any:
        return jax.numpy.stack(loss.smoothed(*arguments))

    return smoothed


def smoothed_rows(
    loss: Loss,
    y: Float[np.ndarray, " rows"],
    m: Float[np.ndarray, "rows points"],
    T: Float[np.ndarray, " rows"],
    v: Float[np.ndarray, " rows"],
) -> Float[np.ndarray, "means rows points"]:
    """Return `Loss.smoothed` where the points of a row share label, width and v.

    The means are stacked in the order of `Smoothed`. If the dual is analytic in a strip, one
    trapezoidal rule serves all points of a row; otherwise `smoothed_at` does.
    """
    low, high = m.min(axis=1) - RANGE * T, m.max(axis=1) + RANGE * T
    nodes = math.inf
    if loss.strip > 0:
        nodes = float(np.max((high - low) / trapezoidal_step(T, loss.strip)))
    if not nodes <= _MOST_NODES:
        columns = (np.broadcast_to(column[:, None], m.shape) for column in (y, T, v))
        label, width, bend = columns
        return np.stack(smoothed_at(loss, label, m, width, bend))
    steps = math.ceil(nodes)
    means = np.empty((len(Smoothed._fields), *m.shape))
    block = max(1, _VALUES // (steps * m.shape[1]))
    for first in range(0, len(m), block):
        h = slice(first, first + block)
        omega = low[h, None] + (high - low)[h, None] * np.linspace(0, 1, steps + 1)
        means[:, h] = _trapezoidal(loss, y[h, None], m[h], T[h, None], v[h, None], omega)
    return means


def _trapezoidal(
    loss: Loss, y: np.ndarray, m: np.ndarray, T: np.ndarray, v: np.ndarray, omega: np.ndarray
) -> np.ndarray:
    """Return the means over evenly spaced omega, which are common to the points of a row."""
    value, p, D = loss.at_prox(y, omega, v)
    functions = np.stack([D, p * D, value + 0.5 * v * p**2, p, p**2, p**2 * D], axis=-1)
    functions *= ((omega[:, 1:2] - omega[:, :1]) / (math.sqrt(2 * math.pi) * T))[..., None]
    g = (omega / T)[:, None] - (m / T)[:, :, None]
    weight = g * g
    weight *= -0.5
    np.exp(weight, out=weight)
    zeroth = weight @ functions
    weight *= g
    first = weight @ functions[..., :2]
    weight *= g
    second = weight @ functions[..., :1]
    D, pD, M, p, pp, ppD = np.moveaxis(zeroth, -1, 0)
    Dg, pDg = np.moveaxis(first, -1, 0)
    return np.stack([M, p, pp, D, Dg, second[..., 0], pD, pDg, ppD])
