"""Bayes-optimal learning from finite data."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable

import numpy as np
import scipy

from sparsetoken.base.progress import progress_of
from sparsetoken.base.validation import LARGEST_LOAD, integer, real
from sparsetoken.model.problem import SparseTokenProblem, require_problem
from sparsetoken.model.values import require_numbers
from sparsetoken.numerics.errors import stated_error
from sparsetoken.results import CONVERGED, Record, Status, StatusCode
from sparsetoken.results.record import Numbers, quantity, record
from sparsetoken.theory.oracle.bayes import (
    MORE_POINTS,
    MOST_POINTS,
    SCRAMBLES,
    TokenNodes,
    accuracy_status,
    bayes_error,
    noise_polynomials,
    scrambles,
    symmetric,
)
from sparsetoken.theory.oracle.token_sums import check_length
from sparsetoken.theory.spectrum import whitened

_APART = 0.1  # squared cosines of scrambles that take different solutions for the likeliest
_SCAN = 64  # values of gamma among which changes of sign are looked for


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

    Parameters
    ----------
    problem : SparseTokenProblem
        Positions are uniform, and the tokens of a sample share no effect.
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
        holds an array, S_w has no inverse, or the tokens of a sample share an effect.

    See Also
    --------
    bayes_error : The least test error with a known signal.
    sparsetoken.simulation.pass_messages : An algorithm that attains it.

    Examples
    --------
    >>> import sparsetoken as st
    >>> problem = st.SparseTokenProblem(length=10, informative=1, strength=5.0)
    >>> print(f"{st.oracle.learning_error(problem, alpha=0.5).test_error:.3f}")
    0.029
    """
    require_problem(problem)
    require_numbers(problem)
    check_length(problem.length)
    alpha = real("alpha (n/d)", alpha, 0.0, LARGEST_LOAD, open_low=True)
    integer("points", points, 1, MOST_POINTS)
    oracle = bayes_error(problem)
    problem = whitened(problem)
    if problem.strength == 0:
        return LearningError(oracle.test_error, 0.0, oracle.test_error, 0.0, 0.0, oracle.status)
    with progress_of("overlaps of positions", SCRAMBLES) as done:
        solved = [_solution(problem, alpha, nodes, done) for nodes in scrambles(problem, points)]
    best, reached = (np.array(column) for column in zip(*solved, strict=True))
    Q, error = float(best.mean()), float(stated_error(best))

    def seen(Q: float) -> SparseTokenProblem:
        return dataclasses.replace(problem, strength=problem.strength * math.sqrt(Q))

    floor, moved = bayes_error(seen(Q)), bayes_error(seen(max(Q - error, 0.0)))
    numerical = math.hypot(floor.numerical_error, moved.test_error - floor.test_error)
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


def _solution(
    problem: SparseTokenProblem, alpha: float, nodes: TokenNodes, done: Callable[[float], None]
) -> tuple[float, float]:
    """Return Q of the posterior, and Q where message passing ends."""
    pi, theta, R, L = problem.letters
    scale = theta**2 * alpha * pi
    low, high = scale * R * R / L, scale * R

    def known(gamma: float) -> float:
        return gamma / (1 + gamma)

    def excess(gamma: float) -> float:
        return scale * position_overlap(problem, theta**2 * known(gamma), nodes) - gamma

    def energy_slope(gamma: float) -> float:
        return 0.5 * excess(gamma) / (1 + gamma) ** 2

    if R == L or low == 0:  # all positions are known, or theta^2 is 0 to rounding
        return known(high), known(high)
    grid = np.geomspace(low, high, _SCAN)
    values = np.empty(_SCAN)
    for i, gamma in enumerate(grid):
        values[i] = excess(gamma)
        done(1 / _SCAN)
    values[-1] = min(values[-1], 0.0)  # all positions known is the most
    down = np.flatnonzero((values[:-1] > 0) & (values[1:] <= 0))
    if len(down) == 0:  # so little is known that q_v is that of chance, to rounding
        return known(low), known(low)
    roots = [scipy.optimize.brentq(excess, grid[i], grid[i + 1], rtol=1e-10) for i in down]
    if values[0] <= 0:  # positions of which only chance is known are a solution, to rounding
        roots = [low, *roots]
    best = 0
    for i in range(1, len(roots)):
        between = np.linspace(roots[best], roots[i], _SCAN)
        if np.trapezoid([energy_slope(gamma) for gamma in between], between) > 0:
            best = i
    return known(roots[best]), known(roots[0])
