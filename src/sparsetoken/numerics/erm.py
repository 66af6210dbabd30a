"""Ridge-penalised empirical risk with a free bias, solved to high accuracy."""

from __future__ import annotations

import functools
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float, Real
from scipy import linalg

from sparsetoken.base.validation import InvalidInput, real
from sparsetoken.numerics.conjugate import ConjugateDirections
from sparsetoken.numerics.newton_readout import NewtonIterate, Pointwise, newton

MAX_NEWTON = 200
MAX_OUTER = 100
MAX_AGREED = 10  # rounds that only the inner problem keeps from the tolerance
NARROWEST = 1e-8  # least width of an envelope: at 1e-16 its slopes are lost to rounding
LARGE = 200  # rows and columns from which conjugate gradients are the quicker way
SLOW = 0.2
FAR = 500.0  # exp(-FAR) is still above zero in float64
_GRID = np.concatenate([-np.geomspace(1e3, 1e-3, 30), [0.0], np.geomspace(1e-3, 1e3, 30)])


Solution = tuple[NewtonIterate, float, int]
"""A point, its residual, and the steps that led there."""


@runtime_checkable
class ConvexLoss(Protocol):
    """What the fit asks of a loss; see `sparsetoken.losses.Loss`."""

    @property
    def smooth(self) -> bool: ...  # noqa: D102

    def slope(self, y: Any, z: Any) -> Any: ...  # noqa: D102

    def curvature(self, y: Any, z: Any) -> Any: ...  # noqa: D102

    def prox(self, y: Any, omega: Any, v: Any) -> Any: ...  # noqa: D102

    def dual_slope(self, y: Any, omega: Any, v: Any) -> Any: ...  # noqa: D102


class FeatureMatrix:
    """Features of several fits, with the work that does not depend on the ridge done once.

    Raises
    ------
    InvalidInput
        If the shape is illegal or a number is not finite.
    """

    def __init__(self, features: Float[np.ndarray, "n m"]) -> None:
        self.F = np.ascontiguousarray(features, dtype=float)
        if self.F.ndim != 2 or 0 in self.F.shape:
            raise InvalidInput("features", "an (n, m) array, n, m >= 1", self.F.shape)
        if not np.isfinite(self.F).all():
            raise InvalidInput("features", "finite", "nan or infinity")

    @functools.cached_property
    def centre(self) -> Float[np.ndarray, " m"]:
        """What a smooth loss takes off the features."""
        return _centre(self.F, must=False)

    @functools.cached_property
    def moved(self) -> Float[np.ndarray, "n m"]:
        """The features less that."""
        return self.F - self.centre if self.centre.any() else self.F

    @functools.cached_property
    def rotated(self) -> tuple[np.ndarray, np.ndarray | None]:
        """These in a basis of their span, and the basis."""
        return _rotated(self.moved)


class ReadoutFit(NamedTuple):
    """A fitted readout and the certificate of its optimality.

    Attributes
    ----------
    w : array of shape (m,)
    b : float
    scores : array of shape (n,), F w + b
    iterations : int
        Newton steps in all.
    gradient_norm : float
        The scaled residual of `fit_readout`.
    converged : bool
        Whether `gradient_norm` reached the tolerance.
    reason : str
        Why not; empty if converged.
    """

    w: Float[np.ndarray, " m"]
    b: float
    scores: Float[np.ndarray, " n"]
    iterations: int
    gradient_norm: float
    converged: bool
    reason: str = ""


def fit_readout(
    features: Float[np.ndarray, "n m"] | FeatureMatrix,
    labels: Real[np.ndarray, " n"],
    loss: ConvexLoss,
    ridge: float,
    tolerance: float = 1e-8,
) -> ReadoutFit:
    r"""Minimise ``(1/n) sum_i l(y_i, F_i w + b) + (ridge/2) |w|^2`` over (w, b).

    The bias is not penalised. Smooth losses: Newton with an exact line search, its systems
    solved by conjugate gradients where features are many, and by factorisation where they are
    few or ill-conditioned. Others: the proximal method of multipliers, each step of which is
    a Newton solve for the Moreau envelope of the loss. Features are centred first, which only
    moves the bias, unless the loss is smooth and no mean is above three standard deviations;
    for a factorisation with n < m they are rotated into the span of the rows, which leaves n
    unknowns.

    Ridge 0 is least squares, the limit of a vanishing ridge: of all minimisers the one of
    least norm. A loss that is not quadratic may have no minimiser then and is refused.

    Parameters
    ----------
    features : array of shape (n, m), finite, or FeatureMatrix
        Several fits to the same features are the quicker for `FeatureMatrix`.
    labels : array of shape (n,), in {-1, +1}
        Any real numbers for a loss with `real_labels`, such as the square loss.
    loss : ConvexLoss
    ridge : float >= 0
        0 for a quadratic loss only, such as the square loss.
    tolerance : float > 0
        With F as used and ``p_i = l'(y_i, z_i)`` (for a kinked loss: the multiplier p_i,
        an exact subgradient at some zhat_i), convergence means that each of

        - ``|F^T p / n + ridge w| / (ridge (1 + |w|))``, which bounds the relative
          distance of w from the minimiser,
        - ``|mean p| / mean |p|``,
        - for a kinked loss, ``max_i |z_i - zhat_i| / (1 + |z_i|)``

        is at most `tolerance`; `gradient_norm` is the largest. At ridge 0 these are
        ``|F^T p| / (|F| |p_0|)``, with the Frobenius norm, and ``|mean p| / mean |p_0|``,
        where p_0 are the slopes at w = 0 and its best bias.

    Returns
    -------
    ReadoutFit
        With ``converged=False`` and a reason where there is no minimiser: labels of one
        class and a loss that falls for ever, such as the logistic.

    Raises
    ------
    InvalidInput
        If shapes, labels, ridge or tolerance are illegal.
    """
    matrix = features if isinstance(features, FeatureMatrix) else FeatureMatrix(features)
    F, y = matrix.F, np.asarray(labels, dtype=float)
    real_labels = getattr(loss, "real_labels", False) and np.isfinite(y).all()
    if y.shape != F.shape[:1] or not (real_labels or np.all(np.abs(y) == 1)):
        raise InvalidInput("labels", f"{len(F)} values in {{-1, +1}}", y.shape)
    ridge = real("ridge", ridge, 0.0)
    if ridge == 0:
        _require_quadratic(loss)
    tolerance = real("tolerance", tolerance, 0.0, open_low=True)
    if not real_labels and np.all(y == y[0]) and _falls_for_ever(loss, y[0]):
        return _one_class(F, y[0], loss, tolerance)
    if ridge > 0 and loss.smooth:
        centre = matrix.centre
        point, residual, steps = _smooth(matrix, y, loss, ridge, tolerance)
    elif ridge > 0:
        centre = _centre(F, must=True)
        point, residual, steps = _kinked(F - centre, y, loss, ridge, tolerance)
    else:
        centre = _centre(F, must=True)
        point, residual, steps = _least_squares(F - centre, y, loss)
    done = residual <= tolerance
    reason = "" if done else f"residual {residual:.1e} after {steps} Newton steps"
    bias = float(point.b - centre @ point.w)
    return ReadoutFit(point.w, bias, point.z, steps, residual, done, reason)


def _centre(F: np.ndarray, must: bool) -> np.ndarray:
    """Return the means of the columns; 0 where they are small, to spare a copy and keep zeros."""
    centre = F.mean(axis=0)
    small = centre**2 <= 0.9 * np.einsum("nm,nm->m", F, F) / len(F)  # three standard deviations
    return np.zeros_like(centre) if not must and small.all() else centre


def _falls_for_ever(loss: ConvexLoss, label: float) -> bool:
    return bool(label * loss.slope(label, np.asarray(FAR * label)) < 0)


def _one_class(F: np.ndarray, label: float, loss: ConvexLoss, tolerance: float) -> ReadoutFit:
    """With one class w -> 0 and b -> infinity: stop where the slope is negligible."""
    b = label
    while abs(loss.slope(label, np.asarray(b))) > tolerance and abs(b) < FAR:
        b *= 2
    n, m = F.shape
    reason = "the labels are of one class: the bias runs to infinity"
    scores = np.full(n, float(b))
    return ReadoutFit(np.zeros(m), float(b), scores, 0, float("inf"), False, reason)


def _require_quadratic(loss: ConvexLoss) -> None:
    """Refuse a loss whose curvature is not one positive number, as far as a grid can tell."""
    bend = np.concatenate([loss.curvature(y * np.ones_like(_GRID), _GRID) for y in (-1.0, 1.0)])
    if not (bend[0] > 0 and np.allclose(bend, bend[0], rtol=1e-9, atol=0.0)):
        remedy = "Other losses may have no minimum without one: take a small ridge such as 1e-6."
        raise InvalidInput("ridge", "> 0, or 0 with the square loss", 0.0, remedy)


def _least_squares(F: np.ndarray, y: np.ndarray, loss: ConvexLoss) -> Solution:
    """Return the minimiser of least norm of a quadratic loss; F is centred."""
    start = loss.slope(y, np.zeros_like(y))
    goal = -start / loss.curvature(y, np.zeros_like(y))  # where the loss is least
    b = float(goal.mean())
    w = _tall_least_squares(F, goal - b)
    if w is None:
        # Centring takes one rank away: its singular value is rounding, and must not be inverted.
        cut = max(F.shape) * np.finfo(float).eps
        w = linalg.lstsq(F, goal - b, cond=cut, check_finite=False)[0]
    z = F @ w + b
    p, first = loss.slope(y, z), loss.slope(y, np.full_like(y, b))
    scale = max(float(linalg.norm(F) * linalg.norm(first)), 1e-300)
    level = max(float(np.abs(first).mean()), 1e-300)
    residual = max(linalg.norm(F.T @ p) / scale, abs(p.mean()) / level)
    return NewtonIterate(w, b, z), float(residual), 1


def _tall_least_squares(F: np.ndarray, goal: np.ndarray) -> np.ndarray | None:
    """Return the solution by normal equations, or None where they would lose digits.

    With a condition of F below 1e3 the factor is in error by 1e6 times rounding at most, and one
    step of refinement squares that.
    """
    n, m = F.shape
    if n < 2 * m:
        return None
    gram = F.T @ F
    try:
        factor = linalg.cho_factor(gram, lower=True, check_finite=False)
    except linalg.LinAlgError:
        return None
    inverse_condition, _ = linalg.lapack.dpocon(factor[0], linalg.norm(gram, 1), uplo="L")
    if inverse_condition < 1e-6:
        return None
    w = linalg.cho_solve(factor, F.T @ goal, check_finite=False)
    return w + linalg.cho_solve(factor, F.T @ (goal - F @ w), check_finite=False)


def _smooth(
    matrix: FeatureMatrix,
    y: np.ndarray,
    loss: ConvexLoss,
    ridge: float,
    tolerance: float,
) -> Solution:
    """Newton by conjugate gradients; where the features are too ill-conditioned, by factors."""

    def solve(
        F: np.ndarray, start: NewtonIterate, conjugate: ConjugateDirections | None
    ) -> Solution:
        return newton(
            F,
            lambda z: loss.slope(y, z),
            lambda z: loss.curvature(y, z),
            ridge,
            start,
            tolerance,
            MAX_NEWTON,
            conjugate,
        )

    F = matrix.moved
    point, done = NewtonIterate.origin(F), 0
    if min(F.shape) >= LARGE and loss.curvature(y, np.zeros_like(y)).all():
        point, residual, done = solve(F, point, ConjugateDirections(F, ridge))
        if residual <= tolerance:
            return point, residual, done
    G, basis = matrix.rotated
    start = point._replace(w=point.w if basis is None else basis.T @ point.w)
    point, residual, steps = solve(G, start, None)
    return _unrotated(point, basis), residual, done + steps


def _rotated(F: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
    """Return wide features in an orthonormal basis of their span, and the basis.

    The penalty does not see the rotation. A few spare columns are not worth it.
    """
    n, m = F.shape
    if m <= n + 10:
        return F, None
    Q, R = linalg.qr(F.T, mode="economic", check_finite=False)
    return np.ascontiguousarray(R.T), Q


def _unrotated(point: NewtonIterate, basis: np.ndarray | None) -> NewtonIterate:
    return point if basis is None else point._replace(w=basis @ point.w)


def _kinked(
    F: np.ndarray, y: np.ndarray, loss: ConvexLoss, ridge: float, tolerance: float
) -> Solution:
    """Proximal method of multipliers.

    Each round minimises the risk of the envelope ``M_v(y, z + v p)`` around the current
    multipliers p, and then takes its slopes as the new p. The slopes are subgradients
    at ``zhat = prox(z + v p) = z + v (p - p_new)``. A smaller v makes rounds fewer and
    harder, so v falls where a round gains little. It rises again where z agrees with zhat but
    the inner problem is not solved: its slopes are rounded to about 1e-16 |z| / v.
    """
    F, basis = _rotated(F)
    point, p, total, last, agreed = NewtonIterate.origin(F), np.zeros(len(y)), 0, np.inf, 0
    v = _first_width(F, ridge)
    for _ in range(MAX_OUTER):
        slope, bend = _envelope_slopes(loss, y, p, v)
        point, inner, steps = newton(F, slope, bend, ridge, point, tolerance, MAX_NEWTON)
        total += steps
        new = slope(point.z)
        gap = np.max(v * np.abs(p - new) / (1 + np.abs(point.z)))
        agreed += gap <= tolerance
        if max(gap, inner) <= tolerance or agreed > MAX_AGREED:
            break
        if gap <= tolerance:
            v *= 4
        elif gap >= SLOW * last:
            v = max(v / 4, NARROWEST)
        p, last = new, gap
    return _unrotated(point, basis), float(max(gap, inner)), total


def _envelope_slopes(
    loss: ConvexLoss, y: np.ndarray, p: np.ndarray, v: float
) -> tuple[Pointwise, Pointwise]:
    """Return the slope and the curvature in z of the envelope M_v(y, z + v p)."""

    def slope(z: np.ndarray) -> np.ndarray:
        omega = z + v * p
        return (omega - loss.prox(y, omega, v)) / v

    return slope, lambda z: loss.dual_slope(y, z + v * p, v)


def _first_width(F: np.ndarray, ridge: float) -> float:
    """Return the v at which the mean eigenvalue of F^T F / (n v) is 100 times the ridge.

    Much smaller: the inner problems are badly conditioned. Much larger: many rounds.
    """
    return max(0.01 * float(np.mean(F**2)) / ridge, NARROWEST)
