"""Newton directions of a readout by conjugate gradients: products with F, no Gram matrix."""

from __future__ import annotations

import numpy as np

from sparsetoken.numerics.products import Product, Products

BIAS_FLOOR = 0.01


class ConjugateDirections:
    """Solves Newton systems of one design, each to the accuracy asked for.

    The system in (w, b) is ``(F^T D F + ridge) w + F^T D 1 b = r_w`` with D = bend/n, and the
    bias without a ridge. Columns are scaled to unit mean square. Products are taken in
    float32: the direction is that of an inexact Newton step, whose gradient is exact.

    Parameters
    ----------
    F : array of shape (n, m)
    ridge : float > 0
    """

    def __init__(self, F: np.ndarray, ridge: float) -> None:
        n, m = F.shape
        scale = np.sqrt(np.einsum("nm,nm->m", F, F) / n)
        self._scale = np.where(scale > 0, scale, 1.0)
        scaled = np.empty((n, m), np.float32)
        np.divide(F, self._scale, out=scaled, casting="same_kind")
        self._products = Products(scaled)
        self._ridge = ridge / self._scale**2
        # So many products cost about as much as one factorisation.
        self._most = max(30, min(n, m) // 8)

    def solve(
        self, bend: np.ndarray, grad_w: np.ndarray, grad_b: float, accuracy: float
    ) -> tuple[np.ndarray, float] | None:
        """Return (dw, db) with H (dw, db) = -gradient, or None where the system is too hard.

        A curvature of 0 at some scores, as beyond a kink of the slope, is too hard: the Hessian
        then changes by leaps, and exact steps find the right one sooner.

        Parameters
        ----------
        bend : array of shape (n,), >= 0
        grad_w, grad_b
            The gradient.
        accuracy : float
            The residual wanted, relative to the gradient, both in the norm of the diagonal.
        """
        if not bend.all():
            return None
        D = bend / len(bend)
        floor = BIAS_FLOOR * abs(grad_b)  # keeps the step of b finite where no bend is left
        diagonal = np.append(D.sum() + self._ridge, D.sum() + floor)
        right = -np.append(grad_w / self._scale, grad_b)
        x, residual = np.zeros_like(right), right.copy()
        z = residual / diagonal
        p, size, product = z.copy(), residual @ z, self._products.weighted(D)
        goal = accuracy**2 * size
        for _ in range(self._most):
            if size <= goal:
                return x[:-1] / self._scale, float(x[-1])
            q = self._times(product, p)
            q[-1] += floor * p[-1]
            along = p @ q
            if not along > 0 or not np.isfinite(along):
                return None
            x += size / along * p
            residual -= size / along * q
            z = residual / diagonal
            size, before = residual @ z, size
            p = z + size / before * p
        return None

    def _times(self, product: Product, p: np.ndarray) -> np.ndarray:
        """Return H p."""
        total, last = product(p[:-1], p[-1])
        return np.append(total + self._ridge * p[:-1], last)
