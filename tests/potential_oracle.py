"""The potential of stage 4, its gradient and Hessian in (w_1, w_2, b, nu, r), written out.

An oracle: it shares only the Gaussian means of the loss with `theory.readout`.
"""

from __future__ import annotations

import math

import numpy as np

from sparsetoken.losses.gaussian_means import smoothed_at


class Potential:
    """Phi of features of isotropic tokens, at alpha = n1/d over the weights per dimension."""

    def __init__(self, law, loss, alpha):
        self.law, self.loss = law, loss
        self.C, self.sqrt_alpha = law.C[..., 0], math.sqrt(alpha)
        self.size = 5 if math.isfinite(alpha) else 3
        a = np.stack([law.a[..., 0], law.a[..., 1], np.ones_like(law.y)], axis=1)
        self._moments = law.weight[:, None, None] * a[:, :, None] * a[:, None]

    def chi(self, x):
        return float(x[3] / (x[4] * self.sqrt_alpha))

    def node_sums(self, x, mu):
        """Return means of envelope, gradient and Hessian, scramble by scramble."""
        law = self.law
        w1, w2, b, nu, r = x
        C, v = self.C, law.covariance[0, 0]
        T = np.sqrt(np.maximum(v * w1**2 + C**2 * (w2**2 + nu**2), 1e-300))
        m = law.a @ [w1, w2] + b
        s = smoothed_at(self.loss, law.y, m, T, C**2 * self.chi(x) + mu)
        moments = self._moments
        E0, E1 = np.array([w1, 0, 0, 0, 0]), np.array([0, w2, 0, nu, 0])
        U = np.array([0, 0, 0, 1 / (r * self.sqrt_alpha), -self.chi(x) / r])
        C2 = C**2
        q0, q1, spread = v / T, C2 / T, s.Dgg - s.D
        ones = [s.M, s.D, C2 * s.D, C2 * s.pp, q0**2 * spread, q0 * q1 * spread, q1**2 * spread]
        ones += [q0 * C2 * s.pDg, q1 * C2 * s.pDg, C2**2 * s.ppD]
        M, D, CD, Cpp, h00, h01, h11, h0u, h1u, huu = _means(moments[:, 2, 2, None], ones)[..., 0]
        p, *turns = _means(moments[:, 2], [s.p, q0 * s.Dg, q1 * s.Dg, C2 * s.pD])

        gradient = v * np.outer(D, E0) + np.outer(CD, E1) - 0.5 * np.outer(Cpp, U)
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
        hessian[:, 0, 0] += v * D
        hessian[:, [1, 3], [1, 3]] += CD[:, None]
        # Second derivatives of v, weighted by dM/dv = -p^2/2.
        curve = 0.5 * Cpp / (r**2 * self.sqrt_alpha)
        hessian[:, 3, 4] += curve
        hessian[:, 4, 3] += curve
        hessian[:, 4, 4] -= 2 * nu / r * curve
        return M, gradient, hessian

    def system(self, x, ridge, mu):
        """Return gradient and Hessian of Phi at x = (w_1, w_2, b, nu, r) or (w_1, w_2, b)."""
        _, gradients, hessians = self.node_sums(x, mu)
        gradient, hessian = gradients.mean(axis=0), hessians.mean(axis=0)
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


def _means(weights, functions):
    """Return sums over points of weights (scrambles, k, points) times each function."""
    return np.moveaxis(weights @ np.stack(functions, axis=-1), -1, 0)
