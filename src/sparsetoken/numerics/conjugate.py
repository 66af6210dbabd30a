"""Newton directions of a readout by conjugate gradients: products with F, no Gram matrix."""

from __future__ import annotations

import numpy as np
from scipy.sparse.linalg import LinearOperator, cg

from sparsetoken.numerics.products import Products

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
        # In these units the diagonal is 1.
        unit = 1 / np.sqrt(np.append(D.sum() + self._ridge, D.sum() + floor))
        ridge, product = np.append(self._ridge, floor), self._products.weighted(D)

        def times(p: np.ndarray) -> np.ndarray:
            p = unit * p
            return unit * (np.append(*product(p[:-1], p[-1])) + ridge * p)

        H = LinearOperator((len(unit), len(unit)), times, dtype=float)
        right = -unit * np.append(grad_w / self._scale, grad_b)
        x, unfinished = cg(H, right, rtol=accuracy, maxiter=self._most)
        if unfinished or not np.isfinite(x).all():
            return None
        return (unit * x)[:-1] / self._scale, float(unit[-1] * x[-1])
