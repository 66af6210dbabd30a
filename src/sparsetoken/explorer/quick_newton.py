"""Newton's method for the readouts of a whole learning curve at once.

The equations are those of `theory.potential`, of which only the Gaussian means of the loss are
shared; a test compares the two. There, calls of NumPy for few nodes cost more than the numbers.
"""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import jax
import numpy as np
from jaxtyping import Float
from scipy.special import ndtr

from sparsetoken.losses import Loss
from sparsetoken.losses.base import Smoothed, smoothed_means
from sparsetoken.losses.compiled import smoothed_at
from sparsetoken.theory.feature_law import FeatureLaw

_MOST_STEPS = 12
_ENOUGH = 1e-2  # relative length of the last step, which is taken: its square is the error
_FEW = 128  # points that the accurate means are quick for
_G = np.linspace(-4.5, 4.5, 9)  # nodes of a trapezoidal rule
_CHANCE = np.exp(-0.5 * _G**2) / np.sum(np.exp(-0.5 * _G**2))


class QuickReadouts(NamedTuple):
    """Saddle points, their test errors, and which of them are solutions."""

    x: Float[np.ndarray, "loads 5"]
    test_error: Float[np.ndarray, " loads"]
    converged: Float[np.ndarray, " loads"]


class QuickCurve:
    """The saddle points of one law and loss at several loads, those of `theory.potential`.

    Parameters
    ----------
    law : FeatureLaw
    loss : Loss
    alpha : array of shape (loads,)
        n1 / d.
    ridge : float
        lambda > 0.
    smoothing : array of shape (loads,)
        mu of the potential.
    """

    def __init__(
        self,
        law: FeatureLaw,
        loss: Loss,
        alpha: Float[np.ndarray, " loads"],
        ridge: float,
        smoothing: Float[np.ndarray, " loads"],
    ) -> None:
        self._loss, self._ridge, self._shared = loss, ridge, law.shared
        self._root = np.sqrt(alpha / law.weights_per_dimension)
        self._mu = smoothing[:, None]
        self._along, self._across, C = law.along.ravel(), law.across.ravel(), law.C.ravel()
        self._C2, self._weight = C**2, law.weight.ravel() / len(law.C)
        self._y = np.broadcast_to(law.y.ravel(), (len(alpha), C.size))

    def near(self, starts: Float[np.ndarray, "loads 5"]) -> QuickReadouts:
        """Return the saddle points (w_1, w_2, b, nu, r) near the starts, with nu and r > 0."""
        x, length = starts, np.full(len(starts), np.inf)
        for _ in range(_MOST_STEPS):
            gradient, hessian = self._system(x)
            try:
                step = -np.linalg.solve(hessian, gradient[..., None])[..., 0]
            except np.linalg.LinAlgError:
                break
            length = _relative(x, step)
            x = x + _held(x, step)
            if not np.any(length > _ENOUGH):
                break
        return QuickReadouts(x, self._errors(x), length <= _ENOUGH)

    def _scores(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return mean, width and bend of the score at each load and node."""
        w1, w2, b, nu, r = (column[:, None] for column in x.T)
        T2 = self._shared * w1**2 + self._C2 * (w2**2 + nu**2)
        chi = nu / (r * self._root[:, None])
        m = w1 * self._along + w2 * self._across + b
        return m, np.sqrt(np.maximum(T2, 1e-300)), self._C2 * chi + self._mu

    def _errors(self, x: np.ndarray) -> np.ndarray:
        m, T, _ = self._scores(x)
        errors: np.ndarray = ndtr(-self._y * m / T) @ self._weight
        return errors

    def _system(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return gradients and Hessians of the potential at all loads."""
        w1, w2, _, nu, _ = (column[:, None] for column in x.T)
        root, C2 = self._root, self._C2
        m, T, v = self._scores(x)
        s = _means(self._loss, self._y, m, T, v)
        # Slopes and bends of the mean envelope in m, T^2/2 and v ...
        slopes = np.stack([s.p, s.D, -0.5 * s.pp], axis=1) * self._weight
        mh, mv, hh, hv = s.Dg / T, -s.pD, (s.Dgg - s.D) / T**2, -s.pDg / T
        bends = np.stack([s.D, mh, mv, mh, hh, hv, mv, hv, s.ppD], axis=1) * self._weight
        # ... and the slopes of these three in x.
        turns = np.zeros((len(x), 3, 5, C2.size))
        turns[:, 0, :3] = self._along, self._across, np.ones_like(C2)
        turns[:, 1, 0] = self._shared * w1
        turns[:, 1, 1], turns[:, 1, 3] = C2 * w2, C2 * nu
        per_nu = 1 / (x[:, 4] * root)  # d chi / d nu
        per_r = -x[:, 3] * per_nu / x[:, 4]
        turns[:, 2, 3], turns[:, 2, 4] = per_nu[:, None] * C2, per_r[:, None] * C2

        gradient = np.einsum("akn,akin->ai", slopes, turns)
        bends = bends.reshape(len(x), 3, 3, -1)
        pushed = np.einsum("akln,alin->akin", bends, turns)
        flat = turns.transpose(0, 2, 1, 3).reshape(len(x), 5, -1)
        hessian = flat @ pushed.transpose(0, 1, 3, 2).reshape(len(x), -1, 5)
        narrow, bent = slopes[:, 1] @ C2, slopes[:, 2] @ C2
        hessian[:, 0, 0] += self._shared * slopes[:, 1].sum(axis=1)
        hessian[:, [1, 3], [1, 3]] += narrow[:, None]
        mixed = -bent * per_nu / x[:, 4] - 0.5 / root
        hessian[:, 3, 4] += mixed
        hessian[:, 4, 3] += mixed
        hessian[:, 4, 4] -= 2 * bent * per_r / x[:, 4]
        hessian[:, 2, 2] += 1e-9  # nothing else bends b where a loss is straight
        penalised = [0, 1, 3]
        gradient[:, penalised] += self._ridge * x[:, penalised]
        hessian[:, penalised, penalised] += self._ridge
        gradient[:, 3] -= 0.5 * x[:, 4] / root
        gradient[:, 4] -= 0.5 * x[:, 3] / root
        return gradient, hessian


def _relative(x: np.ndarray, step: np.ndarray) -> np.ndarray:
    """Return the relative lengths of steps, as `numerics.newton` measures them."""
    scale = np.repeat(np.maximum(np.linalg.norm(x, axis=1), 1e-12)[:, None], 5, axis=1)
    scale[:, 3:] = x[:, 3:]
    return np.asarray(np.linalg.norm(step / scale, axis=1))


def _held(x: np.ndarray, step: np.ndarray) -> np.ndarray:
    """Shorten steps that take away most of nu or r, or move the bias far."""
    falls = np.max(-step[:, 3:] / x[:, 3:], axis=1) / 0.9
    moves = np.abs(step[:, 2]) / (0.5 * (1 + np.abs(x[:, 2])))
    held: np.ndarray = step / np.maximum(1.0, np.maximum(falls, moves))[:, None]
    return held


def _means(loss: Loss, y: np.ndarray, m: np.ndarray, T: np.ndarray, v: np.ndarray) -> Smoothed:
    """Return `Loss.smoothed`, with a rule of few nodes where there are many integrals."""
    if y.size <= _FEW or not loss.integrates:
        return smoothed_at(loss, y, m, T, v)
    return Smoothed(*jax.device_get(_integrals(loss, y, m, T, v)))


@functools.partial(jax.jit, static_argnums=0)
def _integrals(loss: Loss, y: Any, m: Any, T: Any, v: Any) -> Any:
    y, m, T, v = (a[..., None] for a in (y, m, T, v))
    value, p, D = loss.at_prox(y, m + T * _G, v)
    return smoothed_means(value, p, D, v, _G, _CHANCE)
