"""Newton's method for a smooth risk of linear scores with a free bias."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.linalg.blas import dnrm2, dsyrk
from scipy.linalg.lapack import dposv

from sparsetoken.numerics.conjugate import ConjugateDirections

PATIENCE = 60  # steps without a smaller residual
CONJUGATE_PATIENCE = 4  # the same, where factors are the alternative
ACCURACY = 0.05  # of conjugate gradients: more steps of less work than at 0.001
ROUNDING = 1e-14  # keeps the Newton matrix positive where rounding would not
Pointwise = Callable[[np.ndarray], np.ndarray]


class NewtonIterate(NamedTuple):
    """A readout and its scores z = F w + b."""

    w: np.ndarray
    b: float
    z: np.ndarray

    @classmethod
    def origin(cls, F: np.ndarray) -> NewtonIterate:
        """Return w = 0, b = 0."""
        return cls(np.zeros(F.shape[1]), 0.0, np.zeros(len(F)))

    def moved(self, step: NewtonIterate, t: float) -> NewtonIterate:
        """Return the point t steps further."""
        return NewtonIterate(self.w + t * step.w, self.b + t * step.b, self.z + t * step.z)


def newton(
    F: np.ndarray,
    slope: Pointwise,
    curvature: Pointwise,
    ridge: float,
    start: NewtonIterate,
    tolerance: float,
    max_steps: int,
    conjugate: ConjugateDirections | None = None,
) -> tuple[NewtonIterate, float, int]:
    """Minimise ``mean_i l_i(F_i w + b) + (ridge/2) |w|^2``, ridge > 0, from `start`.

    Slope and curvature map scores (n,) to l_i' and l_i'' >= 0. The Newton systems are solved by
    factorisation, or roughly by conjugate gradients of this F and ridge; then it ends where they
    fail. The tolerance is that of the residual of `_residual`, which is returned with the point and
    the number of steps.
    """
    here, best, stuck = start, np.inf, 0
    patience = PATIENCE if conjugate is None else CONJUGATE_PATIENCE
    for steps in range(max_steps + 1):
        p = slope(here.z)
        grad_w, grad_b = F.T @ p / len(p) + ridge * here.w, p.sum() / len(p)
        residual = _residual(grad_w, grad_b, p, here.w, ridge)
        stuck = 0 if residual < 0.9 * best else stuck + 1
        best = min(best, residual)
        if residual <= tolerance or steps == max_steps or stuck > patience:
            break
        bend = curvature(here.z)
        if conjugate is None:
            step = _direction(F, bend, ridge, grad_w, grad_b)
        else:
            direction = conjugate.solve(bend, grad_w, grad_b, ACCURACY)
            if direction is None:
                break
            step = NewtonIterate(*direction, F @ direction[0] + direction[1])
        t = _line_search(here, step, p, slope, ridge)
        here = here.moved(step, t)
        if steps % 10 == 9:  # rounding adds up in updated scores
            here = here._replace(z=F @ here.w + here.b)
    return here, residual, steps


def _residual(
    grad_w: np.ndarray, grad_b: float, p: np.ndarray, w: np.ndarray, ridge: float
) -> float:
    """Return the larger of |grad_w| / (ridge (1 + |w|)) and |grad_b| / mean|p|."""
    pull = np.abs(p).sum() / len(p)
    bias = abs(grad_b) / pull if pull > 0 else 0.0
    return float(max(dnrm2(grad_w) / (ridge * (1 + dnrm2(w))), bias))


def _direction(
    F: np.ndarray, bend: np.ndarray, ridge: float, grad_w: np.ndarray, grad_b: float
) -> NewtonIterate:
    """Solve the Newton system by elimination of w.

    The bias has no ridge, and its curvature vanishes where no l_i'' is positive. A floor
    proportional to |grad_b| keeps its step finite, and does not touch the last steps.
    """
    D = bend / len(bend)
    H = gram(F, D)
    diagonal = np.einsum("ii->i", H)  # a view, far quicker than a pair of index arrays
    diagonal += ridge + ROUNDING * diagonal.max()
    cross = F.T @ D
    _, both, failed = dposv(H, np.array([grad_w, cross]).T, lower=1, overwrite_a=1, overwrite_b=1)
    if failed:
        raise np.linalg.LinAlgError("the Newton matrix is not positive definite")
    schur = max(D.sum() - cross @ both[:, 1], 0.01 * abs(grad_b))
    db = -(grad_b - cross @ both[:, 0]) / schur if schur > 0 else 0.0
    dw = -both[:, 0] - db * both[:, 1]
    return NewtonIterate(dw, db, F @ dw + db)


def gram(F: np.ndarray, D: np.ndarray) -> np.ndarray:
    """Return the lower triangle of F^T diag(D) F; rows without weight cost nothing."""
    used = D > 0
    if np.count_nonzero(used) < 0.9 * len(D):
        F, D = F[used], D[used]
    if len(F) == 0:
        return np.zeros((F.shape[1], F.shape[1]), order="F")
    scaled = F * np.sqrt(D)[:, None]
    return dsyrk(1.0, scaled.T, lower=1)


def _line_search(
    here: NewtonIterate, step: NewtonIterate, p: np.ndarray, slope: Pointwise, ridge: float
) -> float:
    """Return t > 0 where the derivative along the step has lost 90% of its size.

    p are the slopes at t = 0. The derivative rises with t: double until it is positive, then
    bisect by turns with the secant.
    """
    n = len(here.z)
    start, bend = ridge * (here.w @ step.w), ridge * (step.w @ step.w)

    def rise(t: float) -> float:
        return float(slope(here.z + t * step.z) @ step.z / n + start + t * bend)

    low, f_low, high, f_high = 0.0, float(p @ step.z / n + start), np.inf, np.inf
    enough, t = 0.1 * abs(f_low), 1.0
    if f_low >= 0:  # by rounding, at the minimum
        return t
    for trial in range(60):
        f = rise(t)
        if abs(f) <= enough:
            break
        if f < 0:
            low, f_low = t, f
        else:
            high, f_high = t, f
        if high == np.inf:
            t = 2 * t
        elif trial % 2:
            t = (low + high) / 2
        else:
            t = low + (high - low) * f_low / (f_low - f_high)
    return t
