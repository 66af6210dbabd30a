"""Gaussian means of a loss at many points."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
from jaxtyping import Float

from sparsetoken.losses.base import Loss, Smoothed, written_with_jax
from sparsetoken.losses.built_in import is_built_in
from sparsetoken.numerics.backend import compiled
from sparsetoken.numerics.quadrature import RANGE, trapezoidal_step

_BLOCK = 512  # points of one call, whose values at the nodes of a rule stay in the cache
_COMPILED = 64  # the same for a loss of one's own, which is compiled for this number
_MOST_NODES = 1024  # of the trapezoidal rule, from which the loss has a better one
_VALUES = 2**17  # of a function at the nodes of a block of rows: they stay in the cache


@np.errstate(all="ignore")  # a solver refuses a step that went too far
def smoothed_at(loss: Loss, y: np.ndarray, m: np.ndarray, T: np.ndarray, v: np.ndarray) -> Smoothed:
    """Return `Loss.smoothed` as NumPy arrays of the shape of y, to which all broadcast."""
    columns = np.stack([np.broadcast_to(column, y.shape) for column in (y, m, T, v)])
    columns = columns.reshape(4, -1)
    smoothed: Callable[..., Any] = loss.smoothed
    size = _BLOCK
    if not is_built_in(loss):
        smoothed, size = functools.partial(_own, loss), _COMPILED
        columns = np.pad(columns, ((0, 0), (0, -y.size % size)), "edge")
    means = np.empty((len(Smoothed._fields), columns.shape[1]))
    for first in range(0, columns.shape[1], size):
        here = slice(first, first + size)
        means[:, here] = smoothed(*columns[:, here])
    return Smoothed(*means[:, : y.size].reshape(-1, *y.shape))


def _own(loss: Loss, *columns: np.ndarray) -> np.ndarray:
    with written_with_jax("loss", loss):
        return _stacked(*columns, loss)


@compiled("loss")
def _stacked(y: Any, m: Any, T: Any, v: Any, loss: Loss) -> Any:
    import jax

    return jax.numpy.stack(loss.smoothed(y, m, T, v))


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
