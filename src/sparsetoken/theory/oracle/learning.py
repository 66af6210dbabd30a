"""Bayes-optimal learning from finite data, and its prior on the signal."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import scipy
from jaxtyping import Float
from scipy.special import expit

from sparsetoken.base.progress import progress_of
from sparsetoken.base.validation import LARGEST_LOAD, integer, real
from sparsetoken.model.problem import Isotropic, SparseTokenProblem, require_problem
from sparsetoken.model.values import require_numbers
from sparsetoken.numerics.errors import stated_error
from sparsetoken.results import CONVERGED, Record, Status, StatusCode
from sparsetoken.results.record import Numbers, quantity, record
from sparsetoken.theory.oracle.bayes import (
    MORE_POINTS,
    MOST_POINTS,
    SCRAMBLES,
    BayesError,
    TokenNodes,
    accuracy_status,
    bayes_error,
    error_of_whitened,
    noise_polynomials,
    scrambles,
    symmetric,
)
from sparsetoken.theory.oracle.token_sums import check_length
from sparsetoken.theory.spectrum import kept_of, strengths_of

_APART = 0.1  # squared cosines of scrambles that take different solutions for the likeliest
_SCAN = 64  # values of gamma among which changes of sign are looked for
_ROUNDING = 1e-8  # relative: eigenvalues of an ill-conditioned S_w that are equal
_REACH = 100.0  # in logits: at its ends all variance lies on the least or largest eigenvalue


@record
class LearningError(Record):
    """The Bayes-optimal error of learning from finite data."""

    test_error: Numbers = quantity(
        "Of the Bayes-optimal learner, which knows the distribution of the data but not xi."
    )
    cosine: Numbers = quantity(
        "Between S_w^(-1/2) xi and its posterior mean; among isotropic tokens between xi and its "
        "posterior mean."
    )
    oracle_error: Numbers = quantity("The Bayes error with xi known, the limit of infinite data.")
    reachable_cosine: Numbers = quantity(
        "The cosine attained by approximate message passing. It is below `cosine` only where the "
        "equation has several solutions."
    )
    numerical_error: Numbers = quantity("Of `test_error`.")
    status: Status = quantity("How the computation ended.")


@np.errstate(under="ignore")
def learning_error(
    problem: SparseTokenProblem, alpha: float, *, points: int = 1024
) -> LearningError:
    """Return the Bayes-optimal error of learning from alpha d samples, as n, d -> infinity.

    Positives are a spiked matrix with R ones in each block of L rows; negatives carry no
    information on xi. With Q the squared cosine of xi and its posterior mean, ``Q = gamma / (1 +
    gamma)``, ``gamma = theta^2 alpha pi q_v(theta^2 Q)``, where q_v is `position_overlap`. Of
    several solutions the one of the largest free energy, whose derivative in Q is ``(gamma(Q) -
    Q/(1 - Q)) / 2``, is that of the posterior. A new sample is then classified as with xi known, at
    the strength ``theta sqrt(Q)``.

    Equation: learning-floor.

    Tokens of a covariance S_w are isotropic once whitened, with the strength
    ``D = theta |S_w^(-1/2) xi|``. The floor is then that of learners that know S_w and for which
    every whitened direction is equally likely beforehand: xi proportional to S_w^(1/2) times a
    uniform direction. It is also the least worst case over all xi of one whitened norm. Who
    expects the signal where the covariance is large, as a plain ridge does, may do better on
    such a signal.

    Equation: covariance-learning-floor. Where the tokens of a sample share an effect, mean tokens
    have the strength ``m = theta |(S_w + L S_b)^(-1/2) xi|``, and all whitened directions of the
    same D and m are equally likely beforehand: the law of `signal_prior`, with variances tau_j
    and the part w_j of the precision of mean tokens that the effect leaves. Differences of the
    tokens of a positive speak of positions and of xi; its mean token, whose positions do not
    matter, of xi alone:

    ``gamma_j = D^2 alpha pi (q_v(D^2 Q) - (1 - w_j) R^2/L)``,
    ``Q = mean_j tau_j k_j``, ``P = mean_j w_j tau_j k_j``,
    ``k_j = gamma_j tau_j / (1 + gamma_j tau_j)``.

    A new sample is classified with the strengths ``D sqrt(Q)`` and ``D sqrt(P)`` in differences
    and mean. With many samples that is the Bayes error of this xi. A learner to which D and m are
    known may know much of a signal that lies along few directions of the least or the
    largest effect: the floor is then near the Bayes error.

    Parameters
    ----------
    problem : SparseTokenProblem
        Positions are uniform.
    alpha : float
        n / d in (0, 1e9].
    points : int
        Nodes for each scramble, a power of two, at most 2^20.

    Returns
    -------
    LearningError
        Use it only if ``status.converged``.

    Raises
    ------
    InvalidInput
        If a value is outside its range, L above 2^20, R < L above 512, a field of the problem
        holds an array, or S_w has no inverse.

    See Also
    --------
    bayes_error : The least test error with a known signal.
    sparsetoken.simulation.pass_messages : An algorithm that attains it.

    Examples
    --------
    >>> import dataclasses
    >>> import numpy as np
    >>> import sparsetoken as st
    >>> problem = st.SparseTokenProblem(length=10, informative=1, strength=5.0)
    >>> print(f"{st.oracle.learning_error(problem, alpha=0.5).test_error:.3f}")
    0.029

    An effect of samples hides what mean tokens say:

    >>> signal = np.ones(4) / 2
    >>> tokens = st.TokenCovariance(np.ones(4), [0.0, 0.5, 1.0, 2.0], signal)
    >>> problem = dataclasses.replace(problem, tokens=tokens)
    >>> print(f"{st.oracle.learning_error(problem, alpha=0.5).test_error:.3f}")
    0.036
    """
    require_problem(problem)
    require_numbers(problem)
    check_length(problem.length)
    alpha = real("alpha (n/d)", alpha, 0.0, LARGEST_LOAD, open_low=True)
    integer("points", points, 1, MOST_POINTS)
    oracle = bayes_error(problem)
    strength, _ = strengths_of(problem)
    kept, share = kept_of(problem)
    problem = dataclasses.replace(problem, strength=strength, tokens=Isotropic())
    if problem.strength == 0:
        return LearningError(oracle.test_error, 0.0, oracle.test_error, 0.0, 0.0, oracle.status)
    prior = signal_prior(kept, share)
    with progress_of("overlaps of positions", SCRAMBLES) as done:
        solved = [
            _solution(problem, alpha, prior, nodes, done) for nodes, _ in scrambles(problem, points)
        ]
    best, reached, shares = (np.array(column) for column in zip(*solved, strict=True))
    Q, error = float(best.mean()), float(stated_error(best))
    share = float(shares.mean())
    floor = _error_at(problem, Q, share)
    moved = _error_at(problem, max(Q - error, 0.0), share).test_error
    numerical = math.hypot(floor.numerical_error, moved - floor.test_error)
    status = accuracy_status(floor.test_error, numerical)
    if max(np.ptp(best), np.ptp(reached)) > _APART:
        status = Status(StatusCode.TOLERANCE_NOT_REACHED, MORE_POINTS)
    return LearningError(
        test_error=floor.test_error,
        cosine=math.sqrt(Q),
        oracle_error=oracle.test_error,
        reachable_cosine=math.sqrt(reached.mean()),
        numerical_error=numerical,
        status=next((one for one in (status, oracle.status) if not one.converged), CONVERGED),
    )


def _error_at(problem: SparseTokenProblem, Q: float, share: float) -> BayesError:
    """Return the error at the strengths that the posterior mean sees in differences and mean."""
    strength = problem.strength * math.sqrt(Q)
    weakened = dataclasses.replace(problem, strength=strength)
    return error_of_whitened(weakened, strength * math.sqrt(share))


def position_overlap(problem: SparseTokenProblem, snr: float, nodes: TokenNodes) -> float:
    """Return q_v(S) = E[sum_l v_l <v_l>], the overlap of the positions and their posterior.

    The posterior over sets of R positions sees scores S v_l + sqrt(S) g_l, g_l ~ N(0, 1). Its
    chance of an informative position is 1 - e_R(others)/e_R(all), with e_R the elementary
    symmetric polynomial of the exponentials of the scores; for R = 1 that is softmax.

    Equation: position-overlap.
    """
    R = problem.informative
    root = math.sqrt(snr)
    signal = root * (nodes.informative + root)
    others = symmetric(signal[:, 1:], noise_polynomials(nodes, root))
    everything = symmetric(signal[:, :1], others)
    return R * float(np.mean(-np.expm1(others[R] - everything[R])))


class SignalPrior(NamedTuple):
    """The law of the whitened signal, a unit vector u with u_j ~ N(0, tau_j / d) in high dimension.

    Coordinates are eigenvectors of W = S_w^(1/2) (S_w + L S_b)^-1 S_w^(1/2). The eigenvalues w_j of
    W in (0, 1] are `kept`: the part that an effect of samples leaves of the precision of mean
    tokens, a single 1 without one. The variances are tau_j >= 0, of mean 1.
    """

    kept: Float[np.ndarray, " m"]
    variance: Float[np.ndarray, " m"]

    def gain(self, gamma: float, chance: float) -> Float[np.ndarray, " m"]:
        """Return variances times precisions along each direction.

        The precision gamma comes from positives, and the effect takes of its part `chance`, that of
        mean tokens. The posterior mean has d times the squared norm ``tau gain / (1 + gain)``.
        """
        return np.maximum(gamma - chance * (1 - self.kept), 0.0) * self.variance


def signal_prior(kept: Float[np.ndarray, " m"], share: float) -> SignalPrior:
    """Return the prior of all u with ``|u| = 1`` and ``u^T W u = share`` alike.

    In high dimension the uniform law on these two surfaces is that of independent normal u_j with
    ``1 / tau_j`` linear in w_j, which are `kept`: of all laws with both norms it has the largest
    entropy. Where the share is the mean of w, all directions are alike. A share beyond the least
    or the largest w_j by rounding is taken as there.

    Equation: signal-prior.
    """
    least, most = float(kept.min()), float(kept.max())
    if most - least <= _ROUNDING * most:
        return SignalPrior(kept, np.ones_like(kept))
    place = (kept - least) / (most - least)
    target = (share - least) / (most - least)

    def weights(tilt: float) -> np.ndarray:
        w = 1 / (expit(-tilt) * (1 - place) + expit(tilt) * place)
        return np.asarray(w / w.mean())

    def excess(tilt: float) -> float:
        return float(np.mean(weights(tilt) * place)) - target

    tilt = _REACH if excess(_REACH) >= 0 else -_REACH
    if excess(_REACH) < 0 < excess(-_REACH):
        tilt = scipy.optimize.brentq(excess, -_REACH, _REACH, xtol=1e-13)
    return SignalPrior(kept, weights(tilt))


def _solution(
    problem: SparseTokenProblem,
    alpha: float,
    prior: SignalPrior,
    nodes: TokenNodes,
    done: Callable[[float], None],
) -> tuple[float, float, float]:
    """Return Q of the posterior, Q where message passing ends, and P/Q of the posterior."""
    pi, theta, R, L = problem.letters
    scale = theta**2 * alpha * pi
    low, high = scale * R * R / L, scale * R

    def known(gamma: float) -> np.ndarray:
        gain = prior.gain(gamma, low)
        return prior.variance * gain / (1 + gain)

    def excess(gamma: float) -> float:
        snr = theta**2 * float(np.mean(known(gamma)))
        return scale * position_overlap(problem, snr, nodes) - gamma

    def energy_slope(gamma: float) -> float:
        dQ = float(np.mean((prior.variance / (1 + prior.gain(gamma, low))) ** 2))
        return 0.5 * excess(gamma) * dQ

    def solution(best: float, least: float) -> tuple[float, float, float]:
        Q, P = float(np.mean(known(best))), float(np.mean(prior.kept * known(best)))
        return Q, float(np.mean(known(least))), P / Q if Q > 0 else 1.0

    if R == L or low == 0:  # all positions are known, or theta^2 is 0 to rounding
        return solution(high, high)
    grid = np.geomspace(low, high, _SCAN)
    values = np.empty(_SCAN)
    for i, gamma in enumerate(grid):
        values[i] = excess(gamma)
        done(1 / _SCAN)
    values[-1] = min(values[-1], 0.0)  # all positions known is the most
    down = np.flatnonzero((values[:-1] > 0) & (values[1:] <= 0))
    if len(down) == 0:  # so little is known that q_v is that of chance, to rounding
        return solution(low, low)
    roots = [scipy.optimize.brentq(excess, grid[i], grid[i + 1], rtol=1e-10) for i in down]
    if values[0] <= 0:  # positions of which only chance is known are a solution, to rounding
        roots = [low, *roots]
    best = 0
    for i in range(1, len(roots)):
        between = np.linspace(roots[best], roots[i], _SCAN)
        if np.trapezoid([energy_slope(gamma) for gamma in between], between) > 0:
            best = i
    return solution(roots[best], roots[0])
