"""The query after two gradient steps."""

from __future__ import annotations

import dataclasses
import functools
import math
import os
from collections.abc import Sequence

from sparsetoken.model.problem import SparseTokenProblem, require_problem
from sparsetoken.model.stages import TwoSteps, require_steps
from sparsetoken.model.tokens import Isotropic
from sparsetoken.model.values import broadcast
from sparsetoken.results import Alignment
from sparsetoken.results.record import stacked
from sparsetoken.theory.query.advice import low_sharpness, turning_away
from sparsetoken.theory.query.directions import limit_status
from sparsetoken.theory.query.distribution import first_step, second_step, trained_law
from sparsetoken.theory.query.finite_dimension import align_at
from sparsetoken.theory.spectrum import spectrum_of
from sparsetoken.work import map_points


def align(
    problem: SparseTokenProblem,
    steps: TwoSteps = TwoSteps(),
    *,
    dimension: int | None = None,
    workers: int = 1,
    keep: str | os.PathLike[str] | None = None,
    progress: bool = True,
) -> Alignment:
    """Return the query after two gradient steps, as n0, d -> infinity or at a dimension d.

    The limit, at alpha0 = n0/d, is query-alignment of docs/equations.md, the means at a dimension
    are finite-query.

    Parameters
    ----------
    problem : SparseTokenProblem
        With tokens of a covariance the rate is nan.
    steps : TwoSteps
        The loss may lack the symmetry l'(-1, 0) = -l'(1, 0).
    dimension : int >= 2, optional
        d, for tokens of a covariance their own. All numbers are then means over 2048 data sets D0
        of n0 = alpha0 d samples, `spread` is the standard deviation of the cosine and
        `anti_aligned` the share of negative cosines; the rate is nan. The default is the limit.
    workers : int >= 1
        Processes that compute points. In a `joblib.parallel_config`, 1 leaves the choice to it.
    keep : path, optional
        A folder that keeps the result of each point as it ends, and from which the same call takes
        what earlier runs have kept. Functions and classes of your own need a version.
    progress : bool
        Whether a call of more than two seconds shows its progress on a terminal or in a notebook.

    Returns
    -------
    Alignment
        Cosine 0 and norm 0 when q2 = 0 (one token, or no step). The status of a limit is
        approximate where few directions carry the covariance of the tokens: the query then varies.

    Raises
    ------
    InvalidInput
        If a value is illegal, or tokens have another dimension.

    See Also
    --------
    sparsetoken.simulation.align : The same at finite dimension.
    sparsetoken.theory.sign_margin : Positive where the query aligns.
    predict : Test error, training loss and AUC in the limit.

    Examples
    --------
    >>> import sparsetoken as st
    >>> problem = st.SparseTokenProblem(length=10, informative=1, strength=5.0)
    >>> print(f"{st.align(problem, st.TwoSteps(alpha0=1.0)).cosine:.2f}")
    0.88
    """
    require_problem(problem)
    require_steps(steps)
    grid = broadcast(problem, steps)
    rows = map_points(
        functools.partial(_alignments, dimension=dimension),
        grid.points,
        call=["align", dimension],
        workers=workers,
        keep=keep,
        what="queries",
        progress=progress,
    )
    return stacked(rows, grid)


def _alignments(
    points: Sequence[tuple[SparseTokenProblem, TwoSteps]], dimension: int | None
) -> list[Alignment]:
    """Return the alignment at each point, with advice."""
    rows = []
    for problem, steps in points:
        found = alignment_of(problem, steps, dimension)
        advice = (
            turning_away(problem, float(found.cosine)),
            low_sharpness(problem, float(found.sharpness), "eta_q or beta"),
        )
        rows.append(dataclasses.replace(found, notes=(*found.notes, *filter(None, advice))))
    return rows


def alignment_of(
    problem: SparseTokenProblem, steps: TwoSteps, dimension: int | None = None
) -> Alignment:
    """Return the alignment at a single point, without advice."""
    return _limit(problem, steps) if dimension is None else align_at(problem, steps, dimension)


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
        status=limit_status(problem, steps),
    )


def _rate(problem: SparseTokenProblem, steps: TwoSteps) -> float:
    """Return C of |s_q| = 1 - C/alpha0 + o(1/alpha0).

    Equation: alignment-rate, the first order of query-alignment in 1/alpha0.
    """
    mean, scatter = second_step(problem, steps, first_step(problem, steps, math.inf))
    drift = float(mean @ mean)
    return 0.5 * float(scatter.sum()) / drift if drift > 0 else math.nan  # a small square may be 0
