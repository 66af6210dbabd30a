"""Many readouts of one feature together: slope, bias and leave-one-out scores of each."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from sparsetoken.numerics.leave_one_out import ALONE, SmoothLoss
from sparsetoken.numerics.newton_readout import ROUNDING

MOST_STEPS, MOST_TRIALS = 200, 60  # of Newton's method, and of one line search


class Slopes(NamedTuple):
    """K fits of scores w x + b to the same labels, and their scores as of `leave_one_out`."""

    w: Float[np.ndarray, " K"]
    b: Float[np.ndarray, " K"]
    scores: Float[np.ndarray, "K n"]
    left_out: Float[np.ndarray, "K n"]


def fit_slopes(
    x: Float[np.ndarray, "K n"],
    y: Float[np.ndarray, " n"],
    loss: SmoothLoss,
    ridges: Float[np.ndarray, " K"],
    tolerance: float,
) -> Slopes:
    """Minimise ``mean_i l(y_i, w x_i + b) + (ridge/2) w^2`` for each row x and its ridge > 0.

    It is `fit_readout` and `leave_one_out` for one feature, without their cost for each call.
    Labels are -1 and +1, of both classes. The tolerance is that of the residual of `fit_readout`.
    """
    centred = x - x.mean(axis=1, keepdims=True)
    point = np.zeros((2, len(x)))  # w and b of the centred features
    scores = np.zeros_like(centred)
    busy = np.arange(len(x))
    for _ in range(MOST_STEPS):
        X, z, ridge, w = centred[busy], scores[busy], ridges[busy], point[0, busy]
        p = np.asarray(loss.slope(y, z), dtype=float)
        on_w, on_b = (p * X).mean(axis=1) + ridge * w, p.mean(axis=1)
        pull = np.abs(p).mean(axis=1)
        off = np.abs(on_b) / np.where(pull > 0, pull, 1.0)
        left = np.maximum(np.abs(on_w) / (ridge * (1 + np.abs(w))), off) > tolerance
        if not left.any():
            break
        busy, X, z, ridge, w = busy[left], X[left], z[left], ridge[left], w[left]
        dw, db = _direction(X, np.asarray(loss.curvature(y, z)), ridge, on_w[left], on_b[left])
        t = _line_search(X, y, z, loss, ridge, w, dw, db)
        point[:, busy] += t * np.stack([dw, db])
        scores[busy] = point[0, busy, None] * X + point[1, busy, None]
    w, b = point
    left_out = _left_out(centred, y, loss, ridges, scores)
    return Slopes(w, b - w * x.mean(axis=1), scores, left_out)


def _direction(
    X: np.ndarray, bend: np.ndarray, ridge: np.ndarray, on_w: np.ndarray, on_b: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Solve the Newton systems by elimination of w; a floor keeps steps of the bias finite."""
    D = bend / X.shape[1]
    own = (D * np.square(X)).sum(axis=1)
    own = own + ridge + ROUNDING * own
    cross = (D * X).sum(axis=1)
    schur = np.maximum(D.sum(axis=1) - cross**2 / own, 0.01 * np.abs(on_b))
    db = np.where(schur > 0, -(on_b - cross * on_w / own) / np.where(schur > 0, schur, 1.0), 0.0)
    return -(on_w + db * cross) / own, db


def _line_search(
    X: np.ndarray,
    y: np.ndarray,
    z: np.ndarray,
    loss: SmoothLoss,
    ridge: np.ndarray,
    w: np.ndarray,
    dw: np.ndarray,
    db: np.ndarray,
) -> np.ndarray:
    """Return steps t > 0 where the derivative along each has lost 90% of its size.

    It rises with t: double until it is positive, then bisect by turns with the secant.
    """
    step = dw[:, None] * X + db[:, None]

    def rise(t: np.ndarray) -> np.ndarray:
        p = np.asarray(loss.slope(y, z + t[:, None] * step))
        return np.asarray((p * step).mean(axis=1) + ridge * (w + t * dw) * dw)

    t, low, high = np.ones(len(w)), np.zeros(len(w)), np.full(len(w), np.inf)
    f_low, f_high = rise(low), np.full(len(w), np.inf)
    enough = 0.1 * np.abs(f_low)
    done = f_low >= 0  # by rounding, at the minimum
    for trial in range(MOST_TRIALS):
        f = rise(t)
        done |= np.abs(f) <= enough
        if done.all():
            break
        below = f < 0
        low, f_low = np.where(below, t, low), np.where(below, f, f_low)
        high, f_high = np.where(below, high, t), np.where(below, f_high, f)
        open_end = np.isinf(high)
        with np.errstate(invalid="ignore"):
            secant = low + (high - low) * (f_low / (f_low - f_high))
        inner = (low + high) / 2 if trial % 2 else secant
        t = np.where(done, t, np.where(open_end, 2 * t, inner))
    return t


def _left_out(
    X: np.ndarray, y: np.ndarray, loss: SmoothLoss, ridges: np.ndarray, scores: np.ndarray
) -> np.ndarray:
    """Return the leave-one-out scores as `leave_one_out` does; features are centred."""
    n, ridge = X.shape[1], ridges[:, None]
    bend = np.asarray(loss.curvature(y, scores), dtype=float)
    A = (bend * np.square(X)).sum(axis=1, keepdims=True) / n + ridge
    u = (bend * X).sum(axis=1, keepdims=True) / n
    rest = 1 - u * X / A
    schur = (bend * np.square(rest)).sum(axis=1, keepdims=True) / n + ridge * np.square(u / A)
    held = (bend > 0).any(axis=1, keepdims=True)  # else nothing holds the bias
    gamma = (np.square(X) / A + np.square(rest) / np.where(held, schur, 1.0)) / n
    gamma, left = np.where(held, gamma, np.inf), np.where(held, 1 - gamma * bend, 1.0)
    slope = np.asarray(loss.slope(y, scores), dtype=float)
    gain = np.divide(gamma, left, out=np.full_like(left, np.inf), where=left > ALONE)
    return scores + np.multiply(gain, slope, out=np.zeros_like(left), where=slope != 0)
