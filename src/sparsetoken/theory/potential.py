"""The scalar potential whose saddle point is the trained readout."""

from __future__ import annotations

import functools
import math
from typing import NamedTuple

import numpy as np

from sparsetoken.losses import Loss
from sparsetoken.losses.base import Smoothed
from sparsetoken.losses.compiled import smoothed_at
from sparsetoken.theory.feature_law import FeatureLaw
from sparsetoken.theory.score_grid import ScoreGrid, View

__all__ = ["NodeSums", "Potential"]

_NEAR = 1e-6  # relative: no farther than the last Newton step goes
_MANY = 1024  # nodes from which a grid is less work


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
        worth_it = loss.integrates and law.C.size > _MANY and law.C.all()  # log C
        self._grid = ScoreGrid(law) if worth_it else None
        self._last: _Evaluation | None = None

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
        if self._grid is not None:
            view = self._grid.view(x[:3])
            s = self._smoothed(view, x, mu)
            if self._grid.resolves(np.concatenate(s)):
                return self._sums(view, s, x)
        view = self._all_nodes._replace(m=self._scores(x))
        return self._sums(view, self._smoothed(view, x, mu), x)

    @functools.cached_property
    def _all_nodes(self) -> View:
        """Each node as a point, but for its mean score."""
        law = self.law
        a = np.stack([law.along, law.across, np.ones_like(law.C)], axis=1)
        moments = law.weight[:, None, None] * a[:, :, None] * a[:, None]
        return View(law.y, np.empty(0), law.C, moments)

    def _scores(self, x: np.ndarray) -> np.ndarray:
        return x[0] * self.law.along + x[1] * self.law.across + x[2]

    def _widths(self, C: np.ndarray, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return T and v = chi C^2 at lengths C."""
        w1, w2, _, nu, _ = x
        T = np.sqrt(np.maximum(self.law.shared * w1**2 + C**2 * (w2**2 + nu**2), 1e-300))
        return T, C**2 * self.chi(x)

    def _smoothed(self, view: View, x: np.ndarray, mu: float) -> Smoothed:
        T, v = self._widths(view.C, x)
        return smoothed_at(self.loss, view.y, view.m, T, v + mu)

    def _sums(self, view: View, s: Smoothed, x: np.ndarray) -> NodeSums:
        """Add up over the points of a view, scramble by scramble."""
        nu, r = x[3:]
        (T, v), C2, zero = self._widths(view.C, x), view.C**2, np.zeros_like(view.C)
        # omega = a.x + Gaussian of covariance S2 (diagonal in x); e.g~ is its part along omega.
        S2 = np.stack([self.law.shared + zero, C2, zero, C2, zero])
        e = S2 * x[:, None, None] / T
        u = np.stack([zero, zero, zero, C2 / (r * self.sqrt_alpha), -v / r])  # gradient of v
        # a = (X_1, X_2, 1, 0, 0) is in the moments.
        aa, a, one = view.moments, view.moments[:, 2], view.moments[:, 2, 2]
        gradient = np.einsum("sn,psn->sp", one, T * s.D * e - 0.5 * s.pp * u)
        gradient[:, :3] += np.einsum("spn,sn->sp", a, s.p)
        along_e, along_u = (s.Dgg - s.D) * e - s.pDg * u, s.ppD * u - s.pDg * e
        hessian = sum(
            (one[:, None] * np.moveaxis(f, 0, 1)) @ np.moveaxis(along, 0, 2)
            for f, along in ((e, along_e), (u, along_u))
        )
        hessian[:, range(5), range(5)] += np.einsum("sn,psn->sp", one, s.D * S2)
        cross = np.einsum("spn,qsn->spq", a, s.Dg * e - s.pD * u)
        hessian[:, :3, :] += cross
        hessian[:, :, :3] += np.swapaxes(cross, 1, 2)
        hessian[:, :3, :3] += np.einsum("spqn,sn->spq", aa, s.D)
        # Second derivatives of v, weighted by dM/dv = -p^2/2.
        curve = 0.5 * np.einsum("sn,sn->s", one, s.pp * C2) / (r**2 * self.sqrt_alpha)
        hessian[:, 3, 4] += curve
        hessian[:, 4, 3] += curve
        hessian[:, 4, 4] -= 2 * nu / r * curve
        return NodeSums(np.einsum("sn,sn->s", one, s.M), gradient, hessian)

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
