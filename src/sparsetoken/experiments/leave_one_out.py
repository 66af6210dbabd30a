"""Leave-one-out from one fit, against refits and against the predicted test error."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from sparsetoken import simulation, theory
from sparsetoken.experiments.base import Experiment, Job
from sparsetoken.experiments.claims import Claim, Statement, compare, judge_all, observed
from sparsetoken.experiments.points import Point, select
from sparsetoken.losses import Loss, get_loss
from sparsetoken.numerics.erm import ReadoutFit
from sparsetoken.numerics.leave_one_out import LeaveOneOut, leave_one_out
from sparsetoken.numerics.newton_readout import Point as Readout
from sparsetoken.numerics.newton_readout import newton
from sparsetoken.problem import SparseTokenProblem
from sparsetoken.training import FourStageTraining, Query

__all__ = ["LEAVE_ONE_OUT", "LeaveOneOutProfile", "Slope", "slope"]

PROBLEM = SparseTokenProblem(length=10, informative=1, strength=5.0, positive_rate=0.5)
QUERY = Query(0.9, 1.0)
RIDGE = 1e-2
ALPHA1 = 2.0
LOSSES = ("square", "logistic", "squared_hinge")
CURVED = LOSSES[1:]
ROUNDING = 1e-8
"""Of a left-out score where the surrogate is exact: the tolerance of the fits."""
REFIT_TOLERANCE = 1e-9
SURROGATE, ESTIMATE = "leave-one-out-surrogate", "leave-one-out-estimates-test-error"

STATEMENTS = (
    Statement(
        SURROGATE,
        "The leave-one-out scores of the proof, all from one fit, differ from those of refits by "
        "an error that vanishes as the dimension grows; for the square loss they are equal.",
    ),
    Statement(
        ESTIMATE,
        "Their share of wrong signs estimates the test error, from the training set alone.",
    ),
)


@dataclasses.dataclass(frozen=True)
class LeaveOneOutProfile:
    """Sizes of the experiment.

    Attributes
    ----------
    refits : tuple of (d, training sets, samples left out of each)
    dimension, trials : int
        Of the estimates of the test error.
    alphas : tuple of float
        Loads alpha1 that are estimated.
    key : tuple of float
        Loads whose claims open the report.
    lines : int
        Loads on a line of theory between two that are estimated.
    """

    refits: tuple[tuple[int, int, int], ...]
    dimension: int
    trials: int
    alphas: tuple[float, ...] = (0.5, 1.0, 2.0, 4.0)
    key: tuple[float, ...] = (2.0,)
    lines: int = 1


QUICK = LeaveOneOutProfile(
    ((50, 40, 25), (100, 24, 25), (200, 16, 25), (400, 12, 20)), dimension=250, trials=64
)
PAPER = LeaveOneOutProfile(
    ((50, 160, 50), (100, 80, 50), (200, 60, 50), (400, 40, 50), (800, 16, 25)),
    dimension=1000,
    trials=80,
    lines=3,
)


def _jobs(profile: LeaveOneOutProfile, seed: int) -> list[Job]:
    jobs = []
    loads = _loads(profile)
    for loss in LOSSES:
        rate = 1.7 if loss == "logistic" else 0.4
        jobs.append(Job(_theory, (loss, loads), rate * len(loads)))
        for d, sets, samples in profile.refits:
            cost = sets * samples * 0.015 * (d / 400) ** 2
            jobs.append(Job(_refitted, (loss, d, sets, samples, seed), cost))
        for alpha1 in profile.alphas:
            cost = profile.trials * 0.007 * alpha1 * (profile.dimension / 250) ** 3
            arguments = (loss, alpha1, profile.dimension, profile.trials, seed)
            jobs.append(Job(_estimated, arguments, cost))
    return jobs


def _loads(profile: LeaveOneOutProfile) -> tuple[float, ...]:
    parts = profile.lines + 1
    between = [
        a * (b / a) ** (i / parts)
        for a, b in zip(profile.alphas, profile.alphas[1:], strict=False)
        for i in range(1, parts)
    ]
    return tuple(sorted({*profile.alphas, *between}))


def _theory(loss: str, loads: Sequence[float]) -> list[Point]:
    training = FourStageTraining(loss=get_loss(loss), ridge=RIDGE)
    points = []
    for alpha1 in loads:
        found = theory.predict("attention", PROBLEM, training, alpha1, query=QUERY)
        status = str(found.status.code)
        for quantity in ("test_error", "auc", "training_error"):
            value, error = getattr(found, quantity), found.numerical_error
            points.append(Point(loss, quantity, alpha1, value, error, status=status))
    return points


def _drawn(alpha1: float, d: int, seed: int, trial: int) -> tuple[np.ndarray, np.ndarray]:
    return simulation.draw_training_set(
        "attention", PROBLEM, query=QUERY, alpha1=alpha1, dimension=d, seed=seed, trial=trial
    )


def _refitted(loss: str, d: int, sets: int, samples: int, seed: int) -> list[Point]:
    """Return the root mean squares of the error, and of the change that leaving out makes."""
    errors, changes, converged = [], [], True
    for trial in range(sets):
        F, y = _drawn(ALPHA1, d, seed, trial)
        found = leave_one_out(F, y, get_loss(loss), RIDGE)
        left = np.random.default_rng((seed, d, trial)).choice(len(y), samples, replace=False)
        again = [_without(i, F, y, get_loss(loss), found.fit) for i in left]
        scores = np.array([refit.score for refit in again])
        errors.append(found.scores[left] - scores)
        changes.append(found.fit.scores[left] - scores)
        converged &= found.converged and all(refit.converged for refit in again)
    status = "converged" if converged else "max_iterations"
    return [
        _root_mean_square(loss, name, d, np.concatenate(differences), sets, status)
        for name, differences in (("surrogate_error", errors), ("change", changes))
    ]


class Refit(NamedTuple):
    """The score of a sample under the fit to the others."""

    score: float
    converged: bool


def _without(i: int, F: np.ndarray, y: np.ndarray, loss: Loss, fit: ReadoutFit) -> Refit:
    """Fit all samples but one to the end, from the fit to all."""
    n, others = len(y), np.arange(len(y)) != i
    centre, labels = F[others].mean(axis=0), y[others]
    start = Readout(fit.w, fit.b + centre @ fit.w, fit.scores[others])
    end, residual, _ = newton(
        F[others] - centre,
        lambda z: loss.slope(labels, z),
        lambda z: loss.curvature(labels, z),
        RIDGE * n / (n - 1),
        start,
        REFIT_TOLERANCE,
        100,
    )
    return Refit(float((F[i] - centre) @ end.w + end.b), residual <= REFIT_TOLERANCE)


def _root_mean_square(
    loss: str, name: str, d: int, differences: np.ndarray, sets: int, status: str
) -> Point:
    squares = differences**2
    root = math.sqrt(squares.mean())
    error = float(np.std(squares, ddof=1)) / math.sqrt(len(squares)) / (2 * root)
    return Point(loss, name, float(d), root, error, "reduced", "", d, sets, status)


def _estimated(loss: str, alpha1: float, d: int, trials: int, seed: int) -> list[Point]:
    """Return means over training sets, and the spread in units of the binomial error."""
    found = []
    for trial in range(trials):
        F, y = _drawn(alpha1, d, seed, trial)
        found.append(leave_one_out(F, y, get_loss(loss), RIDGE))
    status = "converged" if all(one.converged for one in found) else "max_iterations"

    def point(quantity: str, value: float, error: float) -> Point:
        return Point(loss, quantity, alpha1, value, error, "reduced", "", d, trials, status)

    spread = _spread(found)
    return [
        point("test_error", *_mean_and_error([one.test_error for one in found])),
        point("auc", *_mean_and_error([one.auc for one in found])),
        point("spread", spread, spread / math.sqrt(2 * (trials - 1))),
    ]


def _mean_and_error(values: Sequence[float]) -> tuple[float, float]:
    return float(np.mean(values)), float(np.std(values, ddof=1)) / math.sqrt(len(values))


def _spread(found: Sequence[LeaveOneOut]) -> float:
    said = float(np.mean([one.standard_error for one in found]))
    seen = float(np.std([one.test_error for one in found], ddof=1))
    return seen / said if said > 0 else math.nan


class Slope(NamedTuple):
    """A power of d, with its standard error."""

    power: float
    standard_error: float


def slope(points: Sequence[Point], loss: str) -> Slope:
    """Fit log(error) against log(d), weighted by the relative errors."""
    rows = select(points, curve=loss, quantity="surrogate_error")
    x = np.log([p.x for p in rows])
    weight = np.array([(p.value / p.error) ** 2 for p in rows])
    centred = x - weight @ x / weight.sum()
    information = weight @ centred**2
    power = weight @ (centred * np.log([p.value for p in rows])) / information
    return Slope(float(power), float(information**-0.5))


def _claims(profile: LeaveOneOutProfile, points: Sequence[Point]) -> list[Claim]:
    judged = [p for p in points if p.quantity in ("test_error", "auc")]
    estimates = judge_all(
        ESTIMATE,
        judged,
        where=lambda p: f"{_named(p.curve)}, α₁ = {p.x:g}",
        key_x=profile.key,
    )
    return [_exact(points), *(c for loss in CURVED for c in _shrinks(points, loss)), *estimates]


def _exact(points: Sequence[Point]) -> Claim:
    rows = select(points, curve="square", quantity="surrogate_error")
    return compare(
        SURROGATE,
        "square",
        "surrogate_error",
        where="square loss, largest over d",
        expected=0.0,
        found=max(p.value for p in rows),
        allowance=ROUNDING,  # of the fits that are compared
        converged=all(p.converged for p in rows),
        key=True,
    )


def _shrinks(points: Sequence[Point], loss: str) -> tuple[Claim, Claim]:
    """Judge that the power of d is below 0 by three standard errors, and report it."""
    rows = select(points, curve=loss, quantity="surrogate_error")
    converged = all(p.converged for p in rows)
    fit = slope(points, loss)
    where = f"{_named(loss)}, d = {rows[0].x:g} to {rows[-1].x:g}"
    judged = compare(
        SURROGATE,
        loss,
        "error shrinks",
        where=where,
        expected=1.0,
        found=float(fit.power + 3 * fit.standard_error < 0),
        allowance=0.0,  # it does or it does not
        converged=converged,
        key=True,
    )
    fitted = Point(
        loss,
        "power of d",
        math.nan,
        fit.power if converged else math.nan,
        fit.standard_error,
        source="reduced",
        dimension=int(rows[-1].x),
        trials=sum(p.trials for p in rows),
    )
    return judged, observed(SURROGATE, fitted, where=where)


def _named(loss: str) -> str:
    return f"{loss.replace('_', ' ')} loss"


def _result(points: Sequence[Point], claims: Sequence[Claim]) -> str:
    exact = max(p.value for p in select(points, curve="square", quantity="surrogate_error"))
    said = "; ".join(_shrinkage(points, loss) for loss in CURVED)
    gaps = [c for c in claims if c.statement == ESTIMATE and c.quantity == "test_error"]
    largest = max(gaps, key=lambda c: abs(c.measured - c.theory))
    spread = [p.value for p in select(points, quantity="spread")]
    return (
        f"Square loss: equal to refits within {exact:.1e}. Root mean square errors, {said}. "
        f"The estimated test errors differ from the predicted ones by at most "
        f"{abs(largest.measured - largest.theory):.4f} ({largest.where}: "
        f"{largest.measured:.4f} ± {largest.standard_error:.4f} against {largest.theory:.4f}). "
        f"From one training set to another the estimate varies {min(spread):.1f} to "
        f"{max(spread):.1f} times as much as the binomial error says, which takes the errors of "
        "different samples as independent."
    )


def _shrinkage(points: Sequence[Point], loss: str) -> str:
    rows = select(points, curve=loss, quantity="surrogate_error")
    change = select(points, curve=loss, quantity="change")[-1].value
    fit = slope(points, loss)
    return (
        f"{_named(loss)}: from {rows[0].value:.1e} at d = {rows[0].x:g} to {rows[-1].value:.1e} at "
        f"d = {rows[-1].x:g}, as d to the power {fit.power:.2f} ± {fit.standard_error:.2f}, while "
        f"leaving out itself still changes scores by {change:.2f}"
    )


def _setting(profile: LeaveOneOutProfile) -> str:
    refits = ", ".join(f"d = {d}: {sets} × {left}" for d, sets, left in profile.refits)
    loads = ", ".join(f"{a:g}" for a in profile.alphas)
    return (
        "Attention features of the reduced engine: L = 10, R = 1, π = 0.5, θ = 5, a query with "
        f"cosine {QUERY.cosine:g} and sharpness k = {QUERY.sharpness:g}, λ = {RIDGE:g}; square, "
        "logistic and squared hinge loss. <b>Against refits</b>: "
        f"α₁ = {ALPHA1:g}; training sets × samples left out and fitted again without, {refits}. "
        "The scores of the surrogate come from the fit to all samples. An error counts as "
        "shrinking if its power of d is below 0 by three standard errors. <b>Test error</b>: "
        f"d = {profile.dimension}, α₁ = {loads}, {profile.trials} training sets each; mean of "
        "the leave-one-out estimates of test error and AUC, against the theory of this query."
    )


LEAVE_ONE_OUT = Experiment(
    "leave-one-out",
    "Leave one out",
    STATEMENTS,
    {"quick": QUICK, "paper": PAPER},
    _jobs,
    _claims,
    _setting,
    _result,
    left="d = 800 and three to eight times the refits; test errors at d = 1000.",
)
