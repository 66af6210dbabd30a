"""Bayes-optimal learning from finite data."""

from __future__ import annotations

import dataclasses
import functools
import math
import os
from collections.abc import Callable, Iterator, Sequence

import numpy as np
import scipy

from sparsetoken.base.parameters import LOADS, parameter, value
from sparsetoken.base.progress import progress_of
from sparsetoken.base.validation import Reals, integer
from sparsetoken.model.base import Problem, check_problem
from sparsetoken.model.problem import SparseTokenProblem
from sparsetoken.model.tokens import isotropic_only
from sparsetoken.model.values import broadcast
from sparsetoken.numerics.errors import stated_error
from sparsetoken.results import CONVERGED, Record, Status, StatusCode
from sparsetoken.results.record import Numbers, quantity, record, stacked
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
from sparsetoken.theory.oracle.task_learning import check_metric, solve
from sparsetoken.theory.oracle.token_sums import check_length
from sparsetoken.theory.spectrum import whitened
from sparsetoken.work import map_points

_APART = 0.1  # squared cosines of scrambles that take different solutions for the likeliest
_MOST_TASK_POINTS = 2**14  # for a task: all pairs of bags and hypotheses are held in part
_FEWEST_TASK_POINTS = 64  # a quarter of them must still tell something
_SEED = 20251127
_SCAN = 64  # values of gamma among which changes of sign are looked for


@record
class LearningError(Record):
    """The Bayes-optimal error of learning from finite data.

    Of a task with several directions each cosine is an array (P,), in tables cosine_DIRECTION.
    """

    test_error: Numbers = quantity(
        "Of the Bayes-optimal learner, which knows the distribution of the data but not xi."
    )
    cosine: Numbers = quantity(
        "Between S_w^(-1/2) xi and its posterior mean; among isotropic tokens between xi and its "
        "posterior mean, for each direction of a task."
    )
    oracle_error: Numbers = quantity("The Bayes error with xi known, the limit of infinite data.")
    reachable_cosine: Numbers = quantity(
        "The cosine attained by approximate message passing. It is below `cosine` only where the "
        "equation has several solutions."
    )
    numerical_error: Numbers = quantity("Of `test_error`.")
    status: Status = quantity("How the computation ended.", objects=True)
    directions: tuple[str, ...] = quantity(
        "Names of the directions of a task; empty for a single signal.", column=None, default=()
    )

    def columns(self) -> dict[str, np.ndarray]:
        """Return the quantities by their names in tables, the cosines by direction."""
        columns: dict[str, np.ndarray] = {}
        for name, numbers in super().columns().items():
            if len(self.directions) > 1 and name in ("cosine", "reachable_cosine"):
                columns |= {f"{name}_{d}": numbers[..., p] for p, d in enumerate(self.directions)}
            else:
                columns[name] = numbers
        return columns


@value
class _Samples:
    """What the learner sees."""

    alpha: Reals = parameter("samples per dimension", r"\alpha = n/d", range=LOADS)


def learning_error(
    problem: Problem,
    alpha: Reals,
    *,
    points: int = 1024,
    workers: int = 1,
    keep: str | os.PathLike[str] | None = None,
    progress: bool = True,
) -> LearningError:
    """Return the Bayes-optimal error of learning from alpha d samples, as n, d -> infinity.

    Positives are a spiked matrix with R ones in each block of L rows; negatives carry no
    information on xi. With Q the squared cosine of xi and its posterior mean, ``Q = gamma / (1 +
    gamma)``, ``gamma = theta^2 alpha pi q_v(theta^2 Q)``, where q_v is `position_overlap`. Of
    several solutions the one of the largest free energy, whose derivative in Q is ``(gamma(Q) -
    Q/(1 - Q)) / 2``, is that of the posterior. A new sample is then classified as with xi known, at
    the strength ``theta sqrt(Q)``.

    Equation: bayes-learner.

    Tokens of a covariance S_w are isotropic once whitened, with the strength
    ``D = theta |S_w^(-1/2) xi|``. The error is then that of learners that know S_w and for which
    every whitened direction is equally likely beforehand: xi proportional to S_w^(1/2) times a
    uniform direction. It is also the least worst case over all xi of one whitened norm. Who
    expects the signal where the covariance is large, as a plain ridge does, may do better on
    such a signal.

    Equation task-bayes-learner is for a `ConceptProblem` or a `Task`. Its learner knows the task
    but not the directions, the latent variables or the order of the tokens, as networks that treat
    tokens alike. It sees their scales, which |X_l|^2 / d shows. For targets that are numbers the
    error is the mean squared one, and the task needs a `likelihood`. The reachable cosines are
    those of iterations that start with all directions known equally little; where a symmetry, such
    as an exchange of two directions, must be broken to learn more, they stay on the symmetric
    solution, as message passing does for a number of steps that does not grow with d.

    Parameters
    ----------
    problem : SparseTokenProblem, ConceptProblem or Task
        Positions are uniform, and the tokens of a sample share no effect. The tokens of a
        `ConceptProblem` or a `Task` are isotropic.
    alpha : float or array
        n / d in (0, 1e9].
    points : int
        Nodes for each scramble, a power of two, at most 2^20. For a `ConceptProblem` or a `Task`
        they are the hypotheses on a bag for each scramble, from 64 to 2^14, and the time grows with
        their square.
    workers : int >= 1
        Processes that compute points. In a `joblib.parallel_config`, 1 leaves the choice to it.
    keep : path, optional
        A folder that keeps the result of each point as it ends, and from which the same call takes
        what earlier runs have kept. Functions and classes of your own need a version.
    progress : bool
        Whether a call of more than two seconds shows its progress on a terminal or in a notebook.

    Returns
    -------
    LearningError
        Use it only if ``converged``.

    Raises
    ------
    InvalidInput
        If a value is outside its range, L above 2^20, R < L above 512, S_w has no
        inverse, or the tokens of a sample share an effect. For a task,
        if its tokens are not isotropic, its metric is neither "error" nor the squared error, a
        number as the target has no `likelihood`, a token with a coefficient has the scale 0, or
        too few bags have the same scales.

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

    Two signals of different strengths, both of which a positive bag holds:

    >>> task = st.tasks.meeting_concepts(length=4, strengths=(4.0, 3.0))
    >>> found = st.oracle.learning_error(task, alpha=1.0, points=128)
    >>> found.cosine.shape, bool(found.cosine[0] > found.cosine[1])
    ((2,), True)
    """
    if not isinstance(problem, SparseTokenProblem):
        check_problem(problem)
    grid = broadcast(problem, _Samples(alpha))
    rows = map_points(
        functools.partial(_errors, nodes=points),
        grid.points,
        call=["learning_error", points],
        workers=workers,
        keep=keep,
        what="Bayes-optimal errors",
        progress=progress,
    )
    return stacked(rows, grid)


@np.errstate(under="ignore")
def _errors(points: Sequence[tuple[Problem, _Samples]], nodes: int) -> Iterator[LearningError]:
    """Yield the error at each point."""
    for problem, samples in points:
        if isinstance(problem, SparseTokenProblem):
            yield _of_signal(problem, samples.alpha, nodes)
        else:
            yield _of_task(problem, samples.alpha, nodes)


def _of_signal(problem: SparseTokenProblem, alpha: float, points: int) -> LearningError:
    """Return the Bayes-optimal error of sparse tokens."""
    check_length(problem.length)
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

    least, moved = bayes_error(seen(Q)), bayes_error(seen(max(Q - error, 0.0)))
    numerical = math.hypot(least.numerical_error, moved.test_error - least.test_error)
    status = accuracy_status(least.test_error, numerical)
    if max(np.ptp(best), np.ptp(reached)) > _APART:
        status = Status(StatusCode.TOLERANCE_NOT_REACHED, MORE_POINTS)
    return LearningError(
        test_error=least.test_error,
        cosine=math.sqrt(Q),
        oracle_error=oracle.test_error,
        reachable_cosine=math.sqrt(reached.mean()),
        numerical_error=numerical,
        status=next((one for one in (status, oracle.status) if not one.converged), CONVERGED),
    )


def _of_task(task: Problem, alpha: float, points: int) -> LearningError:
    """Return the Bayes-optimal error of a task, by importance sampling."""
    isotropic_only(task.tokens, "The Bayes-optimal error of a task")
    check_metric(task)
    integer("points", points, _FEWEST_TASK_POINTS, _MOST_TASK_POINTS)
    rng = np.random.default_rng(_SEED)
    with progress_of("scrambles of bags", SCRAMBLES) as done:
        found = [solve(task, alpha, points, rng, done) for _ in range(SCRAMBLES)]
    best = np.array([np.diag(one.overlap) for one in found])
    reached = np.array([np.diag(one.reachable) for one in found])
    errors = np.array([one.test_error for one in found])
    # A bias that falls like 1 over the points is a third of its change from a quarter of them.
    bias = np.mean([one.change for one in found]) / 3
    error, numerical = max(float(errors.mean()), 0.0), math.hypot(stated_error(errors), bias)
    status = accuracy_status(error, numerical)
    settled = all(one.converged for one in found)
    if not settled or max(np.ptp(best, axis=0).max(), np.ptp(reached, axis=0).max()) > _APART:
        status = Status(StatusCode.TOLERANCE_NOT_REACHED, MORE_POINTS)
    several = len(task.directions) > 1
    cosines = (np.sqrt(Q.mean(axis=0).clip(0, 1)) for Q in (best, reached))
    cosine, reachable = (each if several else each[0] for each in cosines)
    return LearningError(
        test_error=error,
        cosine=cosine,
        oracle_error=max(float(np.mean([one.oracle_error for one in found])), 0.0),
        reachable_cosine=reachable,
        numerical_error=numerical,
        status=status,
        directions=task.directions if several else (),
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
