"""The equations of a convex readout on features with noise of any covariances."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from sparsetoken.losses import Loss
from sparsetoken.theory.readout.bias import best_bias
from sparsetoken.theory.readout.covariances import Covariances, Pull, Response
from sparsetoken.theory.readout.means import LossMeans, OrderParameters
from sparsetoken.theory.readout.nodes import FeatureNodes

_ROUNDING = 1e-13  # relative, of a sum or a squared norm
_FLAT = 1e-9  # the least curvature in b where a loss is straight


class Load(NamedTuple):
    """What may vary between points of one law.

    Attributes
    ----------
    samples : float
        n in (0, inf], in units in which the trace of the identity is `Covariances.dimension`.
    ridge : float
        lambda >= 0; at 0 the loss must have a finite minimum.
    """

    samples: float
    ridge: float


class SaddleEquations:
    """The minimum of ``(1/n) sum l(y_i, <w, f_i> + b) + (ridge/2) |w|^2`` as n, d -> infinity.

    Equation: general-convex-readout. The features are ``f = M a + sum_k C_k G_k^(1/2) h_k``.
    Symbols: p = M^T w, nu_k^2 = w^T G_k w; eta, kappa_k, r_k as in docs/notation.md. With eta,
    kappa and r put in, the unknowns x are (p, b, nu, chi).

    Equation: stage-four-potential. Isotropic tokens are one covariance of one eigenvalue.

    Equation: population-risk. At infinite data chi is 0, and so is nu where no noise is in the way,
    as where the query is the signal. An unknown that is 0 stays so.

    The first J directions of the covariances are those of the nodes. The covariances of the
    features are ``G_k - M removed_k M^T``, `removed` being of shape (K, J, J): a few directions
    change quadratic forms, but no trace in the limit.
    """

    def __init__(
        self,
        nodes: FeatureNodes,
        loss: Loss,
        covariances: Covariances,
        removed: np.ndarray | None = None,
    ) -> None:
        self.nodes, self.loss, self.means = nodes, loss, LossMeans(nodes, loss)
        self.J, self.K = nodes.a.shape[2], nodes.C.shape[2]
        self.covariances = covariances
        self.removed = np.zeros((self.K, self.J, self.J)) if removed is None else removed
        self._but_bias = np.delete(np.arange(self.J + 1 + 2 * self.K), self.J)

    @property
    def bias_at(self) -> int:
        """The place of b among the unknowns."""
        return self.J

    def free(self, x: np.ndarray) -> np.ndarray:
        """Return which unknowns to solve for: p, b and all others but zeros."""
        free: np.ndarray = x != 0
        free[: self.J + 1] = True
        return free

    def positive(self, samples: float) -> tuple[int, ...]:
        """Return the places of unknowns > 0."""
        end = self.J + 1 + 2 * self.K
        return tuple(range(self.J + 1, end)) if math.isfinite(samples) else ()

    def state(self, x: np.ndarray) -> OrderParameters:
        """Return what the scores depend on."""
        p, b, nu, chi = np.split(x, np.cumsum([self.J, 1, self.K]))
        return OrderParameters(p, float(b[0]), nu**2, chi)

    def tangent(self, x: np.ndarray) -> np.ndarray:
        """Return the derivative of each number of the state in its unknown."""
        tangent = np.ones(len(x))
        norms = slice(self.J + 1, self.J + 1 + self.K)
        tangent[norms] = 2 * x[norms]
        return tangent

    def pull(self, state: OrderParameters, mu: float) -> Pull:
        """Return what the samples do to the readout at a state."""
        return self._pull(state, self.means.at(state, mu).gradient.mean(axis=0))

    def _pull(self, state: OrderParameters, gradient: np.ndarray) -> Pull:
        J, K = self.J, self.K
        kappa = np.maximum(2 * gradient[J + 1 : J + 1 + K], 0.0)
        rho = np.maximum(-2 * gradient[J + 1 + K :], 0.0)
        return Pull(kappa @ (self.removed @ state.p) - gradient[:J], kappa, rho)

    def _pull_moved(self, state: OrderParameters, gradients: np.ndarray) -> np.ndarray:
        """Return changes (J + 2 K, m) of a pull with changes (N, m) of the gradient of the loss."""
        p, _, kappa, chi = np.split(gradients, np.cumsum([self.J, 1, self.K]))
        turned = self.removed @ state.p
        return np.concatenate([2 * turned.T @ kappa - p, 2 * kappa, -2 * chi])

    def response(self, pull: Pull, load: Load) -> Response:
        """Return the readout under a pull."""
        return self.covariances.response(pull, load.ridge, load.samples, self.removed)

    def system(self, x: np.ndarray, load: Load, mu: float) -> tuple[np.ndarray, np.ndarray]:
        """Return the residual of the equations and its Jacobian, in the free unknowns."""
        state, free = self.state(x), self.free(x)
        _, gradients, hessians = self.means.at(state, mu)
        residual, jacobian = self._coupled(
            state, gradients.mean(axis=0), hessians.mean(axis=0), load
        )
        return residual[free], (jacobian * self.tangent(x))[free][:, free]

    def _coupled(
        self, state: OrderParameters, gradient: np.ndarray, hessian: np.ndarray, load: Load
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the residual and its derivatives in the numbers of the state."""
        J, pull = self.J, self._pull(state, gradient)
        value, by_pull = self.response(pull, load)
        change = self._pull_moved(state, hessian)
        change[:J, :J] += (pull.kappa @ self.removed.reshape(-1, J * J)).reshape(J, J)
        residual, jacobian, rest = np.empty(len(hessian)), np.zeros_like(hessian), self._but_bias
        residual[rest], by_state, by_value = self._compared(state.vector[rest], value)
        jacobian[rest, rest] = by_state
        jacobian[rest] -= by_value[:, None] * (by_pull @ change)
        residual[J], jacobian[J] = gradient[J], hessian[J]
        jacobian[J, J] = max(float(jacobian[J, J]), _FLAT)
        return residual, jacobian

    def _compared(
        self, state: np.ndarray, value: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the residual of all but b, its slopes in the state, and minus those in the value.

        Norms are compared as such and chi relatively: both are then nearly straight in the
        curvatures and the forces, and Newton's method takes fewer steps.
        """
        norms, ratios = slice(self.J, self.J + self.K), slice(self.J + self.K, None)
        residual, by_state, by_value = state - value, np.ones_like(value), np.ones_like(value)
        there = (state > 0) & (value > 0)
        x, v = np.where(there, state, 1.0), np.where(there, value, 1.0)
        # an unknown that is 0 is not solved for
        a, b = np.sqrt(x[norms]), np.sqrt(v[norms])
        plain = ~there[norms]
        residual[norms] = np.where(plain, residual[norms], a - b)
        by_state[norms] = np.where(plain, 1.0, 0.5 / a)
        by_value[norms] = np.where(plain, 1.0, 0.5 / b)
        residual[ratios] /= v[ratios]
        by_state[ratios] = 1 / v[ratios]
        by_value[ratios] = x[ratios] / v[ratios] ** 2
        return residual, by_state, by_value

    def scramble_steps(self, x: np.ndarray, load: Load, mu: float) -> np.ndarray:
        """Return the Newton step from a solution to that of each scramble, of shape (S, N)."""
        state = self.state(x)
        gradients = self.means.at(state, mu).gradient
        mean = gradients.mean(axis=0)
        _, jacobian = self.system(x, load, mu)
        value, by_pull = self.response(self._pull(state, mean), load)
        _, _, by_value = self._compared(state.vector[self._but_bias], value)
        residuals = (gradients - mean).T
        residuals[self._but_bias] = (
            -by_value[:, None] * by_pull @ self._pull_moved(state, residuals)
        )
        steps, free = np.zeros_like(residuals), self.free(x)
        steps[free] = -np.linalg.solve(jacobian, residuals[free])
        return steps.T

    def explicit(self, load: Load, mu: float, relative: float) -> tuple[np.ndarray, float]:
        """Return a solution to first order at a large ridge, and that ridge.

        It is at least that of the load, and `relative` times the mean square of the features.
        """
        nodes, cov, samples = self.nodes, self.covariances, load.samples
        w = nodes.weight / len(nodes.y)
        bias = best_bias(self.loss, float(np.sum(w * (nodes.y > 0))), mu)
        slope = self.loss.dual(nodes.y, bias + 0 * nodes.y, mu + 0 * nodes.y)
        squares = np.einsum("sn,snk->k", w, nodes.C**2)
        second = np.einsum("sn,sni,snj->ij", w, nodes.a, nodes.a, optimize=True) + nodes.covariance
        size = float(np.sum(second * cov.gram(self.J)))
        size += float(squares @ (cov.largest + cov.traces / samples))
        large = max(load.ridge, relative * size)
        eta = -np.einsum("sn,sni->i", w * slope, nodes.a)
        terms = np.einsum("sn,sni->i", w * np.abs(slope), np.abs(nodes.a))
        eta[np.abs(eta) <= _ROUNDING * terms] = 0.0
        rho = np.einsum("sn,snk->k", w * slope**2, nodes.C**2)
        pull = Pull(eta, np.zeros(self.K), rho)
        value, _ = self.response(pull, load._replace(ridge=large))
        p, q, chi = np.split(value, [self.J, self.J + self.K])
        met = q > _ROUNDING / large**2 * np.maximum(cov.largest, 0.0)
        q = np.maximum(q, 1e-12 * max(float(q.max()), 1e-288))
        if math.isinf(samples):
            q[~met] = 0.0
        return np.concatenate([p, [bias], np.sqrt(q), chi]), large
