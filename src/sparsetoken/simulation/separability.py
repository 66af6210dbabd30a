"""Linear separability of two classes of points: certificates, then a linear program."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float, Real
from scipy import linalg
from scipy.optimize import linprog

from sparsetoken.base.validation import InvalidInput

RIDGE = 1e-7
CLEAR = 1e-9  # of a margin that rounding cannot have made
MOST = 60  # Newton steps; about ten lead to the minimum, and what is left open is decided elsewhere


def is_separable(features: Float[np.ndarray, "n m"], labels: Real[np.ndarray, " n"]) -> bool:
    """Return whether some (w, b) has y_i (<w, f_i> + b) > 0 for all i.

    By Gordan's theorem there is none exactly if ``sum_i u_i y_i (f_i, 1) = 0`` for some
    u >= 0, u != 0. A squared-hinge fit with a tiny ridge proposes both: its (w, b) for
    the first, its multipliers for the second. Where neither holds, near the transition,
    the linear program of `linear_program` decides.

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
    G *= np.sqrt(G.shape[1]) / np.linalg.norm(G, axis=1, keepdims=True)
    margins = _margins(G)
    if np.all(margins > CLEAR):
        return True
    if _balances(G, np.maximum(1 - margins, 0)):
        return False
    return linear_program(G)


def _margins(G: np.ndarray) -> np.ndarray:
    """Return G x at the minimum of ``|max(1 - G x, 0)|^2 + n RIDGE |x|^2``.

    Newton steps with an exact line search; they stop where all margins are positive, which
    is all that is asked.
    """
    n, m = G.shape
    ridge = n * RIDGE
    x, margins, before = np.zeros(m), np.zeros(n), np.zeros(n, dtype=bool)
    hessian = ridge * np.eye(m)
    for _ in range(MOST):
        short = margins < 1
        # Few samples come or go in a step, so that the products of the others are kept.
        come, gone = G[short & ~before], G[before & ~short]
        hessian += come.T @ come - gone.T @ gone
        slope = np.maximum(1 - margins, 0) @ G - ridge * x
        step = _solution(hessian, slope)
        moved = G @ step
        if np.abs(moved).max() < CLEAR:
            break
        size = _line_search(margins, moved, ridge * (step @ x), ridge * (step @ step))
        x, margins, before = x + size * step, margins + size * moved, short
        if np.all(margins > CLEAR):
            break
    return margins


def _line_search(margins: np.ndarray, moved: np.ndarray, slope: float, curvature: float) -> float:
    """Return the t of least ``|max(1 - margins - t moved, 0)|^2 / 2 + slope t + curvature t^2/2``.

    Newton's method for the root of a slope that is piecewise linear and rises.
    """
    t = 0.0
    for _ in range(30):
        short = margins + t * moved < 1
        pull = moved[short]
        down = pull @ (1 - margins[short] - t * pull) - slope - t * curvature
        step = down / (pull @ pull + curvature)
        t += step
        if abs(step) < 1e-10 * (1 + abs(t)):
            break
    return float(t)


def _balances(G: np.ndarray, u: np.ndarray) -> bool:
    """Return whether multipliers near u >= 0 prove that G x > 0 has no solution.

    The nearest u' with G^T u' = 0, in the metric that moves small entries least, is
    u' = u (1 - G x). It is a proof if no entry is negative.
    """
    G, u = G[u > 0], u[u > 0]
    imbalance = G.T @ u
    x = _solution(G.T @ (u[:, None] * G), imbalance)
    corrected = u * (1 - G @ x)
    left = np.abs(G.T @ corrected).max()
    return bool(np.all(corrected >= 0) and left < 1e-10 * corrected.sum())


def _solution(A: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return x of A x = b for A >= 0, by least squares where A is not definite.

    LAPACK is called as it is: the checks of `scipy.linalg.solve` cost more than the solution.
    """
    _, x, info = linalg.lapack.dposv(A, b)
    return x if info == 0 else linalg.lstsq(A, b, check_finite=False)[0]


def linear_program(G: Float[np.ndarray, "n m"]) -> bool:
    """Return whether G x > 0 has a solution, by its dual.

    The program maximises ``sum_i u_i`` over ``G^T u = 0, 0 <= u <= 1``. It always has a
    solution, and its value is 0 (solvable) or at least 1 (not), since a u can be scaled
    until its largest entry is 1.
    """
    rows = G / np.linalg.norm(G, axis=1, keepdims=True)
    n, m = rows.shape
    solution = linprog(-np.ones(n), A_eq=rows.T, b_eq=np.zeros(m), bounds=(0, 1))
    if solution.status != 0:
        raise RuntimeError(f"linear program: {solution.message}")
    return bool(-solution.fun < 0.5)
