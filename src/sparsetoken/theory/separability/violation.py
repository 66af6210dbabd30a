"""The mean squared violation of a margin, whose least value is one over the capacity."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
from jaxtyping import Float
from scipy.special import ndtr

from sparsetoken.numerics.newton import NewtonResult, damped_newton, follow
from sparsetoken.theory.feature_law import FeatureLaw

# Row and column of the six entries of a symmetric matrix of size three.
_ROW, _COLUMN = np.triu_indices(3)
# A direction without curvature keeps its place: without a query w_1 is free.
_LEAST_CURVATURE = 1e-12
# Share of the first penalty below which the next is 0. Violations of well separated
# classes are as small as 1e-20, and so are their curvatures.
_LAST_PENALTY = 1e-40


Penalised = tuple[NewtonResult, float]
"""A minimum over (w_1, w_2, b) of a mean violation and t |(w_1, w_2, b)|^2 / 2, and t.

It has converged where t is 0.
"""


@dataclasses.dataclass(frozen=True)
class LeastViolation:
    """The least mean squared violation: one over the capacity, per weight of a dimension.

    The error is relative, and inf where the value is not the minimum. The residual is the relative
    norm of the last Newton step on the last pilot; iterations are Newton steps in all. A caution
    says where the value is that of training sets of some size, and the error how far the limit is.
    """

    value: float
    error: float
    residual: float
    iterations: int
    caution: str = ""


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

    @property
    def step(self) -> Float[np.ndarray, " 3"]:
        """Newton's step towards the minimum."""
        gradient, hessian = self.system()
        return np.linalg.solve(hessian, -gradient)

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
    M, T = _margin(x, law)
    Phi, phi = _normal(M / T)
    return np.maximum((T**2 + M**2) * Phi + M * T * phi, 0.0)


def expansion(x: Float[np.ndarray, " 3"], law: FeatureLaw) -> Float[np.ndarray, "s 10"]:
    """Return value, gradient (3) and upper Hessian (6) of the violation by scramble.

    With e = E[(M + T g)_+] the derivatives of E[(M + T g)_+^2] are, by Stein's lemma,
    2 e in M and 2 T Phi in T, and second ones 2 Phi (M M), 2 phi (M T) and
    2 (Phi - phi M/T) (T T), where Phi and phi are taken at M/T.
    """
    M, T = _margin(x, law)
    Phi, phi = _normal(M / T)
    excess = np.maximum(M * Phi + T * phi, 0.0)
    d, q = -law.y / law.C, law.gaussian_variance / law.C**2
    slope_M = (d * law.along, d * law.across, d)
    slope_T = (q * x[0] / T, x[1] / T, 0.0)
    by_M, by_T = 2 * excess, 2 * T * Phi
    columns = [np.maximum(M * excess + T**2 * Phi, 0.0)]
    columns += [by_M * m + by_T * t for m, t in zip(slope_M, slope_T, strict=True)]
    across_T = 2 * (Phi - M / T * phi) - by_T / T
    for i, j in zip(_ROW, _COLUMN, strict=True):
        second = 2 * Phi * slope_M[i] * slope_M[j] + across_T * slope_T[i] * slope_T[j]
        second += 2 * phi * (slope_M[i] * slope_T[j] + slope_M[j] * slope_T[i])
        if i == j < 2:
            second += by_T / T * (q if i == 0 else 1.0)
        columns.append(second)
    return np.stack([np.sum(law.weight * c, axis=-1) for c in columns], axis=-1)


def effective_number(weight: Float[np.ndarray, "*n"]) -> float:
    """Return how many equal weights a sum of weights >= 0 rests on: (sum p)^2 / sum p^2."""
    p = weight / weight.max()
    return float(p.sum()) ** 2 / float(np.sum(p**2))


def effective_nodes(x: Float[np.ndarray, " 3"], law: FeatureLaw) -> float:
    """Return the effective number of violated nodes, for the class where it is less."""
    share = law.weight * squared_violation(x, law)
    return min(effective_number(share[law.y == label]) for label in (1, -1))


def least_violation(
    law: FeatureLaw,
    start: Penalised | None = None,
    *,
    least_nodes: float = 0.0,
) -> Penalised:
    """Minimise over (w_1, w_2, b); if that fails at once, along a falling penalty (t/2) |x|^2.

    The path begins at `start`, a minimum nearby with its penalty, or else at 0; if that is none of
    this law it comes back. Nodes whose margin is kept say little of the law: where
    `effective_nodes` would be fewer than `least_nodes`, the penalty stops falling, and the result
    is not converged.
    """

    def newton(at: np.ndarray, t: float) -> NewtonResult:
        def system(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            there = Expansion.of(expansion(x, law).mean(axis=0))
            gradient, hessian = there.system(t)
            return gradient + t * x, hessian

        # A step too far is refused by its norm.
        with np.errstate(all="ignore"):
            result = damped_newton(system, at)
            enough = least_nodes == 0 or effective_nodes(result.x, law) >= least_nodes
        return result._replace(converged=result.converged and enough)

    origin = np.zeros(3)
    at = origin if start is None else start[0].x
    near = newton(at, 0.0)
    if near.converged:
        return near, 0.0
    size = float(np.trace(Expansion.of(expansion(origin, law).mean(axis=0)).hessian))
    large = 10 * size if start is None else start[1]
    first = newton(at, large)
    if start is not None and not first.converged:
        spent = near.iterations + first.iterations
        return start[0]._replace(iterations=spent, converged=False), large
    return follow(newton, first, large, 0.0, enough=_LAST_PENALTY * size)


def violation_of(
    law: FeatureLaw, left_out: Float[np.ndarray, "s n"] | float = 0.0
) -> LeastViolation:
    """Return the least violation over a law that is known.

    `left_out` is the share by which the law may be wrong at each node. Its mean over samples, or
    over violations, is the error.
    """
    minimum, _ = least_violation(law)
    share = law.weight * squared_violation(minimum.x, law)
    means = [float(np.sum(p * left_out) / p.sum()) for p in (law.weight, share)]
    value = Expansion.of(expansion(minimum.x, law)[0]).value
    error = max(means) if minimum.converged else math.inf
    return LeastViolation(value, error, minimum.residual, minimum.iterations)


def _margin(x: np.ndarray, law: FeatureLaw) -> tuple[np.ndarray, np.ndarray]:
    """Return mean M and width T of the violation of each node."""
    w1, w2, b = x
    M = -law.y * (w1 * law.along + w2 * law.across + b) / law.C
    return M, np.sqrt(1 + w2**2 + law.gaussian_variance * (w1 / law.C) ** 2)


def _normal(z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return ndtr(z), np.exp(-0.5 * z**2) / math.sqrt(2 * math.pi)
