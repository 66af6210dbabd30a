"""Joint optimisation of the four stages: split, steps, sharpness and ridge."""

from __future__ import annotations

import dataclasses
import math

from sparsetoken.models import Model
from sparsetoken.problem import SparseTokenProblem
from sparsetoken.progress import progress_of
from sparsetoken.stages import Readout, TwoSteps
from sparsetoken.theory.tuning.search import Point, Range
from sparsetoken.theory.tuning.split_and_beta import (
    SHARES,
    SHARPNESSES,
    BestTraining,
    best_beta,
    best_of,
    best_split,
    load_of,
    sharpness_of,
    split,
    steps_of,
    with_steps,
)
from sparsetoken.validation import LARGEST_LOAD, LARGEST_VALUE, integer, real

_FACTOR = math.log(1e3)  # by which the step of the readout may differ from the one given
_RIDGES = (1e-6, 1.0)
"""Beyond 1 scores are so small that at dimensions of about 1000 the chance imbalance of the
classes, which moves the bias by about 1/sqrt(n1), decides many: see theory/imbalance.py."""


def best_training(
    problem: SparseTokenProblem,
    model: Model,
    readout: Readout,
    total: float,
    *,
    evaluations: int = 150,
    tolerance: float = 1e-4,
    progress: bool = True,
) -> BestTraining:
    """Return the split, step sizes, sharpness and ridge that jointly minimise the test error.

    Equation: best-training, ``argmin of E`` over the share of D0 in a total load, eta_w (with
    eta_b in proportion), the sharpness k and the ridge. At the given beta k is proportional to
    eta_q, which is set by it. Quadratic models of the test error (COBYQA) lead from the
    better of `best_split` and `best_beta` with the stages as given: the result
    is never worse than either. The ridge is at most 1: a larger one often has the least test
    error in the limit, but scores of order 1/ridge, which at finite n1 the chance imbalance of
    the classes outweighs through the bias unless n1 is far above ridge^2.

    Parameters
    ----------
    problem : SparseTokenProblem
    model : Model
        With steps that find its query; step sizes > 0 are where the search starts.
    readout : Readout
        Its ridge in [1e-6, 1] is where the search starts.
    total : float
        alpha0 + alpha1 in [1e-3, 1e9].
    evaluations : int
        The most predictions, after about 40 of the two searches of one number. At least 1.
    tolerance : float
        Of the test error, as for `predict`.
    progress : bool
        Whether a call of more than two seconds shows its progress on a terminal or in a notebook.

    Raises
    ------
    InvalidInput
        If a value is outside its range, or the query has no length (one token, no step).
    """
    steps, total = steps_of(problem, model, readout), load_of(total)
    integer("evaluations", evaluations, 1)
    for name in ("eta_w", "eta_q"):
        real(name, getattr(steps, name), 0.0, open_low=True, remedy="The search multiplies it.")
    real("ridge", readout.ridge, *_RIDGES, remedy="The search starts from it.")
    real("alpha1 (n1/d)", readout.alpha1, 0.0, LARGEST_LOAD, open_low=True)

    def stages(point: Point) -> tuple[TwoSteps, Readout]:
        share, log_w, log_k, log_ridge = point
        eta_w = math.exp(log_w)
        eta_b = steps.eta_b / steps.eta_w * eta_w
        moved = dataclasses.replace(steps, eta_w=eta_w, eta_b=eta_b, eta_q=1.0)
        fitted = dataclasses.replace(readout, ridge=math.exp(log_ridge))
        unit, fitted = split(moved, fitted, total, share)
        eta_q = min(math.exp(log_k) / sharpness_of(problem, unit), LARGEST_VALUE)
        return dataclasses.replace(unit, eta_q=eta_q), fitted

    w = math.log(steps.eta_w)
    least_k, most_k, least_ridge, most_ridge = map(math.log, (*SHARPNESSES, *_RIDGES))
    ranges = (
        SHARES,
        Range("eta_w", w - _FACTOR, w + _FACTOR, "start from another value"),
        Range("sharpness", least_k, most_k, "take the pooled model, or the largest token"),
        Range("ridge", least_ridge, most_ridge, "larger ones help only in the limit"),
    )
    given = split(steps, readout, total, math.log(steps.alpha0 / readout.alpha1))
    starts = [
        best_split(problem, model, readout, total, tolerance=tolerance),
        best_beta(problem, with_steps(model, given[0]), given[1], tolerance=tolerance),
    ]
    points = [
        (
            math.log(start.share / (1 - start.share)),
            w,
            math.log(start.prediction.sharpness),
            math.log(readout.ridge),
        )
        for start in starts
    ]
    with progress_of("predictions", evaluations, progress) as done:
        return best_of(stages, problem, model, tolerance, ranges, points, evaluations, done)
