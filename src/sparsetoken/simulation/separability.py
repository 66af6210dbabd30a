"""Linear separability of two classes of points, by non-negative least squares."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float, Real
from scipy.optimize import nnls

from sparsetoken.base.validation import InvalidInput

ROUNDING = 1e-10
"""Of a margin m of unit samples the residual is m / sqrt(1 + m^2); at m = 0 rounding leaves 1e-15.

Weights that span ten orders of magnitude have margins of 1e-8.
"""


def is_separable(features: Float[np.ndarray, "n m"], labels: Real[np.ndarray, " n"]) -> bool:
    """Return whether some (w, b) has y_i (<w, f_i> + b) > 0 for all i.

    By Gordan's theorem there is none exactly if ``sum_i u_i y_i (f_i, 1) = 0`` for some
    u >= 0, u != 0: non-negative least squares finds the u that comes nearest.

    Parameters
    ----------
    features : array of shape (n, m)
    labels : array of shape (n,), in {-1, +1}

    Raises
    ------
    InvalidInput
        If the shapes differ, a label is not -1 or +1, or a feature is not finite.

    See Also
    --------
    draw_training_set : Draws features and labels.
    sparsetoken.capacity : The load up to which they are, in the limit.

    Examples
    --------
    >>> import numpy as np
    >>> from sparsetoken.simulation import is_separable
    >>> features = np.array([[0.0], [1.0], [2.0]])
    >>> is_separable(features, np.array([-1, 1, 1])), is_separable(features, np.array([1, -1, 1]))
    (True, False)
    """
    for name, given in (("features", features), ("labels", labels)):
        if np.ma.is_masked(given):
            raise InvalidInput(name, "an array without masked values", "some", "Leave them out.")
    try:
        F, y = np.asarray(features, dtype=float), np.asarray(labels, dtype=float)
    except (TypeError, ValueError, OverflowError) as error:
        raise InvalidInput("features and labels", "arrays of numbers", str(error)) from None
    if not np.isfinite(F).all():
        raise InvalidInput("features", "finite (no NaN, no infinity)", "others")
    if F.ndim != 2 or y.shape != F.shape[:1] or not np.all(np.abs(y) == 1):
        raise InvalidInput("labels", "n values in {-1, +1} for n rows", y.shape)
    norms = np.linalg.norm(F, axis=1)
    usual = np.median(norms[norms > 0]) if norms.any() else 1.0
    G = y[:, None] * np.column_stack([F, np.full(len(F), usual)])
    # Each sample is scaled, which changes nothing: exponential weights span many orders.
    G /= np.linalg.norm(G, axis=1, keepdims=True)
    # Of |G^T u|^2 + (1 - sum u)^2 the minimum over u >= 0 is 0 exactly if such a u exists.
    A, b = np.vstack([G.T, np.ones(len(G))]), np.append(np.zeros(G.shape[1]), 1.0)
    u, _ = nnls(A, b, maxiter=100 * len(G))  # some sets take more than 10 for each sample
    return bool(np.linalg.norm(b - A @ u) > ROUNDING)
