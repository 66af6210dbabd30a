"""The readout that stage 4 learns, its test error and its training loss."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import scipy

from sparsetoken.losses import Loss
from sparsetoken.numerics.newton import NewtonResult, damped_newton, follow, newton_length
from sparsetoken.results import Outcome, Overlaps
from sparsetoken.theory.feature_law import FeatureLaw
from sparsetoken.theory.potential import Potential
from sparsetoken.theory.score_law import ScoreLaw
from sparsetoken.validation import InvalidInput

# Relative lengths of the last Newton step, of a solution and of a place on the way to one.
# The step is taken, so that the error is of the order of its square.
SOLUTION_STEP, ROUGH_STEP = 1e-6, 1e-2
_B, _NU, _R = 2, 3, 4
_BIAS_ACCURACY = 1e-12
_FIRST_SMOOTHING, _LAST_SMOOTHING = 4.0, 1e-7
_LAST_RIDGE = 1e-9  # below this share of the first, the next is 0
_MANY_NODES = 2**17
_LARGE_RIDGES = (1.0, 10.0)  # relative to the features; the second is safer and farther away


@dataclasses.dataclass(frozen=True)
class SaddlePoint:
    """A saddle point x = (w_1, w_2, b, nu, r) and how it was reached.

    At infinite alpha it is the minimum over (w_1, w_2, b), with nu = 0 and r = 1.

    `smoothing` is the mu of the potential: 0, or at most 1e-6 where a loss with kinks
    has its solution on a kink (the hinge loss that gives up and always answers with
    the larger class); the training loss then moves by less than mu.
    """

    x: np.ndarray
    smoothing: float
    residual: float
    iterations: int
    converged: bool

    @property
    def overlaps(self) -> Overlaps:
        """The readout as overlaps."""
        w1, w2, b, nu, _ = (float(value) for value in self.x)
        return Overlaps(query=w1, orthogonal=w2, noise=nu, bias=b)


def solve_readout(
    potential: Potential,
    ridge: float,
    start: SaddlePoint | None = None,
    tolerance: float = SOLUTION_STEP,
) -> SaddlePoint:
    """Solve for the readout of stage 4 in the limit n1, d -> infinity.

    Equation: learned-readout. Without a start the solution is followed from a ridge so
    large that it is explicit, and then, for a loss with kinks, along its smoothing.

    Parameters
    ----------
    potential : Potential
    ridge : float
        lambda >= 0; at 0 the loss must have a finite minimum.
    start : SaddlePoint, optional
        A solution nearby, for the same smoothing.
    tolerance : float
        Relative length of the last Newton step; the error is of the order of its square.
    """

    def newton(x: np.ndarray, ridge: float, mu: float, tolerance: float) -> NewtonResult:
        free = x[: potential.size]  # at infinite alpha nu = 0 and r = 1 are fixed
        result = damped_newton(
            lambda at: potential.system(at, ridge, mu),
            free,
            positive=(_NU, _R)[: potential.size - 3],
            cautious=(_B,),
            tolerance=tolerance,
        )
        return result._replace(x=np.append(result.x, x[potential.size :]))

    spent = 0 if start is None else start.iterations
    if start is not None and start.converged:
        near = newton(start.x, ridge, start.smoothing, tolerance)
        spent += near.iterations
        # A law so rough that a start from fewer nodes fails is not worth a long way.
        if near.converged or potential.law.C.size > _MANY_NODES:
            return SaddlePoint(near.x, start.smoothing, near.residual, spent, near.converged)
    mu = 0.0 if potential.loss.smooth else _FIRST_SMOOTHING
    for relative in _LARGE_RIDGES:
        x, large = _explicit_start(potential, ridge, mu, relative)
        first = newton(x, large, mu, tolerance if large == ridge else ROUGH_STEP)
        if first.converged:
            break
    if not first.converged:
        return SaddlePoint(first.x, mu, first.residual, spent + first.iterations, False)
    enough = _LAST_RIDGE * large if ridge == 0 else None
    down, _ = follow(
        lambda at, t: newton(at, t, mu, tolerance if t == ridge else ROUGH_STEP),
        first,
        large,
        ridge,
        enough=enough,
    )
    iterations = spent + down.iterations
    if mu == 0 or not down.converged:
        return SaddlePoint(down.x, mu, down.residual, iterations, down.converged)
    sharp, mu = follow(
        lambda at, t: newton(at, ridge, t, tolerance), down, mu, 0.0, enough=_LAST_SMOOTHING
    )
    iterations = spent + sharp.iterations
    # A solution on a kink is reached only as mu -> 0: the last mu > 0 serves.
    near_enough = sharp.converged or mu <= 10 * _LAST_SMOOTHING
    return SaddlePoint(sharp.x, mu, sharp.residual, iterations, near_enough)


def _explicit_start(
    potential: Potential, ridge: float, mu: float, relative: float
) -> tuple[np.ndarray, float]:
    """Return a ridge so large that w is explicit to first order, and the solution there.

    It is at least `ridge`, and `relative` times the mean square of the features.
    """
    law, loss, sqrt_alpha = potential.law, potential.loss, potential.sqrt_alpha
    mean = law.weight / len(law.C)
    size = float(np.sum(mean * (law.along**2 + law.across**2 + law.C**2))) + law.shared
    large = max(ridge, relative * size)
    bias = best_bias(loss, float(np.sum(mean * (law.y > 0))), mu)
    slope = loss.dual(law.y, bias + 0 * law.y, mu + 0 * law.y)
    w1, w2 = (-np.sum(mean * slope * f) / large for f in (law.along, law.across))
    if math.isinf(sqrt_alpha):
        return np.array([w1, w2, bias, 0.0, 1.0]), large
    r = math.sqrt(np.sum(mean * law.C**2 * slope**2))
    return np.array([w1, w2, bias, r / (sqrt_alpha * large), r]), large


def best_bias(loss: Loss, pi: float, mu: float = 0.0) -> float:
    """Return the b that minimises E[M_mu(b)], the loss when there are no features."""
    y, chance = np.array([1.0, -1.0]), np.array([pi, 1 - pi])

    def slope(b: float) -> float:
        return float(np.sum(chance * loss.dual(y, np.full(2, b), np.full(2, mu))))

    if slope(0.0) == 0:  # balanced classes
        return 0.0
    reach = 1.0
    while not slope(-reach) <= 0 <= slope(reach):
        if reach > 1e6:
            legal = "one whose mean over the labels has a minimum in the bias"
            raise InvalidInput("loss", legal, loss.name)
        reach *= 2
    return float(scipy.optimize.brentq(slope, -reach, reach, xtol=_BIAS_ACCURACY))


def newton_distance(potential: Potential, ridge: float, saddle: SaddlePoint) -> float:
    """Return the relative length of the Newton step from a point to the saddle point."""
    x = saddle.x[: potential.size]
    gradient, hessian = potential.system(x, ridge, saddle.smoothing)
    return newton_length(x, gradient, hessian, (_NU, _R)[: potential.size - 3])


def outcome(
    potential: Potential,
    saddle: SaddlePoint,
    test_law: FeatureLaw,
    tested: ScoreLaw | None = None,
) -> Outcome:
    """Return test error, training loss, training error and AUC of a solution.

    Equation: learned-error.

    Equation: shifted-test-law. The readout stays; features of new data have the law
    `test_law`, which may differ from that of the training; `tested` are its scores, if known.
    """
    law, w, r, mu = potential.law, saddle.overlaps, saddle.x[_R], saddle.smoothing
    tested = tested or ScoreLaw.of(test_law, w)
    scores = tested if test_law is law else ScoreLaw.of(law, w)
    sums = potential.node_sums(saddle.x, mu)
    # l(y, z*) is the envelope less v p^2/2, whose mean is r times the r-gradient.
    loss_on_training = float(np.mean(sums.value - r * sums.gradient[:, _R]))
    # y z* < 0 where omega is beyond the point that the prox maps to 0.
    v = law.C**2 * w.noise / (r * potential.sqrt_alpha) + mu
    turn = v * potential.loss.slope(law.y, 0 * law.y)
    training = dataclasses.replace(scores, mean=scores.mean - turn)
    return Outcome(
        test_error=tested.test_error(),
        training_loss=loss_on_training,
        training_error=training.test_error(),
        auc=tested.auc(),
        overlaps=w,
    )


def outcome_without_features(loss: Loss, pi: float, test_pi: float) -> Outcome:
    """Return the outcome where all features are 0 and only the bias learns.

    Every score is the bias; one of exactly 0 is right half of the time.
    """
    y, chance, tested = np.array([1.0, -1.0]), np.array([pi, 1 - pi]), [test_pi, 1 - test_pi]
    b = best_bias(loss, pi)
    if abs(b) <= 2 * _BIAS_ACCURACY:
        b = 0.0
    wrong = 0.5 * (1 - np.sign(y * b))
    return Outcome(
        test_error=float(tested @ wrong),
        training_loss=float(chance @ loss.value(y, np.full(2, b))),
        training_error=float(chance @ wrong),
        auc=0.5,
        overlaps=Overlaps(0.0, 0.0, 0.0, b),
    )


def spread_of_test_error(
    potential: Potential,
    ridge: float,
    saddle: SaddlePoint,
    test_law: FeatureLaw,
    tested: ScoreLaw | None = None,
) -> float:
    """Return the standard error of the test error, from independent scrambles.

    Each scramble has its own solution; to first order it is one Newton step of the
    common system away, and so is its test error. A test law of its own has scrambles of
    its own, drawn from the same numbers.
    """
    if potential.law.exact and test_law.exact:
        return 0.0
    x, mu = saddle.x, saddle.smoothing
    _, hessian = potential.system(x, ridge, mu)
    gradients = potential.node_sums(x, mu).gradient
    apart = (gradients - gradients.mean(axis=0))[:, : potential.size]
    steps = -np.linalg.solve(hessian, apart.T).T
    tested = tested or ScoreLaw.of(test_law, saddle.overlaps)
    slopes = _test_error_slopes(test_law, saddle.overlaps, tested)
    moved = min(potential.size, len(slopes))
    estimates = tested.errors_by_scramble + steps[:, :moved] @ slopes[:moved]
    return float(np.std(estimates, ddof=1) / math.sqrt(len(estimates)))


def _test_error_slopes(law: FeatureLaw, w: Overlaps, scores: ScoreLaw) -> np.ndarray:
    """Return the mean slopes of the test error in (w_1, w_2, b, nu)."""
    width = np.maximum(scores.width, 1e-100)
    ratio = scores.mean / width
    density = law.weight * np.exp(-0.5 * ratio**2) / (math.sqrt(2 * math.pi) * width)
    toward = -law.y * density  # change of P(error) with the mean
    wider = law.y * density * ratio / width  # with half the variance
    wider_C2 = float(np.vdot(wider, law.C**2))
    slopes = [
        np.vdot(toward, law.along) + law.shared * w.query * wider.sum(),
        np.vdot(toward, law.across) + wider_C2 * w.orthogonal,
        toward.sum(),
        wider_C2 * w.noise,
    ]
    return np.array(slopes) / len(law.C)
