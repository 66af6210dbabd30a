"""The scalar potential whose saddle point is the trained readout."""

from __future__ import annotations

import functools
import math
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from sparsetoken.losses import Loss
from sparsetoken.theory.feature_law import FeatureLaw

__all__ = ["NodeSums", "Potential"]

_BLOCK, _SMALL_BLOCK = 1024, 128  # nodes in one call: two compiled shapes for all laws


class NodeSums(NamedTuple):
    """Means over the law, for each scramble: envelope, gradient, Hessian."""

    value: Any
    gradient: Any
    hessian: Any


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
        self._blocks = _blocks(law)
        self._last: tuple[tuple[float, ...], NodeSums] | None = None

    def chi(self, x: np.ndarray) -> float:
        """Return the susceptibility nu / (r sqrt(alpha)) at x; 0 at infinite alpha."""
        return float(x[3] / (x[4] * self.sqrt_alpha))

    def node_sums(self, x: np.ndarray, mu: float) -> NodeSums:
        """Return the means of envelope, gradient and Hessian at x, by scramble.

        The last answer is kept: a solution is evaluated once for all that follows.
        """
        place = (*x, mu)
        if self._last is None or self._last[0] != place:
            self._last = place, self._node_sums(x, mu)
        return self._last[1]

    def _node_sums(self, x: np.ndarray, mu: float) -> NodeSums:
        parts = [
            jax.device_get(_sums(self.loss, block, self.law.shared, x, self.sqrt_alpha, mu))
            for block in self._blocks
        ]
        scrambles = len(self.law.C)
        return NodeSums(
            *(
                np.stack(c).reshape(scrambles, -1, *np.shape(c[0])).sum(axis=1)
                for c in zip(*parts, strict=True)
            )
        )

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


def _blocks(law: FeatureLaw) -> list[tuple[Any, ...]]:
    columns = (law.along, law.across, law.C, law.y, law.weight)
    nodes = law.C.shape[1]
    size = _SMALL_BLOCK if nodes <= _SMALL_BLOCK else _BLOCK
    pad = -nodes % size
    padded = []
    for column, fill in zip(columns, (0.0, 0.0, 1.0, 1.0, 0.0), strict=True):
        wide = np.pad(column, ((0, 0), (0, pad)), constant_values=fill)
        padded.append(jnp.asarray(wide.reshape(-1, size)))
    return list(zip(*padded, strict=True))


@functools.partial(jax.jit, static_argnums=0)
def _sums(loss: Loss, block: Any, shared: Any, x: Any, sqrt_alpha: Any, mu: Any) -> NodeSums:
    X1, X2, C, y, weight = block
    w1, w2, b, nu, r = x
    v = C**2 * nu / (r * sqrt_alpha)
    zero, one = jnp.zeros_like(C), jnp.ones_like(C)
    # omega = a.x + Gaussian of covariance S2 (diagonal in x); e.g~ is its part along omega.
    a = jnp.stack([X1, X2, one, zero, zero])
    S2 = jnp.stack([shared * one, C**2, zero, C**2, zero])
    T = jnp.sqrt(jnp.maximum(shared * w1**2 + C**2 * (w2**2 + nu**2), 1e-300))
    e = S2 * x[:, None] / T
    u = jnp.stack([zero, zero, zero, C**2 / (r * sqrt_alpha), -v / r])  # gradient of v
    m = w1 * X1 + w2 * X2 + b
    s = loss.smoothed(y, m, T, v + mu)
    gradient = (weight * s.p) * a + (weight * T * s.D) * e - (0.5 * weight * s.pp) * u
    frame = jnp.stack([a, e, u])
    core = jnp.array([[s.D, s.Dg, -s.pD], [s.Dg, s.Dgg - s.D, -s.pDg], [-s.pD, -s.pDg, s.ppD]])
    hessian = jnp.einsum("ipn,ijn,jqn->pq", frame, core * weight, frame)
    hessian += jnp.diag(jnp.sum(weight * s.D * S2, axis=1))
    # Second derivatives of v, weighted by dM/dv = -p^2/2.
    curve = 0.5 * jnp.sum(weight * s.pp * C**2) / (r**2 * sqrt_alpha)
    hessian = hessian.at[3, 4].add(curve).at[4, 3].add(curve).at[4, 4].add(-2 * nu / r * curve)
    return NodeSums(jnp.sum(weight * s.M), jnp.sum(gradient, axis=1), hessian)
