"""The query after two gradient steps."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from sparsetoken.losses import Loss
from sparsetoken.losses.compiled import smoothed_at
from sparsetoken.numerics.x64 import with_x64
from sparsetoken.problem import SparseTokenProblem, require_problem
from sparsetoken.progress import Progress, progress_of
from sparsetoken.results import Alignment, Status, StatusCode
from sparsetoken.results.record import stacked
from sparsetoken.stages import TwoSteps, require_steps
from sparsetoken.theory.routes import on_route
from sparsetoken.values import broadcast, require_numbers


class _FirstStep(NamedTuple):
    """Readout and bias after their first gradient step."""

    overlap: float  # m1 = <w1, xi>
    norm: float  # |w1|
    bias: float  # b1
    own_share: tuple[float, float]  # what a sample's own part of w1 adds to its score, y = +1, -1


class _Slopes(NamedTuple):
    """Means of h = l'(y, omega) and of h^2 in each class."""

    plus: float
    minus: float
    plus_squared: float
    minus_squared: float


@with_x64
def align(
    problem: SparseTokenProblem, steps: TwoSteps = TwoSteps(), *, progress: bool = True
) -> Alignment:
    """Return the query after two gradient steps, as n0, d -> infinity.

    Equation: query-alignment, at alpha0 = n0/d.
    Symbols: V = R (1 - R/L), P, Q, N as in docs/notation.md; h = l'(y, omega).

    Parameters
    ----------
    problem : SparseTokenProblem
        With tokens of a covariance the rate is nan.
    steps : TwoSteps
        The loss may lack the symmetry l'(-1, 0) = -l'(1, 0).
    progress : bool
        Whether a call of more than two seconds shows its progress on a terminal or in a notebook.

    Returns
    -------
    Alignment
        Cosine 0 and norm 0 when q2 = 0 (one token, or no step).

    Examples
    --------
    >>> import sparsetoken as st
    >>> problem = st.SparseTokenProblem(length=10, informative=1, strength=5.0)
    >>> print(f"{st.align(problem, st.TwoSteps(alpha0=1.0)).cosine:.2f}")
    0.88
    """
    grid = broadcast(problem, steps)
    with progress_of("queries", len(grid.points), progress) as done:
        return stacked([_align(at, of, done) for at, of in grid.points], grid)


def _align(problem: SparseTokenProblem, steps: TwoSteps, progress: Progress) -> Alignment:
    require_problem(problem)
    require_steps(steps)
    found: Alignment = on_route(problem, "align")(problem, steps)
    progress()
    return found


def isotropic_alignment(problem: SparseTokenProblem, steps: TwoSteps) -> Alignment:
    """Return the query that two steps find among isotropic tokens."""
    pi, theta, R, L = problem.letters
    first = _first_step(problem, steps, steps.alpha0)
    h = _slopes(problem, steps.loss, first)
    V = R * (1 - R / L)
    m1 = first.overlap
    P = pi * h.plus * theta**2 * V * m1
    Q = (L - 1) * _mean(pi, h.plus, h.minus)
    N = _noise(problem, first, h) / steps.alpha0
    step = steps.eta_q * steps.beta / L
    overlap = 0.0 - step * (P + Q * m1)
    norm = step * math.sqrt(P**2 + 2 * P * Q * m1 + (Q * first.norm) ** 2 + N)
    return Alignment(
        cosine=overlap / norm if norm > 0 else 0.0,
        overlap=overlap,
        norm=norm,
        sharpness=steps.beta * norm,
        readout_cosine=m1 / first.norm if first.norm > 0 else 0.0,
        rate=_rate(problem, steps),
        status=Status(StatusCode.CONVERGED),
    )


@with_x64
def sign_margin(problem: SparseTokenProblem, steps: TwoSteps) -> float:
    """Return -(pi E[h|+] theta^2 V + (L - 1) E[h]); the query aligns iff it is > 0.

    Equation: sign-condition. Rare positives make it negative, unless eta_b moves the
    bias to offset the imbalance of the labels. With tokens of a covariance it is the
    overlap of the query itself.

    Examples
    --------
    >>> import sparsetoken as st
    >>> from sparsetoken.theory import sign_margin
    >>> problem = st.SparseTokenProblem(length=10, informative=1, strength=5.0)
    >>> sign_margin(problem, st.TwoSteps(alpha0=1.0)) > 0
    True
    """
    require_steps(steps)
    require_numbers(problem, steps)
    return float(on_route(problem, "margin")(problem, steps))


def isotropic_margin(problem: SparseTokenProblem, steps: TwoSteps) -> float:
    """Return `sign_margin` among isotropic tokens."""
    pi, theta, R, L = problem.letters
    h = _slopes(problem, steps.loss, _first_step(problem, steps, steps.alpha0))
    V = R * (1 - R / L)
    return -(pi * h.plus * theta**2 * V + (L - 1) * _mean(pi, h.plus, h.minus))


def _first_step(problem: SparseTokenProblem, steps: TwoSteps, alpha0: float) -> _FirstStep:
    """Return the readout after its first step.

    Equation: first-step. A sample enters its own readout: D0 is used twice.
    """
    pi, theta, R, L = problem.letters
    eta_w = steps.eta_w
    plus, minus = (float(steps.loss.slope(y, 0.0)) for y in (1.0, -1.0))
    m1 = -eta_w * pi * plus * theta * R / L
    noise = eta_w**2 * _mean(pi, plus**2, minus**2) / (L * alpha0)
    share = -eta_w / (L * alpha0)
    return _FirstStep(
        overlap=m1,
        norm=math.sqrt(m1**2 + noise),
        bias=-steps.eta_b * _mean(pi, plus, minus),
        own_share=(share * plus, share * minus),
    )


def _slopes(problem: SparseTokenProblem, loss: Loss, first: _FirstStep) -> _Slopes:
    _, theta, R, L = problem.letters
    signal = theta * R / L * first.overlap
    centre = np.array([signal, 0.0]) + np.array(first.own_share) + first.bias
    width = np.full(2, first.norm / math.sqrt(L))
    h = smoothed_at(loss, np.array([1.0, -1.0]), centre, width, np.zeros(2))
    mean, square = h.p, h.pp
    return _Slopes(float(mean[0]), float(mean[1]), float(square[0]), float(square[1]))


def _noise(problem: SparseTokenProblem, first: _FirstStep, h: _Slopes) -> float:
    """Return alpha0 N: the squared length of what q2 has at random."""
    pi, theta, R, L = problem.letters
    spread = (L - 1) * first.norm**2
    signal = (theta * first.overlap) ** 2 * R * (1 - R / L)
    return pi * h.plus_squared * (signal + spread) + (1 - pi) * h.minus_squared * spread


def _rate(problem: SparseTokenProblem, steps: TwoSteps) -> float:
    """Return C of |s_q| = 1 - C/alpha0 + o(1/alpha0).

    Equation: alignment-rate, the first order of query-alignment in 1/alpha0.
    """
    pi, theta, R, L = problem.letters
    limit = _first_step(problem, steps, math.inf)
    h = _slopes(problem, steps.loss, limit)
    Q = (L - 1) * _mean(pi, h.plus, h.minus)
    drift = (pi * h.plus * theta**2 * R * (1 - R / L) + Q) * limit.overlap
    if drift**2 == 0:  # the square of a small one is no float
        return math.nan
    noise = _first_step(problem, steps, 1.0).norm ** 2 - limit.norm**2
    return 0.5 * (Q**2 * noise + _noise(problem, limit, h)) / drift**2


def _mean(pi: float, plus: float, minus: float) -> float:
    return pi * plus + (1 - pi) * minus
