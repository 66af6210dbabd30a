"""The sign of the cosine of the query: whether it turns away from the signal."""

from __future__ import annotations

import numpy as np

from sparsetoken.model.problem import SparseTokenProblem, require_problem
from sparsetoken.model.stages import TwoSteps, require_steps
from sparsetoken.model.tokens import Isotropic, isotropic_only
from sparsetoken.model.values import require_numbers
from sparsetoken.theory.query.distribution import first_step, second_step, slopes
from sparsetoken.theory.spectrum import spectrum_of


@np.errstate(under="ignore")
def sign_margin(problem: SparseTokenProblem, steps: TwoSteps) -> float:
    """Return -(pi E[h|+] theta^2 V + (L - 1) E[h]); the query aligns iff it is > 0.

    Equation: sign-condition. Rare positives make it negative, unless eta_b moves the
    bias to offset the imbalance of the labels. With tokens of a covariance it is the
    overlap of the query itself.

    See Also
    --------
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


def small_step_margin(problem: SparseTokenProblem) -> float:
    """Return pi theta^2 V - (1 - 2 pi)(L - 1), with V = R (1 - R/L).

    Equation: small-step-condition. For small steps, and a loss with l'(-1, 0) =
    -l'(1, 0), the query turns towards the signal if and only if it is > 0.

    Returns
    -------
    float
        Above 0 where the query turns towards the signal.

    Raises
    ------
    InvalidInput
        If a field of the problem holds an array.

    See Also
    --------
    sign_margin : Positive where the query aligns.

    Examples
    --------
    >>> import sparsetoken as st
    >>> problem = st.SparseTokenProblem(length=10, informative=1, strength=5.0)
    >>> st.theory.small_step_margin(problem) > 0
    True
    """
    require_problem(problem)
    require_numbers(problem)
    isotropic_only(problem.tokens, "The condition of small steps")
    pi, theta, R, L = problem.letters
    return pi * theta**2 * R * (1 - R / L) - (1 - 2 * pi) * (L - 1)
