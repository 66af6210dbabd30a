"""How many samples can be separated, where the noise of their features has several covariances."""

from __future__ import annotations

import math

import numpy as np
from jaxtyping import Float
from scipy.special import ndtr

from sparsetoken.losses import get_loss
from sparsetoken.losses.exact_fit import ExactFit
from sparsetoken.numerics.backend import with_x64
from sparsetoken.numerics.errors import stated_error
from sparsetoken.numerics.newton import NewtonResult, damped_newton, follow
from sparsetoken.theory.feature_law import FeatureLaw
from sparsetoken.theory.readout.covariances import CommutingCovariances
from sparsetoken.theory.readout.equations import Load, SaddleEquations
from sparsetoken.theory.readout.means import OrderParameters
from sparsetoken.theory.readout.solve import ROUGH_STEP, SOLUTION_STEP, SaddlePoint, solve_readout
from sparsetoken.theory.separability.violation import Separation

_FIRST_LOAD = 0.5  # samples per dimension; where noise has all directions, 1 can be separated
_LONG = 50.0  # times the first norm; from there a margin of 0 is near


@with_x64
def most_separable(
    nodes: FeatureLaw,
    covariances: CommutingCovariances,
    removed: np.ndarray | None,
    near: Separation | None = None,
) -> Separation:
    """Return the number of samples at which the readout of the largest margin diverges.

    Equation: separation-of-several-covariances. Samples can be separated if some w has margins
    y z >= 1, and the shortest such w grows without bound as n rises to the limit. In the
    equations of the readout it leaves margins y z >= 0 and the ridge 0, which hold for any
    multiple of (p, b, nu), and of chi. So nu_1 = chi_1 = 1, and what is found in their place is n
    and a ridge: the potential is homogeneous in (p, b, nu) and in chi but for the ridge times
    |w|^2, so that by Euler's theorem a solution has the ridge 0.

    The first covariance is the identity, to which the ridge adds; `removed` is as of
    `SaddleEquations`. The search starts at `near`, the separation of other nodes of the law, or
    else follows readouts of the margin 1 from few samples.
    """
    law = (nodes, covariances, removed)
    limit = _EquationsAtNorm(*law, margin=0.0)
    if near is not None:
        result = limit.at_norm(near.x, 1.0, SOLUTION_STEP)
        result = result._replace(iterations=near.iterations + result.iterations)
    else:
        result = _from_small_loads(_EquationsAtNorm(*law, margin=1.0), limit)
    error = limit.error(result.x) if result.converged else math.inf
    samples = float(1 / result.x[limit.samples_at])
    return Separation(samples, error, *result)


def violations(nodes: FeatureLaw, separation: Separation) -> Float[np.ndarray, "scrambles nodes"]:
    """Return what each node adds to the mean of (T g - y m)_+^2 at a solution.

    That may be one of other nodes of the law.
    """
    J, K = nodes.a.shape[-1], nodes.C.shape[-1]
    p, b = separation.x[:J], separation.x[J]
    q = np.append(1.0, separation.x[J + 2 : J + 1 + K] ** 2)
    T = np.sqrt(p @ nodes.covariance @ p + nodes.C**2 @ q)
    r = -nodes.y * (nodes.a @ p + b) / T
    density = np.exp(-0.5 * r**2) / math.sqrt(2 * math.pi)
    return np.asarray(nodes.weight * T**2 * ((1 + r**2) * ndtr(r) + r * density))


def _from_small_loads(way: _EquationsAtNorm, limit: _EquationsAtNorm) -> NewtonResult:
    """Follow readouts of the margin 1 as they grow longer.

    Where more samples first tell more of the signal than they add noise, readouts become shorter
    with the load: then the way starts at a larger load.
    """

    def longer(x: np.ndarray, t: float) -> NewtonResult:
        if t == 0:
            return limit.at_norm(x, 1.0, SOLUTION_STEP)
        return way.at_norm(x, 1 / t, ROUGH_STEP)

    load, start = _FIRST_LOAD, None
    while True:
        samples = load * way.covariances.dimension
        start = solve_readout(way, Load(samples, 1.0), start, ROUGH_STEP)
        first, norm = way.described(start)
        if not start.converged:
            return first
        result, _ = follow(longer, first, 1 / norm, 0.0, enough=1 / (_LONG * norm))
        if result.converged:
            return result
        load *= 2


class _EquationsAtNorm(SaddleEquations):
    """The readouts of a given nu_1 that give scores a margin, and the n and ridge they belong to.

    The unknowns are (p, b, nu) / nu_1 with 1/n in the place of nu_1, and chi / chi_1 with the
    ridge in the place of chi_1.
    """

    def __init__(
        self,
        nodes: FeatureLaw,
        covariances: CommutingCovariances,
        removed: np.ndarray | None,
        margin: float,
    ) -> None:
        super().__init__(nodes, ExactFit(get_loss("squared_hinge"), margin), covariances, removed)
        self.samples_at, self._ridge_at = self.J + 1, self.J + 1 + self.K

    def described(self, saddle: SaddlePoint) -> tuple[NewtonResult, float]:
        """Return a readout at the ridge 1 in these unknowns, and its nu_1."""
        p, b, q, chi = saddle.state
        norm = math.sqrt(q[0])
        x = np.concatenate([p / norm, [b / norm], np.sqrt(q) / norm, chi / chi[0]])
        x[self.samples_at], x[self._ridge_at] = 1 / saddle.load.samples, chi[0]
        return NewtonResult(x, saddle.residual, saddle.iterations, saddle.converged), norm

    def at_norm(self, x: np.ndarray, norm: float, tolerance: float) -> NewtonResult:
        """Solve at nu_1 = norm."""
        positive = [i for i in self.positive(x) if i != self._ridge_at]
        return damped_newton(
            lambda at: self._conditions(at, norm),
            x,
            positive=tuple(positive),
            cautious=(self.J,),
            tolerance=tolerance,
        )

    def error(self, x: np.ndarray) -> float:
        """Return the relative error of n at a solution of norm 1."""
        scrambles = len(self.nodes.y)
        if self.nodes.exact or scrambles < 2:
            return 0.0
        _, jacobian = self._conditions(x, 1.0)
        apart = [self._conditions(x, 1.0, scramble)[0] for scramble in range(scrambles)]
        steps = np.linalg.solve(jacobian, np.array(apart).T)[self.samples_at]
        return float(stated_error(steps) / x[self.samples_at])

    def _conditions(
        self, x: np.ndarray, norm: float, scramble: int | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return residual and Jacobian, the residual at will of one scramble."""
        J, n, ridge = self.J, 1 / x[self.samples_at], float(x[self._ridge_at])
        known = x.copy()
        known[self.samples_at] = known[self._ridge_at] = 1.0
        p, b, nu, ratios = np.split(known, [J, J + 1, self._ridge_at])
        state = OrderParameters(norm * p, norm * float(b[0]), (norm * nu) ** 2, ratios)
        by_unknown = np.repeat([norm, 1.0], [self._ridge_at, self.K])
        by_unknown[self.norms] *= 2 * norm * nu
        _, gradients, hessians = self.means.at(state, 0.0)
        gradient = gradients.mean(axis=0) if scramble is None else gradients[scramble]
        hessian = hessians.mean(axis=0)
        value, moved = self._coupled(state, gradient, hessian, Load(n, ridge))
        residual, jacobian = state.vector - value, np.eye(len(x)) - moved
        residual[self.chi] += value[self.chi] * (1 - 1 / n)
        jacobian[self.chi] += moved[self.chi] * (1 - 1 / n)
        residual[J], jacobian[J] = gradient[J], hessian[J]
        jacobian *= by_unknown
        pull = self.pull_of(state, gradient)
        by_pull = self.response(pull, Load(n, ridge)).jacobian
        # The response is linear in 1/n, and a ridge acts as more kappa_1.
        jacobian[:, self.samples_at] = -n * by_pull[:, self.chi] @ pull.rho
        jacobian[self.chi, self.samples_at] = -value[self.chi]
        jacobian[:, self._ridge_at] = -by_pull[:, J + 1]
        jacobian[self.chi, self._ridge_at] /= n
        return residual, jacobian
