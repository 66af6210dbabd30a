"""The equations of the convex readout, of isotropic noise and of noise of any covariances."""

from __future__ import annotations

import abc
import math
from typing import NamedTuple

import numpy as np

from sparsetoken.losses import Loss
from sparsetoken.theory.readout.bias import best_bias
from sparsetoken.theory.readout.covariances import Covariances, Pull
from sparsetoken.theory.readout.means import LossMeans, OrderParameters
from sparsetoken.theory.readout.nodes import FeatureNodes

_NO_PULL = 1e-13
_FLAT = 1e-9  # added where nothing else bends b, since a loss is straight


class Load(NamedTuple):
    """What may vary between points of one law.

    Attributes
    ----------
    samples : float
        n in (0, inf], in units in which the trace of the identity is `Covariances.dimension`,
        or n/d where noise is isotropic.
    ridge : float
        lambda >= 0; at 0 the loss must have a finite minimum.
    """

    samples: float
    ridge: float


class SaddleEquations(abc.ABC):
    """The minimum of ``(1/n) sum l(y_i, <w, f_i> + b) + (ridge/2) |w|^2`` as n, d -> infinity.

    The features are ``f = M a + sum_k C_k G_k^(1/2) h_k``. Symbols: p = M^T w, nu_k^2 = w^T G_k w;
    eta, kappa_k, r_k as in docs/notation.md. A subclass says which unknowns x the equations are
    solved for; the last of them are fixed at infinite data. Where it extrapolates, powers of the
    ridge through two solutions are nearer to the next one than the last solution is: they are to
    chi, which grows like 1/ridge where the data can be fitted.
    """

    extrapolates: bool = False

    def __init__(self, nodes: FeatureNodes, loss: Loss) -> None:
        self.nodes, self.loss, self.means = nodes, loss, LossMeans(nodes, loss)
        self.J, self.K = nodes.a.shape[2], nodes.C.shape[2]

    @property
    def bias_at(self) -> int:
        """The place of b among the unknowns."""
        return self.J

    @abc.abstractmethod
    def positive(self, samples: float) -> tuple[int, ...]:
        """Return the places of unknowns > 0."""

    @abc.abstractmethod
    def size(self, samples: float) -> int:
        """Return the number of unknowns that are free."""

    @abc.abstractmethod
    def state(self, x: np.ndarray, samples: float) -> OrderParameters:
        """Return what the scores depend on."""

    @abc.abstractmethod
    def tangent(self, x: np.ndarray, samples: float) -> np.ndarray:
        """Return the derivatives of the state in the unknowns, of shape (J + 1 + 2 K, N)."""

    @abc.abstractmethod
    def system(self, x: np.ndarray, load: Load, mu: float) -> tuple[np.ndarray, np.ndarray]:
        """Return the residual of the equations and its Jacobian, in the free unknowns."""

    @abc.abstractmethod
    def changes(self, x: np.ndarray, load: Load, mu: float, gradients: np.ndarray) -> np.ndarray:
        """Return how residuals change with changes (S, N) of the gradient of the mean loss."""

    @abc.abstractmethod
    def explicit(self, load: Load, mu: float, relative: float) -> tuple[np.ndarray | None, float]:
        """Return a solution to first order at a large ridge, and that ridge.

        It is at least that of the load, and `relative` times the mean square of the features.
        None where nothing pulls the readout at infinite data: it is 0 at every ridge.
        """

    def scramble_steps(self, x: np.ndarray, load: Load, mu: float) -> np.ndarray:
        """Return the Newton step from a solution to that of each scramble, of shape (S, N)."""
        gradients = self.means.at(self.state(x, load.samples), mu).gradient
        _, jacobian = self.system(x, load, mu)
        apart = self.changes(x, load, mu, gradients - gradients.mean(axis=0))
        steps = np.zeros((len(apart), len(x)))
        steps[:, : len(jacobian)] = -np.linalg.solve(jacobian, apart[:, : len(jacobian)].T).T
        return steps

    def _bias_and_slopes(self, mu: float) -> tuple[np.ndarray, float, np.ndarray]:
        """Return the weights of the nodes, the best bias without features, and slopes there."""
        nodes = self.nodes
        mean = nodes.weight / len(nodes.y)
        bias = best_bias(self.loss, float(np.sum(mean * (nodes.y > 0))), mu)
        return mean, bias, self.loss.dual(nodes.y, bias + 0 * nodes.y, mu + 0 * nodes.y)


class IsotropicEquations(SaddleEquations):
    """The saddle point (w_1, w_2, b, nu, r) of the potential of features of isotropic tokens.

    Equation: stage-four-potential (n1, d -> infinity at fixed alpha = n1/d), of features
    ``X_1 qhat + X_2 e_2 + C h`` with h ~ N(0, I - qhat qhat^T):

    ``E[M_{chi C^2 + mu}(omega)] - nu r/(2 sqrt(alpha)) + (lambda/2)(w_1^2 + w_2^2 + nu^2)``
    with omega = w_1 X_1 + w_2 X_2 + b + T g, T^2 = w_1^2 v + C^2 (w_2^2 + nu^2), v the
    Gaussian variance of the law, and chi = nu/(r sqrt(alpha)). It is convex in (w_1, w_2, b, nu)
    and concave in r. Where noise has one eigenvalue these are the equations of
    `SpectrumEquations`, with fewer ways to go astray.

    Equation: population-risk. At alpha = inf, nu and chi vanish and the potential is the
    population risk of (w_1, w_2, b) with the ridge; it has three unknowns.
    """

    def positive(self, samples: float) -> tuple[int, ...]:
        """Return the places of nu and r."""
        return (3, 4) if math.isfinite(samples) else ()

    def size(self, samples: float) -> int:
        """Return 5, or 3 at infinite data, where nu = 0 and r = 1."""
        return 5 if math.isfinite(samples) else 3

    def state(self, x: np.ndarray, samples: float) -> OrderParameters:
        """Return the state: chi = nu / (r sqrt(alpha))."""
        _, w2, b, nu, r = x
        chi = nu / (r * math.sqrt(samples))
        return OrderParameters(x[:2], float(b), np.array([w2**2 + nu**2]), np.array([chi]))

    def tangent(self, x: np.ndarray, samples: float) -> np.ndarray:
        """Return the derivatives of the state."""
        _, w2, _, nu, r = x
        tangent = np.zeros((5, 5))
        tangent[[0, 1, 2], [0, 1, 2]] = 1.0
        tangent[3, [1, 3]] = 2 * w2, 2 * nu
        root = r * math.sqrt(samples)
        tangent[4, [3, 4]] = 1 / root, -nu / (r * root)
        return tangent

    def system(self, x: np.ndarray, load: Load, mu: float) -> tuple[np.ndarray, np.ndarray]:
        """Return gradient and Hessian of the potential."""
        samples, ridge = load
        _, means, hessians = self.means.at(self.state(x, samples), mu)
        slope, bend = means.mean(axis=0), hessians.mean(axis=0)
        turn = self.tangent(x, samples)
        gradient, hessian = slope @ turn, turn.T @ bend @ turn
        hessian[[1, 3], [1, 3]] += 2 * slope[3]
        nu, r = x[3:]
        per_root = 1 / math.sqrt(samples)
        curve, half = -slope[4] * per_root / r**2, 0.5 * per_root
        hessian[4, 4] -= 2 * nu / r * curve
        hessian[3, 4] += curve - half
        hessian[4, 3] += curve - half
        penalised = [0, 1, 3]
        gradient[penalised] += ridge * x[penalised]
        hessian[penalised, penalised] += ridge
        gradient[3] -= half * r
        gradient[4] -= half * nu
        hessian[2, 2] += _FLAT
        hessian[0, 0] += 1e-14 * np.trace(hessian)  # nothing bends w_1 without a query at ridge 0
        size = self.size(samples)
        return gradient[:size], hessian[:size, :size]

    def changes(self, x: np.ndarray, load: Load, mu: float, gradients: np.ndarray) -> np.ndarray:
        """Return the changes of the gradient of the potential."""
        return np.asarray(gradients @ self.tangent(x, load.samples))

    def explicit(self, load: Load, mu: float, relative: float) -> tuple[np.ndarray, float]:
        """Return a solution to first order at a large ridge, and that ridge."""
        nodes, alpha = self.nodes, load.samples
        mean, bias, slope = self._bias_and_slopes(mu)
        squares = np.sum(nodes.a**2, axis=-1) + nodes.C[..., 0] ** 2
        size = float(np.sum(mean * squares)) + float(np.trace(nodes.covariance))
        large = max(load.ridge, relative * size)
        w1, w2 = -np.einsum("sn,snj->j", mean * slope, nodes.a) / large
        if math.isinf(alpha):
            return np.array([w1, w2, bias, 0.0, 1.0]), large
        r = math.sqrt(np.sum(mean * nodes.C[..., 0] ** 2 * slope**2))
        return np.array([w1, w2, bias, r / (math.sqrt(alpha) * large), r]), large


class SpectrumEquations(SaddleEquations):
    """The unknowns (p, b, nu, chi) where noise has any covariances.

    Equation: general-convex-readout. They solve the equations left when eta, kappa and r are put
    in.

    The first J directions of the covariances are those of the nodes. The covariances of the
    features are ``G_k - M removed_k M^T``, `removed` being of shape (K, J, J): a few directions
    change quadratic forms, but no trace in the limit.
    """

    extrapolates = True

    def __init__(
        self,
        nodes: FeatureNodes,
        loss: Loss,
        covariances: Covariances,
        removed: np.ndarray | None = None,
    ) -> None:
        super().__init__(nodes, loss)
        self.covariances = covariances
        self.removed = np.zeros((self.K, self.J, self.J)) if removed is None else removed

    def positive(self, samples: float) -> tuple[int, ...]:
        """Return the places of nu and chi."""
        return tuple(range(self.J + 1, self.size(samples)))

    def size(self, samples: float) -> int:
        """Return the number of (p, b, nu), with chi where data are finite; there it is 0."""
        return self.J + 1 + (2 if math.isfinite(samples) else 1) * self.K

    def state(self, x: np.ndarray, samples: float) -> OrderParameters:
        """Return the state."""
        p, b, nu, chi = np.split(x, np.cumsum([self.J, 1, self.K]))
        return OrderParameters(p, float(b[0]), nu**2, chi)

    def tangent(self, x: np.ndarray, samples: float) -> np.ndarray:
        """Return the derivatives of the state: the unknowns are norms, not their squares."""
        tangent = np.ones(len(x))
        norms = slice(self.J + 1, self.J + 1 + self.K)
        tangent[norms] = 2 * x[norms]
        return np.diag(tangent)

    def pull(self, state: OrderParameters, mu: float) -> Pull:
        """Return what the samples do to the readout at a state."""
        return self._pull(state, self.means.at(state, mu).gradient.mean(axis=0))

    def _pull(self, state: OrderParameters, gradient: np.ndarray) -> Pull:
        J, K = self.J, self.K
        kappa = np.maximum(2 * gradient[J + 1 : J + 1 + K], 0.0)
        rho = np.maximum(-2 * gradient[J + 1 + K :], 0.0)
        eta = -gradient[:J] + np.einsum("k,kij,j->i", kappa, self.removed, state.p)
        return Pull(eta, kappa, rho)

    def _turned(self, state: OrderParameters) -> np.ndarray:
        return np.einsum("kij,j->ik", self.removed, state.p)

    def _by_gradient(self, state: OrderParameters) -> np.ndarray:
        """Return the derivatives of (eta, kappa, rho) in the gradient of the mean loss."""
        J, K = self.J, self.K
        jacobian = np.zeros((J + 2 * K, J + 1 + 2 * K))
        jacobian[:J, :J] = -np.eye(J)
        jacobian[:J, J + 1 : J + 1 + K] = 2 * self._turned(state)
        jacobian[J : J + K, J + 1 : J + 1 + K] = 2 * np.eye(K)
        jacobian[J + K :, J + 1 + K :] = -2 * np.eye(K)
        return jacobian

    def system(self, x: np.ndarray, load: Load, mu: float) -> tuple[np.ndarray, np.ndarray]:
        """Return the residual of the equations at x and its Jacobian."""
        state = self.state(x, load.samples)
        _, gradients, hessians = self.means.at(state, mu)
        return self._coupled(state, gradients.mean(axis=0), hessians.mean(axis=0), load)

    def _coupled(
        self, state: OrderParameters, gradient: np.ndarray, hessian: np.ndarray, load: Load
    ) -> tuple[np.ndarray, np.ndarray]:
        J, K = self.J, self.K
        p, b, q, chi = slice(0, J), J, slice(J + 1, J + 1 + K), slice(J + 1 + K, J + 1 + 2 * K)
        pull, turned = self._pull(state, gradient), self._turned(state)
        response = self.covariances.response(pull, load.ridge, load.samples)
        change = self._by_gradient(state) @ hessian
        change[:J, :J] += np.einsum("k,kij->ij", pull.kappa, self.removed)
        moved = response.jacobian @ change
        residual, jacobian = np.empty(J + 1 + 2 * K), np.empty((J + 1 + 2 * K, J + 1 + 2 * K))
        value = response.value
        residual[p] = state.p - value[:J]
        residual[b] = gradient[b]
        residual[q] = state.q - value[J : J + K] + turned.T @ state.p
        residual[chi] = state.chi - value[J + K :]
        jacobian[p] = -moved[:J]
        jacobian[b] = hessian[b]
        jacobian[b, b] += _FLAT
        jacobian[q] = -moved[J : J + K]
        jacobian[q, p] += 2 * turned.T
        jacobian[chi] = -moved[J + K :]
        diagonal = [*range(J), *range(J + 1, J + 1 + 2 * K)]
        jacobian[diagonal, diagonal] += 1.0
        jacobian[:, q] *= 2 * np.sqrt(state.q)  # the unknown is nu
        size = self.size(load.samples)
        return residual[:size], jacobian[:size, :size]

    def changes(self, x: np.ndarray, load: Load, mu: float, gradients: np.ndarray) -> np.ndarray:
        """Return the changes of the residuals, to first order."""
        J, state = self.J, self.state(x, load.samples)
        pull = self._pull(state, self.means.at(state, mu).gradient.mean(axis=0))
        response = self.covariances.response(pull, load.ridge, load.samples).jacobian
        moved = -gradients @ self._by_gradient(state).T @ response.T
        return np.insert(moved, J, gradients[:, J], axis=1)

    def explicit(self, load: Load, mu: float, relative: float) -> tuple[np.ndarray | None, float]:
        """Return a solution to first order at a large ridge, and that ridge."""
        nodes, cov, samples = self.nodes, self.covariances, load.samples
        w, bias, slope = self._bias_and_slopes(mu)
        squares = np.einsum("sn,snk->k", w, nodes.C**2)
        second = np.einsum("sn,sni,snj->ij", w, nodes.a, nodes.a, optimize=True) + nodes.covariance
        size = float(np.sum(second * cov.gram(self.J)))
        size += float(squares @ (cov.largest + cov.traces / samples))
        large = max(load.ridge, relative * size)
        eta = -np.einsum("sn,sni->i", w * slope, nodes.a)
        rho = np.einsum("sn,snk->k", w * slope**2, nodes.C**2)
        value = cov.response(Pull(eta, np.zeros(self.K), rho), large, samples).value
        p, q, chi = np.split(value, [self.J, self.J + self.K])
        q = q - np.einsum("kij,i,j->k", self.removed, p, p)
        if math.isinf(samples) and np.all(q <= _NO_PULL / large**2 * np.maximum(cov.largest, 0)):
            return None, large
        q = np.maximum(q, 1e-12 * max(float(q.max()), 1e-300))
        return np.concatenate([p, [bias], np.sqrt(q), chi]), large
