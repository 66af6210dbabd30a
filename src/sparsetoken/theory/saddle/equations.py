"""The equations of a convex readout on features with noise of any covariances."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from sparsetoken.losses import Loss
from sparsetoken.theory.laws.feature_law import FeatureLaw
from sparsetoken.theory.saddle.bias import best_bias
from sparsetoken.theory.saddle.covariances import Covariances, Pull, Response
from sparsetoken.theory.saddle.loss_means import LossMeans, OrderParameters

_ROUNDING = 1e-13  # relative, of a sum or a squared norm
_LEAST = 1e-12  # relative, of a norm
_FLAT = 1e-9  # the least curvature in b, relative to that of the square loss


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
    kappa and r put in, the unknowns x are (p, b, nu, 1/(n chi)).

    Equation: stage-four-potential. Isotropic tokens are one covariance of one eigenvalue.

    Equation: population-risk. At infinite data chi is 0, and so is nu where no noise is in the way,
    as where the query is the signal. A nu that is 0 stays so.

    The first J directions of the covariances are those of the nodes. The covariances of the
    features are ``G_k - M removed_k M^T``, `removed` being of shape (K, J, J): a few directions
    change quadratic forms, but no trace in the limit.
    """

    def __init__(
        self,
        nodes: FeatureLaw,
        loss: Loss,
        covariances: Covariances,
        removed: np.ndarray | None = None,
    ) -> None:
        self.nodes, self.loss, self.means = nodes, loss, LossMeans(nodes, loss)
        self.covariances, self._removed = covariances, removed
        self.J, self.K = J, K = nodes.a.shape[2], nodes.C.shape[2]
        self.norms, self.chi = slice(J + 1, J + 1 + K), slice(J + 1 + K, None)
        # eta, 0, kappa and rho by the gradient of the mean loss
        self._by_gradient = np.repeat([-1.0, 0.0, 2.0, -2.0], [J, 1, K, K])

    @property
    def bias_at(self) -> int:
        """The place of b among the unknowns."""
        return self.J

    def positive(self, x: np.ndarray) -> tuple[int, ...]:
        """Return the places of unknowns > 0: of nu, but for zeros, and 1/(n chi)."""
        return tuple(i for i in range(self.J + 1, len(x)) if x[i] != 0)

    def state(self, x: np.ndarray, samples: float) -> OrderParameters:
        """Return what the scores depend on."""
        p, b, nu, inverse = x[: self.J], float(x[self.J]), x[self.norms], x[self.chi]
        return OrderParameters(p, b, nu**2, 1 / (samples * inverse))

    def tangent(self, x: np.ndarray, samples: float) -> np.ndarray:
        """Return the derivative of each number of the state in its unknown."""
        tangent = np.ones(len(x))
        tangent[self.norms] = 2 * x[self.norms]
        tangent[self.chi] = -1 / (samples * x[self.chi] ** 2)
        return tangent

    def bias_is_free(self, state: OrderParameters, mu: float) -> bool:
        """Return whether scores that are not all alike leave the bias within an interval.

        A loss with a kink is straight between the scores of both classes where these are small.
        """
        hessian = _mean(self.means.at(state, mu).hessian)
        flat = hessian[self.J, self.J] < self._least_curvature(state, mu)
        return bool(flat and (state.p.any() or state.q.any()))

    def _least_curvature(self, state: OrderParameters, mu: float) -> float:
        """Return the curvature in b below which a loss is straight.

        It is relative to that of the square loss, E[1/(1 + V)], as all curvatures are below 1/V
        and fall with the ridge where the data can be fitted.
        """
        *_, V = self.means.scores(state, mu)
        return _FLAT * float((self.nodes.weight / (1 + V)).sum(axis=1).mean())

    def pull(self, state: OrderParameters, mu: float) -> Pull:
        """Return what the samples do to the readout at a state."""
        return self.pull_of(state, self.means.at(state, mu).gradient.mean(axis=0))

    def pull_of(self, state: OrderParameters, gradient: np.ndarray) -> Pull:
        """Return what the samples do to the readout, from the gradient of their mean loss."""
        eta = -gradient[: self.J]
        kappa = np.maximum(2 * gradient[self.norms], 0.0)
        if self._removed is not None:
            eta += kappa @ (self._removed @ state.p)
        return Pull(eta, kappa, np.maximum(-2 * gradient[self.chi], 0.0))

    def _pull_moved(self, state: OrderParameters, gradients: np.ndarray) -> np.ndarray:
        """Return changes (N, m) of a pull with changes (N, m) of the gradient of the loss."""
        moved = self._by_gradient[:, None] * gradients
        if self._removed is not None:
            moved[: self.J] += (self._removed @ state.p).T @ moved[self.norms]
        return moved

    def response(self, pull: Pull, load: Load) -> Response:
        """Return the readout under a pull."""
        return self.covariances.response(pull, load.ridge, load.samples, self._removed)

    def system(self, x: np.ndarray, load: Load, mu: float) -> tuple[np.ndarray, np.ndarray]:
        """Return the residual of the equations and its Jacobian in the unknowns.

        The stationary condition of the bias stands in its own row.
        """
        J, tangent = self.J, self.tangent(x, load.samples)
        state = self.state(x, load.samples)
        _, gradients, hessians = self.means.at(state, mu)
        gradient, hessian = _mean(gradients), _mean(hessians)
        value, moved = self._coupled(state, gradient, hessian, load)
        found, slopes = self._unknowns(value, x)
        moved = slopes[:, None] * (moved * tangent)
        residual, jacobian = self._scaled(x - found, np.eye(len(x)) - moved, found, moved)
        residual[J], jacobian[J] = gradient[J], hessian[J] * tangent
        jacobian[J, J] = max(float(hessian[J, J]), self._least_curvature(state, mu))
        zeros = [i for i in range(J + 1, len(x)) if x[i] == 0]  # they stay so
        residual[zeros] = jacobian[zeros] = jacobian[:, zeros] = 0.0
        jacobian[zeros, zeros] = 1.0
        return residual, jacobian

    def _unknowns(self, value: np.ndarray, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the unknowns of a response, and the derivative of each in its number.

        A squared norm that is far below that of x, or negative by rounding, is 0.
        """
        found, slopes = value.copy(), np.ones(len(value))  # the covariances may keep the value
        met = value[self.norms] > (_LEAST * x[self.norms]) ** 2
        found[self.norms] = np.sqrt(np.where(met, value[self.norms], 0.0))
        found[self.chi] = 1 / value[self.chi]
        slopes[self.norms] = np.divide(0.5, found[self.norms], out=np.zeros(self.K), where=met)
        slopes[self.chi] = -(found[self.chi] ** 2)
        return found, slopes

    def _scaled(
        self, residual: np.ndarray, jacobian: np.ndarray, found: np.ndarray, moved: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the equations of p and nu times u = 1/(n chi_1), whose derivative is in `moved`.

        So they are nearly straight in the curvatures and the forces.
        """
        first = self.J + 1 + self.K
        u, u_moved = found[first], moved[first]
        jacobian[:first] = jacobian[:first] * u + residual[:first, None] * u_moved
        residual[:first] *= u
        return residual, jacobian

    def _coupled(
        self, state: OrderParameters, gradient: np.ndarray, hessian: np.ndarray, load: Load
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the response of the readout to the samples, and its derivatives in the state."""
        J, pull = self.J, self.pull_of(state, gradient)
        value, by_pull = self.response(pull, load)
        change = self._pull_moved(state, hessian)
        if self._removed is not None:
            change[:J, :J] += (pull.kappa @ self._removed.reshape(-1, J * J)).reshape(J, J)
        return value, by_pull @ change

    def scramble_steps(self, x: np.ndarray, load: Load, mu: float) -> np.ndarray:
        """Return the Newton step from a solution to that of each scramble, of shape (S, N)."""
        state = self.state(x, load.samples)
        gradients = self.means.at(state, mu).gradient
        mean = _mean(gradients)
        _, jacobian = self.system(x, load, mu)
        apart = (gradients - mean).T
        _, by_pull = self.response(self.pull_of(state, mean), load)
        residuals = -by_pull @ self._pull_moved(state, apart)
        norms, inverse = x[self.norms], x[self.chi]
        slopes = np.divide(0.5, norms, out=np.zeros_like(norms), where=norms != 0)
        residuals[self.norms] *= slopes[:, None]
        residuals[self.chi] *= -(inverse[:, None] ** 2)
        residuals[: self.J + 1 + self.K] *= inverse[0]
        residuals[self.J] = apart[self.J]
        return -np.linalg.solve(jacobian, residuals).T

    def explicit(self, load: Load, mu: float, relative: float) -> tuple[np.ndarray, float]:
        """Return a solution to first order at a large ridge, and that ridge.

        It is at least that of the load, and `relative` times the mean square of the features.
        """
        nodes, cov, samples = self.nodes, self.covariances, load.samples
        w = nodes.weight / len(nodes.y)
        targets, place = np.unique(nodes.y, return_inverse=True)
        bias = best_bias(self.loss, targets, np.bincount(place.ravel(), w.ravel()), mu)
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
        p, q = value[: self.J], value[self.norms]
        met = q > _ROUNDING / large**2 * np.maximum(cov.largest, 0.0)
        q = np.maximum(q, 1e-12 * max(float(q.max()), 1e-288))
        if math.isinf(samples):
            q[~met] = 0.0
        return np.concatenate([p, [bias], np.sqrt(q), 1 / value[self.chi]]), large


def _mean(scrambles: np.ndarray) -> np.ndarray:
    return np.asarray(np.add.reduce(scrambles) / len(scrambles))
