"""The query after two gradient steps."""

from __future__ import annotations

import math

from sparsetoken.base.progress import Progress, progress_of
from sparsetoken.model.problem import Isotropic, SparseTokenProblem, require_problem
from sparsetoken.model.stages import TwoSteps, require_steps
from sparsetoken.model.values import broadcast, require_numbers
from sparsetoken.numerics.backend import with_x64
from sparsetoken.results import CONVERGED, Alignment
from sparsetoken.results.record import stacked
from sparsetoken.theory.alignment.draws import align_over_draws, randomness_advice
from sparsetoken.theory.alignment.limit import first_step, second_step, slopes, trained_law
from sparsetoken.theory.spectrum import spectrum_of, trace


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

    See Also
    --------
    sparsetoken.simulation.align : The same at finite dimension.
    sparsetoken.theory.sign_boundary : Where the cosine of the query changes sign.
    predict : Test error, training loss and AUC in the limit.

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
    random = bool(randomness_advice(problem, steps))
    alignment = (align_over_draws if random else _limit)(problem, steps)
    progress()
    return alignment


def _limit(problem: SparseTokenProblem, steps: TwoSteps) -> Alignment:
    """Return the query where many directions carry its scatter."""
    law, readout_cosine = trained_law(problem, steps)
    overlap, norm, step = law.overlap(spectrum_of(problem)), law.norm, steps.eta_q * steps.beta
    return Alignment(
        cosine=overlap / norm if norm > 0 else 0.0,
        overlap=step * overlap + 0.0,
        norm=step * norm,
        sharpness=law.sharpness,
        readout_cosine=readout_cosine,
        rate=_rate(problem, steps) if isinstance(problem.tokens, Isotropic) else math.nan,
        status=CONVERGED,
    )


@with_x64
def sign_margin(problem: SparseTokenProblem, steps: TwoSteps) -> float:
    """Return -(pi E[h|+] theta^2 V + (L - 1) E[h]); the query aligns iff it is > 0.

    Equation: sign-condition. Rare positives make it negative, unless eta_b moves the
    bias to offset the imbalance of the labels. With tokens of a covariance it is the
    overlap of the query itself.

    See Also
    --------
    sign_boundary : Where the cosine of the query changes sign.
    small_step_margin : The same for small steps.

    Examples
    --------
    >>> import sparsetoken as st
    >>> from sparsetoken.theory import sign_margin
    >>> problem = st.SparseTokenProblem(length=10, informative=1, strength=5.0)
    >>> sign_margin(problem, st.TwoSteps(alpha0=1.0)) > 0
    True
    """
    require_problem(problem)
    require_steps(steps)
    require_numbers(problem, steps)
    if not isinstance(problem.tokens, Isotropic):
        mean, _ = second_step(problem, steps, first_step(problem, steps, steps.alpha0))
        return float(mean @ spectrum_of(problem).signal)
    pi, theta, R, L = problem.letters
    (plus, minus), _ = slopes(problem, steps, first_step(problem, steps, steps.alpha0))
    V = R * (1 - R / L)
    return -float(pi * plus * theta**2 * V + (L - 1) * (pi * plus + (1 - pi) * minus))


def _rate(problem: SparseTokenProblem, steps: TwoSteps) -> float:
    """Return C of |s_q| = 1 - C/alpha0 + o(1/alpha0).

    Equation: alignment-rate, the first order of query-alignment in 1/alpha0.
    """
    mean, scatter = second_step(problem, steps, first_step(problem, steps, math.inf))
    drift = float(mean @ mean)
    return 0.5 * trace(scatter) / drift if drift > 0 else math.nan  # a small square may be 0
