"""The mean squared violation of a margin, whose least value is one over the capacity."""

from __future__ import annotations

import dataclasses
import math
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from sparsetoken.losses import Smoothed, get_loss
from sparsetoken.numerics.errors import stated_error
from sparsetoken.numerics.newton import NewtonResult, damped_newton, follow
from sparsetoken.theory.laws.feature_law import FeatureLaw
from sparsetoken.theory.laws.proposal import by_label, effective_share

_LOSS = get_loss("squared_hinge")
# Row and column of the six entries of a symmetric matrix of size three.
_ROW, _COLUMN = np.triu_indices(3)
# A direction without curvature keeps its place: without a query w_1 is free.
_LEAST_CURVATURE = 1e-12
# Share of the first penalty below which the next is 0. Violations of well separated
# classes are as small as 1e-20, and so are their curvatures.
_LAST_PENALTY = 1e-40
# Weights and bias below which they are 0: the noise of a score at w_2 = 0 is 1.
_NOTHING = 1e-8


class Separation(NamedTuple):
    """The most samples that can be separated, and the relative error from scrambles.

    Samples are per trained weight. The rest is as of `NewtonResult`. Where a search ended early, x
    is the minimum with the penalty t |x|^2 / 2.
    """

    samples: float
    error: float
    x: np.ndarray
    residual: float
    iterations: int
    converged: bool
    penalty: float = 0.0


@dataclasses.dataclass(frozen=True)
class Expansion:
    """Value, gradient and Hessian in (w_1, w_2, b) of a mean violation."""

    value: float
    gradient: Float[np.ndarray, " 3"]
    hessian: Float[np.ndarray, "3 3"]

    @classmethod
    def of(cls, sums: Float[np.ndarray, " 10"]) -> Expansion:
        """Read one row of `expansion`, or a mean of rows."""
        hessian = np.empty((3, 3))
        hessian[_ROW, _COLUMN] = hessian[_COLUMN, _ROW] = sums[4:]
        return cls(float(sums[0]), sums[1:4], hessian)

    def system(
        self, penalty: float = 0.0
    ) -> tuple[Float[np.ndarray, " 3"], Float[np.ndarray, "3 3"]]:
        """Return gradient and Hessian for Newton's method.

        The gradient of a penalty is left to the caller.
        """
        diagonal = np.diag(self.hessian)
        curvature = np.maximum(_LEAST_CURVATURE * diagonal, penalty)
        return self.gradient, self.hessian + np.diag(np.where(diagonal > 0, curvature, 1.0))


def squared_violation(x: Float[np.ndarray, " 3"], law: FeatureLaw) -> Float[np.ndarray, "s n"]:
    """Return E[(M + T g)_+^2] over g for each node, unweighted."""
    return np.maximum(2 * _hinge_means(*_margin(x, law)).M, 0.0)


def expansion(x: Float[np.ndarray, " 3"], law: FeatureLaw) -> Float[np.ndarray, "s 10"]:
    """Return value, gradient (3) and upper Hessian (6) of the violation by scramble.

    With p and D of the squared hinge, the derivatives of its mean are, by Stein's lemma, -E[p] in
    M and T E[D] in T, and second ones E[D] (M M), -E[D g] (M T) and E[D g^2] (T T).
    """
    M, T = _margin(x, law)
    means, C = _hinge_means(M, T), law.C[..., 0]
    d, q = -law.y / C, law.covariance[0, 0] / C**2
    slope_M = (d * law.a[..., 0], d * law.a[..., 1], d)
    slope_T = (q * x[0] / T, x[1] / T, 0.0)
    by_M, by_T = np.maximum(-2 * means.p, 0.0), 2 * T * means.D

    def total(column: np.ndarray) -> np.ndarray:
        return np.sum(law.weight * column, axis=-1)

    sums = [total(np.maximum(2 * means.M, 0.0))]
    sums += [total(by_M * m + by_T * t) for m, t in zip(slope_M, slope_T, strict=True)]
    across_T = 2 * means.Dgg - by_T / T
    for i, j in zip(_ROW, _COLUMN, strict=True):
        second = 2 * means.D * slope_M[i] * slope_M[j] + across_T * slope_T[i] * slope_T[j]
        second -= 2 * means.Dg * (slope_M[i] * slope_T[j] + slope_M[j] * slope_T[i])
        if i == j < 2:
            second += by_T / T * (q if i == 0 else 1.0)
        sums.append(total(second))
    return np.stack(sums, axis=-1)


def least_violation(
    law: FeatureLaw, near: Separation | None = None, *, least_nodes: float = 0.0
) -> Separation:
    """Minimise over (w_1, w_2, b); if that fails at once, along a falling penalty (t/2) |x|^2.

    The path begins at `near`, a minimum nearby with its penalty, or else at 0; if that is none of
    this law it comes back. Nodes whose margin is kept say little of the law: where those of a class
    that violate it would be fewer, in effect, than `least_nodes`, the penalty stops falling, and
    the result is not converged.
    """
    origin = np.zeros(3)

    def newton(at: np.ndarray, t: float) -> NewtonResult:
        def system(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            there = Expansion.of(expansion(x, law).mean(axis=0))
            gradient, hessian = there.system(t)
            return gradient + t * x, hessian

        # A step too far is refused by its norm.
        with np.errstate(all="ignore"):
            result = damped_newton(system, at, least=_NOTHING)
            enough = least_nodes == 0 or _effective_nodes(result.x, law) >= least_nodes
        return result._replace(converged=result.converged and enough)

    result, penalty = newton(origin if near is None else near.x, 0.0), 0.0
    if not result.converged:
        size = float(np.trace(Expansion.of(expansion(origin, law).mean(axis=0)).hessian))
        large = 10 * size if near is None else near.penalty
        first = newton(origin if near is None else near.x, large)
        if near is not None and not first.converged:
            return near._replace(error=math.inf, converged=False, iterations=first.iterations)
        result, penalty = follow(newton, first, large, 0.0, enough=_LAST_PENALTY * size)
    sums = expansion(result.x, law)
    value, spread = _jackknife(sums) if len(sums) > 1 else (float(sums[0, 0]), 0.0)
    if near is not None:  # one of other nodes is too far from the minimum for these
        others = float((law.weight * squared_violation(near.x, law)).sum(axis=1).mean())
        spread = math.hypot(spread, others - float(sums[:, 0].mean()))
    known = result.converged and value > 0
    samples = 1 / value if value > 0 else math.inf
    return Separation(samples, spread / value if known else math.inf, *result, penalty)


def _jackknife(sums: Float[np.ndarray, "s 10"]) -> tuple[float, float]:
    """Return the least value by the jackknife over scrambles, and its error.

    The minimum of these scrambles is too small for others, to second order by half of the mean of
    g H^-1 g, where g are gradients of scrambles, over one less than their number.
    """
    least, scrambles = Expansion.of(sums.mean(axis=0)), len(sums)
    gradients = sums[:, 1:4]
    steps = np.linalg.solve(least.system()[1], gradients.T).T
    bias = np.sum(gradients * steps) / (2 * scrambles * (scrambles - 1))
    return least.value + float(bias), float(stated_error(sums[:, 0]))


def _effective_nodes(x: Float[np.ndarray, " 3"], law: FeatureLaw) -> float:
    """Return the effective number of violated nodes, for the class where it is less."""
    shares = by_label(law.weight * squared_violation(x, law), law.y).values()
    return min(share.size * effective_share(share) for share in shares)


def _margin(x: np.ndarray, law: FeatureLaw) -> tuple[np.ndarray, np.ndarray]:
    """Return mean M and width T of the violation of each node."""
    (w1, w2, b), C = x, law.C[..., 0]
    M = -law.y * (law.a @ x[:2] + b) / C
    return M, np.sqrt(1 + w2**2 + law.covariance[0, 0] * (w1 / C) ** 2)


def _hinge_means(M: np.ndarray, T: np.ndarray) -> Smoothed:
    """Return the means of the squared hinge, (M + T g)_+^2 / 2, and its derivatives."""
    return _LOSS.smoothed(1.0, 1 - M, T, 0.0)
