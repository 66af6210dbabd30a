"""Products with a weighted design in float32; products of a few rows."""

from __future__ import annotations

import functools
from collections.abc import Callable

import numpy as np

BLOCK_BYTES = 2**21  # rows that stay in the cache between the product with F and that with F^T

_SMALL = 10**6  # multiplications that OpenBLAS does without copying the factors first

Product = Callable[[np.ndarray, float], tuple[np.ndarray, float]]
"""(v, bias) -> (F^T u, sum u) with u = D (F v + bias), all in float32."""

_ONE_BY_ONE, _PIECE = 4, 4096


def few_columns(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """Return A @ B where B has many rows and few columns: by pieces, several times as fast.

    The sum over pieces is in float64.
    """
    size = min(max(_SMALL // max(len(A) * B.shape[1], 1), 256), _PIECE)
    total = (A[:, :size] @ B[:size]).astype(float)
    for first in range(size, len(B), size):
        total += A[:, first : first + size] @ B[first : first + size]
    return total


def few_rows(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """Return A @ B where A has few rows and B has many columns, up to twice as fast.

    Up to four rows are multiplied one by one, more of them by pieces of B.
    """
    product = np.empty((len(A), B.shape[1]), dtype=np.result_type(A, B))
    if len(A) <= _ONE_BY_ONE:
        for row, out in zip(A, product, strict=True):
            np.dot(row, B, out=out)
        return product
    for first in range(0, B.shape[1], _PIECE):
        product[:, first : first + _PIECE] = A @ B[:, first : first + _PIECE]
    return product


class Products:
    """Products by blocks of rows: F is read once, without the zeros that end a block.

    A triangular design, such as Bartlett's, is then half the work.
    """

    def __init__(self, F: np.ndarray) -> None:
        n, m = F.shape
        rows = max(1, BLOCK_BYTES // (4 * m))
        self._blocks = [
            (slice(first, first + rows), _without_last_zeros(F[first : first + rows]))
            for first in range(0, n, rows)
        ]

    def weighted(self, D: np.ndarray) -> Product:
        """Return the product with the weights D (n,)."""
        return functools.partial(self._product, D.astype(np.float32))

    def _product(self, D: np.ndarray, v: np.ndarray, bias: float) -> tuple[np.ndarray, float]:
        v, shift = v.astype(np.float32), np.float32(bias)
        total, last = np.zeros(len(v), np.float32), 0.0
        for here, F in self._blocks:
            width = F.shape[1]
            u = (F @ v[:width] + shift) * D[here]
            total[:width] += u @ F
            last += float(u.sum())
        return total, last


def _without_last_zeros(F: np.ndarray) -> np.ndarray:
    used = np.flatnonzero(F.any(axis=0))
    return F[:, : used[-1] + 1] if len(used) else F[:, :0]
