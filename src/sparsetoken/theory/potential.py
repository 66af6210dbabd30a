"""The scalar potential whose saddle point is the trained readout."""

from __future__ import annotations

import copy
import functools
import math
from typing import NamedTuple

import numpy as np

from sparsetoken.losses import Loss
from sparsetoken.losses.base import Smoothed
from sparsetoken.losses.compiled import smoothed_at, smoothed_rows
from sparsetoken.theory.feature_law import FeatureLaw
from sparsetoken.theory.score_grid import (
    COARSE,
    FINE,
    MIDDLE,
    PLAIN,
    GridShape,
    ScoreGrid,
    ScoreGrids,
)

_NEAR = 1e-6  # relative: no farther than the last Newton step goes
# nodes from which a grid is less work, and from which the finer grid is, in any case
_MANY, _VERY_MANY = 1024, 2**14


class NodeSums(NamedTuple):
    """Means over the law, for each scramble: envelope, gradient, Hessian."""

    value: np.ndarray
    gradient: np.ndarray
    hessian: np.ndarray

    def moved(self, step: np.ndarray) -> NodeSums:
        """Return the means a small step away, to second order in value, first in gradient."""
        change = self.hessian @ step
        value = self.value + self.gradient @ step + 0.5 * change @ step
        return NodeSums(value, self.gradient + change, self.hessian)


class _Evaluation(NamedTuple):
    x: np.ndarray
    mu: float
    sums: NodeSums


class Potential:
    """Phi(w_1, w_2, b, nu; r) of the learned error, its gradient and Hessian.

    Equation: stage-four-potential (n1, d -> infinity at fixed alpha = n1/d).

    ``E[M_{chi C^2 + mu}(omega)] - nu r/(2 sqrt(alpha)) + (lambda/2)(w_1^2 + w_2^2 + nu^2)``
    with omega = w_1 X_1 + w_2 X_2 + b + T g, T^2 = w_1^2 shared + C^2 (w_2^2 + nu^2) and
    chi = nu/(r sqrt(alpha)). It is convex in (w_1, w_2, b, nu) and concave in r.

    mu >= 0 replaces the loss by its own Moreau envelope, since the envelope of an
    envelope adds its parameters; a loss with kinks is approached as mu -> 0.

    Equation: population-risk. At alpha = inf, nu and chi vanish and Phi is the
    population risk of (w_1, w_2, b) with the ridge; it has three unknowns.

    Parameters
    ----------
    law : FeatureLaw
    loss : Loss
    alpha : float
        n1 / d, at most inf; it is divided by the weights per dimension here.

    Attributes
    ----------
    size : int
        Number of unknowns, 5 or 3.
    """

    def __init__(self, law: FeatureLaw, loss: Loss, alpha: float) -> None:
        self.law, self.loss = law, loss
        self.sqrt_alpha = math.sqrt(alpha / law.weights_per_dimension)
        self.size = 5 if math.isfinite(alpha) else 3
        self._points = _Points(law)
        self._grids = ScoreGrids(law, worthwhile(law, loss))
        self._last: _Evaluation | None = None

    def at(self, alpha: float) -> Potential:
        """Return the potential of the same law and loss at another alpha; they share grids."""
        other = copy.copy(self)
        other.sqrt_alpha = math.sqrt(alpha / self.law.weights_per_dimension)
        other.size = 5 if math.isfinite(alpha) else 3
        other._last = None
        return other

    def chi(self, x: np.ndarray) -> float:
        """Return the susceptibility nu / (r sqrt(alpha)) at x; 0 at infinite alpha."""
        return float(x[3] / (x[4] * self.sqrt_alpha))

    def node_sums(self, x: np.ndarray, mu: float) -> NodeSums:
        """Return the means of envelope, gradient and Hessian at x, by scramble.

        The last answer is kept, so that a solution is evaluated once for all that follows.
        One that is a last Newton step away is reached from it by Taylor's formula.
        """
        if self._last is not None and self._last.mu == mu:
            step = x - self._last.x
            if not step.any():
                return self._last.sums
            if np.all(np.abs(step) <= _NEAR * np.abs(x)):
                return self._last.sums.moved(step)
        self._last = _Evaluation(x.copy(), mu, self._node_sums(x, mu))
        return self._last.sums

    def _node_sums(self, x: np.ndarray, mu: float) -> NodeSums:
        for grid in self._grids:
            sums = self._grid_sums(grid, x, mu)
            if sums is not None:
                return sums
        return self._direct_sums(x, mu)

    def _grid_sums(self, grid: ScoreGrid, x: np.ndarray, mu: float) -> NodeSums | None:
        """Return the means from a grid of scores, None where it does not resolve them."""
        views = grid.views(x[:3])
        if views is None:
            return None
        y, m, C = (np.concatenate(parts) for parts in zip(*(v.rows for v in views), strict=True))
        T, v = self._widths(C, x)
        s = smoothed_rows(self.loss, y, m, T, v + mu)
        if not self._grids.resolves(grid, s.reshape(len(s), len(views), -1, s.shape[2])):
            return None
        C = np.broadcast_to(C[:, None], m.shape)
        moments = np.concatenate([view.moments for view in views], axis=-1)
        return self._sums(moments, C.reshape(1, -1), Smoothed(*s.reshape(len(s), 1, -1)), x)

    def _direct_sums(self, x: np.ndarray, mu: float) -> NodeSums:
        """Return the means with the loss averaged at each node by itself."""
        law = self.law
        T, v = self._widths(law.C, x)
        m = x[0] * law.along + x[1] * law.across + x[2]
        return self._sums(
            self._points.moments, law.C, smoothed_at(self.loss, law.y, m, T, v + mu), x
        )

    def _widths(self, C: np.ndarray, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return T and v = chi C^2 at lengths C."""
        w1, w2, _, nu, _ = x
        T = np.sqrt(np.maximum(self.law.shared * w1**2 + C**2 * (w2**2 + nu**2), 1e-300))
        return T, C**2 * self.chi(x)

    def _sums(self, moments: np.ndarray, C: np.ndarray, s: Smoothed, x: np.ndarray) -> NodeSums:
        """Add up over points, scramble by scramble.

        A unit step of x turns omega = a.x + T g by a + g (q_0 E_0 + q_1 E_1), and v by
        C^2 U, with q_0 = shared/T and q_1 = C^2/T; a = (X_1, X_2, 1, 0, 0) is in the moments.
        Functions of the points have the shape (scrambles or 1, points).
        """
        w1, w2, _, nu, r = x
        E0, E1 = np.array([w1, 0, 0, 0, 0]), np.array([0, w2, 0, nu, 0])
        U = np.array([0, 0, 0, 1 / (r * self.sqrt_alpha), -self.chi(x) / r])
        C2, shared = C**2, self.law.shared
        T, _ = self._widths(C, x)
        q0, q1, spread = shared / T, C2 / T, s.Dgg - s.D
        ones = [s.M, s.D, C2 * s.D, C2 * s.pp, q0**2 * spread, q0 * q1 * spread, q1**2 * spread]
        ones += [q0 * C2 * s.pDg, q1 * C2 * s.pDg, C2**2 * s.ppD]
        M, D, CD, Cpp, h00, h01, h11, h0u, h1u, huu = _means(moments[:, 2, 2, None], ones)[..., 0]
        p, *turns = _means(moments[:, 2], [s.p, q0 * s.Dg, q1 * s.Dg, C2 * s.pD])

        gradient = shared * np.outer(D, E0) + np.outer(CD, E1) - 0.5 * np.outer(Cpp, U)
        gradient[:, :3] += p
        pairs = [(h00, E0, E0), (h01, E0, E1), (h01, E1, E0), (h11, E1, E1), (huu, U, U)]
        pairs += [(-h0u, E0, U), (-h0u, U, E0), (-h1u, E1, U), (-h1u, U, E1)]
        hessian = sum(h[:, None, None] * np.outer(one, other) for h, one, other in pairs)
        cross = sum(
            turn[:, :, None] * along for turn, along in zip(turns, (E0, E1, -U), strict=True)
        )
        hessian[:, :3] += cross
        hessian[:, :, :3] += np.swapaxes(cross, 1, 2)
        hessian[:, :3, :3] += _means(moments.reshape(len(M), 9, -1), [s.D])[0].reshape(-1, 3, 3)
        hessian[:, 0, 0] += shared * D
        hessian[:, [1, 3], [1, 3]] += CD[:, None]
        # Second derivatives of v, weighted by dM/dv = -p^2/2.
        curve = 0.5 * Cpp / (r**2 * self.sqrt_alpha)
        hessian[:, 3, 4] += curve
        hessian[:, 4, 3] += curve
        hessian[:, 4, 4] -= 2 * nu / r * curve
        return NodeSums(M, gradient, hessian)

    def system(self, x: np.ndarray, ridge: float, mu: float) -> tuple[np.ndarray, np.ndarray]:
        """Return gradient and Hessian of Phi at x = (w_1, w_2, b, nu, r) or (w_1, w_2, b)."""
        x = np.append(x, [0.0, 1.0][: 5 - len(x)])
        sums = self.node_sums(x, mu)
        gradient, hessian = sums.gradient.mean(axis=0), sums.hessian.mean(axis=0)
        penalised = [0, 1, 3]
        gradient[penalised] += ridge * x[penalised]
        hessian[penalised, penalised] += ridge
        half = 0.5 / self.sqrt_alpha
        gradient[3] -= half * x[4]
        gradient[4] -= half * x[3]
        hessian[3, 4] -= half
        hessian[4, 3] -= half
        hessian[2, 2] += 1e-9  # nothing else bends b where a loss is straight
        hessian[0, 0] += 1e-14 * np.trace(hessian)  # nor w_1 without a query at ridge 0
        return gradient[: self.size], hessian[: self.size, : self.size]


class _Points:
    """What sums over the nodes of a law need at every readout."""

    def __init__(self, law: FeatureLaw) -> None:
        self._law = law

    @functools.cached_property
    def moments(self) -> np.ndarray:
        """Weight of each node times the products of (X_1, X_2, 1)."""
        law = self._law
        a = np.stack([law.along, law.across, np.ones_like(law.C)], axis=1)
        return law.weight[:, None, None] * a[:, :, None] * a[:, None]


def worthwhile(law: FeatureLaw, loss: Loss) -> list[GridShape]:
    """Return the grids that may resolve the means at less work than a sum over nodes."""
    shapes = []
    if loss.integrates and law.C.size > _MANY and law.C.all():  # log C
        shapes += [COARSE, PLAIN, MIDDLE]
    if loss.integrates and law.C.size > (_MANY if loss.strip > 0 else _VERY_MANY):
        shapes.append(FINE)
    return shapes


def _means(weights: np.ndarray, functions: list[np.ndarray]) -> np.ndarray:
    """Return sums over points of weights (scrambles, k, points) times each function."""
    return np.moveaxis(weights @ np.stack(functions, axis=-1), -1, 0)
