"""The Bayes error with the signal known, that of the likelihood ratio test."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from scipy.special import expit, gammaln, log_ndtr, ndtri

from sparsetoken.base.validation import integer
from sparsetoken.model.problem import SparseTokenProblem, require_problem
from sparsetoken.model.values import require_numbers
from sparsetoken.numerics.errors import stated_error
from sparsetoken.numerics.quadrature import even_uniforms
from sparsetoken.results import CONVERGED, Record, Status, StatusCode
from sparsetoken.results.record import Numbers, quantity, record
from sparsetoken.theory.laws.tokens import largest_of
from sparsetoken.theory.oracle.token_sums import LARGEST_EXPONENT, check_length, error_of_sum
from sparsetoken.theory.spectrum import whitened

MORE_POINTS = "Take more points."
SCRAMBLES = 8
MOST_POINTS = 2**20  # nodes of a scramble: more only take memory
_MOST_INFORMATIVE = 512  # fewer than L: polynomials of R tokens grow like e^R
_ACCURACY = 0.05  # relative; a larger numerical error is not called converged
_FLOOR = 1e-5  # absolute: smaller errors are only known to be small
_SEED = 20250929
_RESOLVED = 1e-12  # of a second moment: a smaller variance is lost in rounding
_LARGEST_TOKENS = 64  # drawn one by one; the rest enters through its sums of powers


@record
class BayesError(Record):
    """The smallest test error of any classifier that knows xi."""

    test_error: Numbers = quantity("Of the likelihood-ratio test.")
    numerical_error: Numbers = quantity(
        "The change from half the lattice where sums of tokens have a law on a lattice (R = 1), "
        "the error over 8 scrambles where tokens are drawn, 0 for R = L."
    )
    status: Status = quantity("How the computation ended.", objects=True)


@np.errstate(under="ignore")
def bayes_error(problem: SparseTokenProblem, *, points: int = 4096) -> BayesError:
    """Return the Bayes error with signal direction and covariance known.

    Only the projections t_l on xi matter. With x_l = exp(theta t_l) and e_R the
    elementary symmetric polynomial, call positive where
    ``log e_R(x) - log binom(L, R) - theta^2 R / 2 + log(pi / (1 - pi)) > 0``.

    Equation: bayes-test.

    Equation: covariance-bayes-test. Among tokens of a covariance S_w the log likelihood ratio of R
    given positions is the sum of their scores ``s_l = theta xi^T S_w^-1 x_l`` less
    ``R D^2 / 2``, ``D = theta |S_w^(-1/2) xi|``: the test is that of isotropic tokens of the
    strength D.

    Parameters
    ----------
    problem : SparseTokenProblem
        Positions are uniform, and the tokens of a sample share no effect.
    points : int
        Nodes for each scramble, a power of two. Used if 1 < R < L; for R = 1 the law of the sum
        is found on a lattice, and for R = L it is normal.

    Returns
    -------
    BayesError
        Use it only if ``status.converged``.

    Raises
    ------
    InvalidInput
        If `points` is outside [1, 2^20], L above 2^20, R < L above 512, S_w has no inverse, the
        tokens of a sample share an effect, or a field of the problem holds an array.

    See Also
    --------
    best_error : The least test error over the weights of a model.
    learning_error : The Bayes-optimal error with finite data.

    Examples
    --------
    >>> import sparsetoken as st
    >>> problem = st.SparseTokenProblem(length=10, informative=1, strength=5.0)
    >>> st.oracle.bayes_error(problem).test_error.round(4).item()
    0.0178
    """
    integer("points", points, 1, MOST_POINTS)
    require_problem(problem)
    require_numbers(problem)
    check_length(problem.length)
    if problem.informative < problem.length:
        remedy = "More is possible where all tokens are informative."
        integer("informative (R)", problem.informative, 1, _MOST_INFORMATIVE, remedy)
    problem = whitened(problem)
    pi, theta, R, L = problem.letters
    if theta == 0:
        return BayesError(min(pi, 1 - pi), 0.0, CONVERGED)
    if R == L:
        return BayesError(normal_error(pi, theta * math.sqrt(L)), 0.0, CONVERGED)
    if R == 1:
        fine, coarse = (_one_token(problem, finest) for finest in (15, 14))
        return _judged(fine, abs(fine - coarse))
    errors = _sampled(problem, points)
    return _judged(float(errors.mean()), float(stated_error(errors)))


def _judged(error: float, numerical: float) -> BayesError:
    return BayesError(error, numerical, accuracy_status(error, numerical))


def accuracy_status(
    error: float, numerical: float, accuracy: float = _ACCURACY, remedy: str = MORE_POINTS
) -> Status:
    """Return whether a test error is accurate enough."""
    if numerical <= accuracy * error + _FLOOR:
        return CONVERGED
    return Status(StatusCode.TOLERANCE_NOT_REACHED, remedy)


def normal_error(pi: float, separation: float) -> float:
    """Return the Bayes error between N(0, 1) and N(separation, 1)."""
    tilt = math.log(pi / (1 - pi)) / separation
    miss, alarm = log_ndtr(-separation / 2 - tilt), log_ndtr(-separation / 2 + tilt)
    return float(pi * math.exp(miss) + (1 - pi) * math.exp(alarm))


def _one_token(problem: SparseTokenProblem, finest: int) -> float:
    """Return the error for R = 1, where the test is a sum over tokens."""
    pi, theta, *_ = problem.letters
    odds = math.log((1 - pi) / pi)

    def token(t: np.ndarray) -> np.ndarray:
        return np.exp(np.minimum(theta * t - theta**2 / 2 - odds, LARGEST_EXPONENT)) - 1

    return min(error_of_sum(token, problem, finest), pi, 1 - pi)


def _sampled(problem: SparseTokenProblem, points: int) -> np.ndarray:
    """Return the error by each scramble: the mean of the smaller posterior chance.

    Unlike the count of mistakes it is continuous in the nodes. One set of noises
    serves both classes.
    """
    pi, theta, R, L = problem.letters
    prior = math.log(pi / (1 - pi)) - theta**2 * R / 2 - _log_binomial(L, R)
    errors = []
    for nodes in scrambles(problem, points):
        base = noise_polynomials(nodes, theta)
        error = 0.0
        for share, shift in ((pi, theta), (1 - pi, 0.0)):
            log_odds = symmetric(theta * (nodes.informative + shift), base)[R] + prior
            error += share * float(np.mean(expit(-np.abs(log_odds))))
        errors.append(error)
    return np.array(errors)


def _log_binomial(n: float, k: float) -> float:
    return float(gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1))


class TokenNodes(NamedTuple):
    """Noises of tokens, drawn many times: of R informative ones, and the largest of the others.

    The largest noise tokens are in falling order; `normal` stands for the sum of the `rest` tokens
    below them.
    """

    informative: np.ndarray
    noise: np.ndarray
    normal: np.ndarray
    rest: int


def scrambles(problem: SparseTokenProblem, points: int) -> Iterator[TokenNodes]:
    """Yield the nodes of each scramble."""
    rng = np.random.default_rng(_SEED)
    for _ in range(SCRAMBLES):
        yield token_nodes(problem.length, problem.informative, points, rng)


def token_nodes(L: int, R: int, points: int, rng: np.random.Generator) -> TokenNodes:
    """Draw the noises of the tokens of a sample, `points` times."""
    top = min(L - R, _LARGEST_TOKENS)
    uniforms = even_uniforms(R + 1 + top, rng)(points)
    normals = ndtri(uniforms[:, : R + 1])
    noise = largest_of(L - R, np.log(uniforms[:, R + 1 :]))
    return TokenNodes(normals[:, :R], noise, normals[:, R], L - R - top)


def noise_polynomials(nodes: TokenNodes, theta: float) -> np.ndarray:
    """Return log e_0 .. log e_R of exp(theta t) over the tokens without signal, (R + 1, n)."""
    return symmetric(theta * nodes.noise, _rest_polynomials(nodes, theta))


def _rest_polynomials(nodes: TokenNodes, theta: float) -> np.ndarray:
    """Return log e_0 .. log e_R of the tokens below the smallest one drawn, (R + 1, n).

    Given that bound a they are independent truncated normals. Their sum of
    exp(theta t) is normal by the central limit, higher powers follow it by regression,
    and Newton's identities lead from sums of powers to e_j.
    """
    informative, noise, normal, rest = nodes
    n, R = informative.shape
    if rest == 0:
        return np.concatenate([np.zeros((1, n)), np.full((R, n), -np.inf)])
    a = noise[:, -1]
    j = np.arange(R + 2)[:, None] * theta
    # E[exp(j theta (t - a)) | t < a], at most 1
    moment = np.exp(j**2 / 2 - j * a + log_ndtr(a - j) - log_ndtr(a))
    cov = moment[2:] - moment[1] * moment[1:-1]
    known = cov[0] > _RESOLVED * moment[2]  # less is rounding, and plays no part beside the mean
    pull = np.sqrt(rest / np.where(known, cov[0], np.inf)) * normal
    power = np.maximum(rest * moment[1:-1] + cov * pull, 0.0)
    scale = max(rest / R, 1.0)  # powers of it would overflow
    power /= scale ** np.arange(1, R + 1)[:, None]
    e = [np.ones(n)]
    for order in range(1, min(R, rest) + 1):
        terms = [(-1) ** (i - 1) * e[order - i] * power[i - 1] for i in range(1, order + 1)]
        e.append(np.maximum(sum(terms) / order, 0.0))
    e += [np.zeros(n)] * (R - len(e) + 1)  # so many tokens have no more products
    with np.errstate(divide="ignore"):
        return np.log(e) + j[:-1] * a + np.arange(R + 1)[:, None] * math.log(scale)


def symmetric(log_values: np.ndarray, start: np.ndarray) -> np.ndarray:
    """Return log e_0 .. log e_R after the values exp(log_values) of shape (n, m) join."""
    e = start.copy()
    for value in log_values.T:
        e[1:] = np.logaddexp(e[1:], e[:-1] + value)
    return e
