"""What is computed and simulated."""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from sparsetoken import simulation, theory
from sparsetoken.experiments.experiment import Job
from sparsetoken.experiments.leave_one_out.rows import Estimated, Refitted, Theory
from sparsetoken.experiments.rows import Measured, averaged, predicted
from sparsetoken.losses import Loss, get_loss
from sparsetoken.models import Attention
from sparsetoken.numerics.erm import ReadoutFit
from sparsetoken.numerics.leave_one_out import LeaveOneOut, leave_one_out
from sparsetoken.numerics.newton_readout import Point, newton
from sparsetoken.problem import SparseTokenProblem
from sparsetoken.results import Prediction
from sparsetoken.simulation.seeds import seed_of
from sparsetoken.stages import Query, Readout

PROBLEM = SparseTokenProblem(length=10, informative=1, strength=5.0, positive_rate=0.5)
QUERY = Query(0.9, 1.0)
RIDGE = 1e-2
ALPHA1 = 2.0
"""Where single samples are left out and the rest is fitted again."""
LOSSES = ("square", "logistic", "squared_hinge")
REFIT_TOLERANCE = 1e-9


@dataclasses.dataclass(frozen=True)
class Profile:
    """Sizes of the experiment.

    Attributes
    ----------
    refits : tuple of (d, training sets, samples left out of each)
    dimension, trials : int
        Of the estimates of the test error.
    alphas : tuple of float
        Loads alpha1 that are estimated.
    key : tuple of float
        Loads whose comparisons open the report.
    lines : int
        Loads on a line of theory between two that are estimated.
    """

    refits: tuple[tuple[int, int, int], ...]
    dimension: int
    trials: int
    alphas: tuple[float, ...] = (0.5, 1.0, 2.0, 4.0)
    key: tuple[float, ...] = (2.0,)
    lines: int = 1


PROFILES = {
    "quick": Profile(
        ((50, 40, 25), (100, 24, 25), (200, 16, 25), (400, 12, 20)), dimension=250, trials=64
    ),
    "paper": Profile(
        ((50, 160, 50), (100, 80, 50), (200, 60, 50), (400, 40, 50), (800, 16, 25)),
        dimension=1000,
        trials=80,
        lines=3,
    ),
}


def jobs(profile: Profile, seed: int) -> list[Job]:
    """Return the jobs of a profile; all losses see the same training sets."""
    found = []
    for loss in LOSSES:
        rate = 0.2 if loss == "logistic" else 0.05
        loads = (profile.lines + 1) * len(profile.alphas)
        found.append(Job(predict_errors, (loss, profile.alphas, profile.lines), rate * loads))
        for i, (d, sets, samples) in enumerate(profile.refits):
            cost = sets * samples * 0.015 * (d / 400) ** 2
            place = seed_of("leave-one-out", "refit", i, seed)
            found.append(Job(refit, (loss, d, sets, samples, place), cost))
        for i, alpha1 in enumerate(profile.alphas):
            cost = profile.trials * 0.01 * alpha1 * (profile.dimension / 250) ** 2.3
            place = seed_of("leave-one-out", "estimate", i, seed)
            arguments = (loss, alpha1, profile.dimension, profile.trials, place)
            found.append(Job(estimate, arguments, cost))
    return found


def predict(loss: str, alpha1: float) -> Prediction:
    """Return the prediction at a load."""
    return theory.predict(PROBLEM, Attention(QUERY), Readout(loss, RIDGE, alpha1))


def draw(alpha1: float, d: int, seed: int, trial: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the features and labels of a training set."""
    return simulation.draw_training_set(
        PROBLEM, Attention(QUERY), alpha1, dimension=d, seed=seed, trial=trial
    )


def predict_errors(loss: str, alphas: tuple[float, ...], lines: int) -> list[Theory]:
    """Predict at the loads that are estimated, and at `lines` loads between each two."""
    between = [
        a * (b / a) ** (i / (lines + 1))
        for a, b in itertools.pairwise(alphas)
        for i in range(1, lines + 1)
    ]
    rows = []
    for alpha1 in sorted({*alphas, *between}):
        found = predict(loss, alpha1)
        names = ("test_error", "auc", "training_error")
        errors = (predicted(found, name, found.numerical_error) for name in names)
        rows.append(Theory(loss, alpha1, *errors))
    return rows


def refit(loss: str, d: int, sets: int, samples: int, seed: int) -> list[Refitted]:
    """Compare leave-one-out scores, and those of the fit itself, with scores of refits."""
    errors, changes, converged = [], [], True
    for trial in range(sets):
        F, y = draw(ALPHA1, d, seed, trial)
        found = leave_one_out(F, y, get_loss(loss), RIDGE)
        left = np.random.default_rng((seed, trial)).choice(len(y), samples, replace=False)
        again = [without(i, F, y, get_loss(loss), found.fit) for i in left]
        scores = np.array([one.score for one in again])
        errors.append(found.scores[left] - scores)
        changes.append(found.fit.scores[left] - scores)
        converged &= found.converged and all(one.converged for one in again)
    roots = (_root_mean_square(some, d, _status(converged)) for some in (errors, changes))
    return [Refitted(loss, d, *roots)]


class Refit(NamedTuple):
    """The score of a sample under the fit to the others."""

    score: float
    converged: bool


def without(i: int, F: np.ndarray, y: np.ndarray, loss: Loss, fit: ReadoutFit) -> Refit:
    """Fit all samples but one until it converges, from the fit to all."""
    n, others = len(y), np.arange(len(y)) != i
    centre, labels = F[others].mean(axis=0), y[others]
    start = Point(fit.w, fit.b + centre @ fit.w, fit.scores[others])
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


def _root_mean_square(differences: Sequence[np.ndarray], d: int, status: str) -> Measured:
    squares = np.concatenate(differences) ** 2
    root = math.sqrt(squares.mean())
    error = float(np.std(squares, ddof=1)) / math.sqrt(len(squares)) / (2 * root)
    roots = tuple(float(np.sqrt(np.mean(some**2))) for some in differences)
    return Measured(root, error, d, len(differences), status=status, values=roots)


def _status(converged: bool) -> str:
    return "converged" if converged else "max_iterations"


def estimate(loss: str, alpha1: float, d: int, trials: int, seed: int) -> list[Estimated]:
    """Estimate the test error of `trials` training sets by leaving out each sample."""
    found = []
    for trial in range(trials):
        F, y = draw(alpha1, d, seed, trial)
        found.append(leave_one_out(F, y, get_loss(loss), RIDGE))
    status = _status(all(one.converged for one in found))
    spread = _spread(found)
    return [
        Estimated(
            loss,
            alpha1,
            averaged([one.test_error for one in found], d, "reduced", status),
            averaged([one.auc for one in found], d, "reduced", status),
            Measured(spread, spread / math.sqrt(2 * (trials - 1)), d, trials, status=status),
        )
    ]


def _spread(found: Sequence[LeaveOneOut]) -> float:
    stated = float(np.mean([one.standard_error for one in found]))
    seen = float(np.std([one.test_error for one in found], ddof=1))
    return seen / stated if stated > 0 else math.nan
