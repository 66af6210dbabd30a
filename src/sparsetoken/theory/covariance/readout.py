"""The convex readout on features with any covariances of their noise."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Iterator

import numpy as np

from sparsetoken.losses import Loss
from sparsetoken.numerics.newton import NewtonResult, damped_newton, follow
from sparsetoken.numerics.x64 import with_x64
from sparsetoken.theory.covariance.means import LossMeans, ReadoutState
from sparsetoken.theory.covariance.nodes import FeatureNodes
from sparsetoken.theory.covariance.spectra import Covariances, Pull
from sparsetoken.theory.learned_error import best_bias

SOLUTION_STEP, ROUGH_STEP = 1e-6, 1e-2
_FIRST_SMOOTHING, _LAST_SMOOTHING = 4.0, 1e-7
_LARGE_RIDGES = (1.0, 10.0)  # relative to the features; the second is safer and farther away
_NO_PULL = 1e-13
_LAST_RIDGE = 1e-9  # below this share of the first, the next is 0
_FIXED_POINT_STEPS, _FIXED_POINT_ENOUGH = 400, 1e-4


@dataclasses.dataclass(frozen=True, eq=False)
class SolvedReadout:
    """The readout in the limit of many samples, and how it was reached.

    Attributes
    ----------
    state : ReadoutState
        p = M^T w, b, nu_k^2 and chi_k.
    pull : Pull
        eta, kappa_k and r_k^2.
    ridge, samples : float
    smoothing : float
        The mu of the envelope that stands for the loss: 0, or at most 1e-6 where a loss with
        kinks has its solution on a kink.
    residual : float
        Relative length of the last Newton step.
    iterations : int
    converged : bool
    """

    state: ReadoutState
    pull: Pull
    ridge: float
    samples: float
    smoothing: float
    residual: float
    iterations: int
    converged: bool

    @property
    def p(self) -> np.ndarray:
        """M^T w, of shape (J,)."""
        return self.state.p

    @property
    def b(self) -> float:
        """The bias."""
        return self.state.b

    @property
    def nu(self) -> np.ndarray:
        """Lengths sqrt(w^T G_k w), of shape (K,)."""
        return np.sqrt(self.state.q)

    @property
    def chi(self) -> np.ndarray:
        """Susceptibilities tr(G_k H^-1) / n, of shape (K,)."""
        return self.state.chi

    @property
    def r(self) -> np.ndarray:
        """Root mean squares of the forces, sqrt(E[C_k^2 l'^2]), of shape (K,)."""
        return np.sqrt(self.pull.rho)


class _Way:
    """Solutions at falling ridges, and where the next one is: powers of the ridge.

    Where the data can be fitted chi grows like 1/ridge; elsewhere it tends to a limit.
    """

    def __init__(self, ridge: float, x: np.ndarray, positive: tuple[int, ...]) -> None:
        self._known, self._positive = [(ridge, x)], list(positive)

    def add(self, ridge: float, x: np.ndarray) -> None:
        """Remember a solution."""
        self._known = [*self._known[-1:], (ridge, x)]

    def guess(self, ridge: float) -> np.ndarray:
        """Return the place of the solution at a lower ridge."""
        last, x = self._known[-1]
        if len(self._known) == 1 or ridge == 0:
            return x
        before, y = self._known[0]
        if last == before:
            return x
        step = math.log(ridge / last) / math.log(last / before)
        guess = x + min(step, 1.0) * (x - y)
        some = self._positive
        guess[some] = x[some] * (x[some] / y[some]) ** step
        return guess


class ConvexReadout:
    """The minimum of ``(1/n) sum l(y_i, <w, f_i> + b) + (ridge/2) |w|^2`` as n, d -> infinity.

    Equation: general-convex-readout, for features ``f = M a + sum_k C_k G_k^(1/2) h_k``.
    Symbols: p = M^T w, nu_k^2 = w^T G_k w; eta, kappa_k, r_k as in docs/notation.md.

    The unknowns (p, b, nu, chi) are found by Newton's method on the equations left when eta,
    kappa and r are put in; without a start they are followed from a ridge so large that
    they are explicit.

    Parameters
    ----------
    nodes : FeatureNodes
    covariances : Covariances
        Its first J directions are those of the nodes.
    loss : Loss
    removed : array of shape (K, J, J), optional
        The covariances of the features are ``G_k - M removed_k M^T``. A few directions change
        quadratic forms, but no trace in the limit.
    """

    def __init__(
        self,
        nodes: FeatureNodes,
        covariances: Covariances,
        loss: Loss,
        removed: np.ndarray | None = None,
    ) -> None:
        self.nodes, self.covariances, self.loss = nodes, covariances, loss
        self._means = LossMeans(nodes, loss)
        self.J, self.K = nodes.a.shape[2], nodes.C.shape[2]
        self.removed = np.zeros((self.K, self.J, self.J)) if removed is None else removed

    def means(self) -> LossMeans:
        """Return the means of the loss over the nodes."""
        return self._means

    # The unknowns are (p, b, nu) and, at a finite number of samples, chi.

    def _state(self, x: np.ndarray) -> ReadoutState:
        J, K = self.J, self.K
        chi = x[J + 1 + K :]
        nu = x[J + 1 : J + 1 + K]
        return ReadoutState(x[:J], float(x[J]), nu**2, chi if len(chi) else np.zeros(K))

    def _positive(self, samples: float) -> tuple[int, ...]:
        first = self.J + 1
        return tuple(range(first, first + (2 if math.isfinite(samples) else 1) * self.K))

    def _pull(self, state: ReadoutState, gradient: np.ndarray) -> Pull:
        """Return the pull at gradients (..., N) of the mean of the loss, after scrambles."""
        J, K = self.J, self.K
        kappa = np.maximum(2 * gradient[J + 1 : J + 1 + K], 0.0)
        rho = np.maximum(-2 * gradient[J + 1 + K :], 0.0)
        eta = -gradient[:J] + np.einsum("k,kij,j->i", kappa, self.removed, state.p)
        return Pull(eta, kappa, rho)

    def system(
        self, x: np.ndarray, ridge: float, samples: float, mu: float
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the residual of the equations at x and its Jacobian."""
        state = self._state(x)
        _, gradients, hessians = self._means.at(state, mu)
        return self._coupled(state, gradients.mean(axis=0), hessians.mean(axis=0), ridge, samples)

    def _coupled(
        self,
        state: ReadoutState,
        gradient: np.ndarray,
        hessian: np.ndarray,
        ridge: float,
        samples: float,
    ) -> tuple[np.ndarray, np.ndarray]:
        J, K = self.J, self.K
        p, b, q, chi = slice(0, J), J, slice(J + 1, J + 1 + K), slice(J + 1 + K, J + 1 + 2 * K)
        pull = self._pull(state, gradient)
        found = self.covariances.response(pull, ridge, samples)
        # derivatives of (eta, kappa, rho) in (p, b, q, chi)
        turned = np.einsum("kij,j->ik", self.removed, state.p)
        change = np.empty((J + 2 * K, J + 1 + 2 * K))
        change[J : J + K] = 2 * hessian[q]
        change[J + K :] = -2 * hessian[chi]
        change[:J] = -hessian[:J] + turned @ change[J : J + K]
        change[:J, :J] += np.einsum("k,kij->ij", pull.kappa, self.removed)
        moved = found.jacobian @ change
        residual, jacobian = np.empty(J + 1 + 2 * K), np.empty((J + 1 + 2 * K, J + 1 + 2 * K))
        value = found.value
        residual[p] = state.p - value[:J]
        residual[b] = gradient[b]
        residual[q] = state.q - value[J : J + K] + turned.T @ state.p
        residual[chi] = state.chi - value[J + K :]
        jacobian[p] = -moved[:J]
        jacobian[b] = hessian[b]
        jacobian[b, b] += 1e-9  # nothing else bends b where a loss is straight
        jacobian[q] = -moved[J : J + K]
        jacobian[q, p] += 2 * turned.T
        jacobian[chi] = -moved[J + K :]
        diagonal = [*range(J), *range(J + 1, J + 1 + 2 * K)]
        jacobian[diagonal, diagonal] += 1.0
        jacobian[:, q] *= 2 * np.sqrt(state.q)  # the unknown is nu
        size = len(residual) if math.isfinite(samples) else J + 1 + K
        return residual[:size], jacobian[:size, :size]

    def scramble_steps(self, found: SolvedReadout) -> np.ndarray:
        """Return the Newton step from a solution to that of each scramble, of (p, b, nu, chi)."""
        state, mu = found.state, found.smoothing
        _, gradients, hessians = self._means.at(state, mu)
        hessian = hessians.mean(axis=0)
        size = (found.ridge, found.samples)
        _, jacobian = self._coupled(state, gradients.mean(axis=0), hessian, *size)
        apart = [self._coupled(state, one, hessian, *size)[0] for one in gradients]
        return -np.linalg.solve(jacobian, np.array(apart).T).T

    @with_x64
    def solve(
        self,
        ridge: float,
        samples: float,
        start: SolvedReadout | None = None,
        tolerance: float = SOLUTION_STEP,
    ) -> SolvedReadout:
        """Solve at one ridge and number of samples, at most inf.

        Parameters
        ----------
        ridge : float
            >= 0; at 0 the loss must have a finite minimum, and the covariances together an
            inverse.
        samples : float
            n, > 0; ``inf`` is the limit of infinite data.
        start : SolvedReadout, optional
            A solution nearby; if Newton's method fails from there the long way is taken.
        tolerance : float
            Relative length of the last Newton step; the error is of the order of its square.
        """
        spent = 0
        if start is not None and start.converged and np.all(start.state.q > 0):
            known = math.isfinite(start.samples) or not math.isfinite(samples)
            x = self._unknowns(start.state, samples)
            if known:
                near = self._newton(x, ridge, samples, start.smoothing, tolerance)
                spent += near.iterations
                if near.converged:
                    return self._solved(near, ridge, samples, start.smoothing, spent)
        mu = 0.0 if self.loss.smooth else _FIRST_SMOOTHING
        for relative in _LARGE_RIDGES:
            explicit, large = self._explicit(ridge, samples, mu, relative)
            if explicit is None:
                return self._without_pull(ridge, samples, mu)
            enough = tolerance if large == ridge else ROUGH_STEP
            first = self._newton(explicit, large, samples, mu, enough)
            spent += first.iterations
            if first.converged:
                break
        down = first
        if first.converged:
            way = _Way(large, first.x, self._positive(samples))

            def lower(x: np.ndarray, t: float) -> NewtonResult:
                enough = tolerance if t == ridge else ROUGH_STEP
                at = self._newton(way.guess(t), t, samples, mu, enough)
                if at.converged:
                    way.add(t, at.x)
                return at

            last = _LAST_RIDGE * large if ridge == 0 else None
            down, _ = follow(lower, first, large, ridge, enough=last)
            spent += down.iterations - first.iterations
        if not down.converged:
            x, steps = self._iterated(first.x, ridge, samples, mu)
            down = self._newton(x, ridge, samples, mu, tolerance)
            spent += steps + down.iterations
        if mu == 0 or not down.converged:
            return self._solved(down, ridge, samples, mu, spent)
        sharp, mu = follow(
            lambda at, t: self._newton(at, ridge, samples, t, tolerance),
            down,
            mu,
            0.0,
            enough=_LAST_SMOOTHING,
        )
        near_enough = sharp.converged or mu <= 10 * _LAST_SMOOTHING
        sharp = sharp._replace(converged=near_enough)
        return self._solved(sharp, ridge, samples, mu, spent + sharp.iterations - down.iterations)

    def solve_along(
        self, points: Iterable[tuple[float, float]], tolerance: float = SOLUTION_STEP
    ) -> Iterator[SolvedReadout]:
        """Solve at one (samples, ridge) after another, each from the one before."""
        last = None
        for samples, ridge in points:
            found = self.solve(ridge, samples, last, tolerance)
            last = found if found.converged else last
            yield found

    def _newton(
        self, x: np.ndarray, ridge: float, samples: float, mu: float, tolerance: float
    ) -> NewtonResult:
        return damped_newton(
            lambda at: self.system(at, ridge, samples, mu),
            x,
            positive=self._positive(samples),
            cautious=(self.J,),
            tolerance=tolerance,
        )

    def _unknowns(self, state: ReadoutState, samples: float) -> np.ndarray:
        parts = [state.p, [state.b], np.sqrt(state.q)]
        return np.concatenate([*parts, state.chi] if math.isfinite(samples) else parts)

    def _explicit(
        self, ridge: float, samples: float, mu: float, relative: float
    ) -> tuple[np.ndarray | None, float]:
        """Return a solution to first order at a large ridge, and that ridge.

        None where nothing pulls the readout at infinite data: it is 0 at every ridge.
        """
        nodes, cov = self.nodes, self.covariances
        w = nodes.weight / len(nodes.y)
        squares = np.einsum("sn,snk->k", w, nodes.C**2)
        second = np.einsum("sn,sni,snj->ij", w, nodes.a, nodes.a) + nodes.spread
        gram = cov.directions.mean[:, : self.J].T @ cov.directions.mean[:, : self.J]
        for (i, j), Q in cov.directions.scatter.items():
            if i == j < self.J:
                gram[i, i] += Q.sum() if Q.ndim == 1 else np.trace(Q)
        size = float(np.sum(second * gram) + squares @ (cov.largest + cov.traces / samples))
        large = max(ridge, relative * size)
        bias = best_bias(self.loss, float(np.sum(w * (nodes.y > 0))), mu)
        slope = self.loss.dual(nodes.y, bias + 0 * nodes.y, mu + 0 * nodes.y)
        eta = -np.einsum("sn,sni->i", w * slope, nodes.a)
        rho = np.einsum("sn,snk->k", w * slope**2, nodes.C**2)
        pull = Pull(eta, np.zeros(self.K), rho)
        value = cov.response(pull, large, samples).value
        p, q, chi = np.split(value, [self.J, self.J + self.K])
        q = q - np.einsum("kij,i,j->k", self.removed, p, p)
        if math.isinf(samples) and np.all(q <= _NO_PULL / large**2 * np.maximum(cov.largest, 0)):
            return None, large
        q = np.maximum(q, 1e-12 * max(float(q.max()), 1e-300))
        return self._unknowns(ReadoutState(p, bias, q, chi), samples), large

    def _without_pull(self, ridge: float, samples: float, mu: float) -> SolvedReadout:
        w = self.nodes.weight / len(self.nodes.y)
        bias = best_bias(self.loss, float(np.sum(w * (self.nodes.y > 0))), 0.0)
        none = np.zeros(self.K)
        state = ReadoutState(np.zeros(self.J), bias, none, none)
        return SolvedReadout(
            state, Pull(np.zeros(self.J), none, none), ridge, samples, 0.0, 0.0, 0, True
        )

    def _iterated(
        self, x: np.ndarray, ridge: float, samples: float, mu: float
    ) -> tuple[np.ndarray, int]:
        """Iterate the equations with damping 1/2: slow, but safe where Newton's steps are not."""
        steps = 0
        while steps < _FIXED_POINT_STEPS:
            steps += 1
            state = self._state(x)
            _, gradients, hessians = self._means.at(state, mu)
            gradient, bend = gradients.mean(axis=0), hessians.mean(axis=0)[self.J, self.J]
            pull = self._pull(state, gradient)
            value = self.covariances.response(pull, ridge, samples).value
            p, q, chi = np.split(value, [self.J, self.J + self.K])
            q = np.maximum(q - np.einsum("kij,i,j->k", self.removed, p, p), 1e-30)
            turn = float(np.clip(-gradient[self.J] / (bend + 1e-9), -1.0, 1.0))
            target = self._unknowns(ReadoutState(p, state.b + turn, q, chi), samples)
            change = target - x
            x = x + 0.5 * change
            if np.linalg.norm(change) <= _FIXED_POINT_ENOUGH * np.linalg.norm(x):
                break
        return x, steps

    def _solved(
        self, found: NewtonResult, ridge: float, samples: float, mu: float, spent: int
    ) -> SolvedReadout:
        state = self._state(found.x)
        _, gradients, _ = self._means.at(state, mu)
        pull = self._pull(state, gradients.mean(axis=0))
        return SolvedReadout(
            state, pull, ridge, samples, mu, found.residual, spent, found.converged
        )
