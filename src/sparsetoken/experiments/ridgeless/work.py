"""What is computed and simulated."""

from __future__ import annotations

import dataclasses
import math

import numpy as np

from sparsetoken import simulation, theory
from sparsetoken.experiments.capacities import solved_capacity
from sparsetoken.experiments.experiment import version
from sparsetoken.experiments.ridgeless.rows import (
    Distance,
    Divergence,
    Load,
    Margin,
    SimulatedLoad,
    SimulatedMargin,
    SimulatedSusceptibility,
)
from sparsetoken.experiments.rows import Measured, Predicted, averaged, measured, predicted
from sparsetoken.losses import get_loss
from sparsetoken.models import Attention, make_model
from sparsetoken.numerics.erm import fit_readout
from sparsetoken.problem import SparseTokenProblem
from sparsetoken.results import Prediction, Simulation, TrialOutcome
from sparsetoken.stages import Query, Readout

RIDGES = (0.0, 1e-2, 1e-1)
RIDGED = RIDGES[1]
"""The ridge that is simulated too."""
LOSSES = ("hinge", "logistic")
SMALL = 1e-6
"""The ridge that stands for 0 where a simulation needs one."""
JUDGED, LINE = 1e-4, 1e-3
"""Tolerances of the theory, where a claim is judged and on the rest of a line."""
RATIO = 0.75
"""The multiple of the capacity at which the direction is followed."""


@dataclasses.dataclass(frozen=True)
class Setting:
    """A problem with the query of attention."""

    problem: SparseTokenProblem
    query: Query


SQUARE = Setting(SparseTokenProblem(10, 1, 5.0, 0.5), Query(0.9, 1.0))
MARGIN = Setting(SparseTokenProblem(4, 1, 2.0, 0.5), Query(0.8, 1.0))


def predict(
    at: Setting, model: str, loss: str, ridge: float, alpha1: float, tolerance: float = JUDGED
) -> Prediction:
    """Return the prediction with a given query."""
    classifier = make_model(model, at.query)
    readout = Readout(loss, ridge, alpha1)
    return theory.predict(at.problem, classifier, readout, tolerance=tolerance)


def simulate(
    at: Setting, model: str, loss: str, ridge: float, alpha1: float, d: int, trials: int, seed: int
) -> Simulation[TrialOutcome]:
    """Run trials with a given query."""
    classifier, readout = make_model(model, at.query), Readout(loss, ridge, alpha1)
    return simulation.simulate(
        at.problem, classifier, readout, dimension=d, trials=trials, seed=seed
    )


def draw(
    at: Setting, model: str, alpha1: float, d: int, seed: int, trial: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return the features and labels of a training set."""
    return simulation.draw_training_set(
        at.problem, make_model(model, at.query), alpha1, dimension=d, seed=seed, trial=trial
    )


def inverse_square(model: str) -> Predicted:
    """Return the mean of 1/C^2 over the law of the features."""
    law = theory.feature_law(make_model(model), SQUARE.problem, SQUARE.query, 8192)
    found = np.sum(law.weight / law.C**2, axis=1)
    error = 0.0 if law.exact else float(np.std(found, ddof=1) / math.sqrt(len(found)))
    return Predicted(float(found.mean()), error)


def capacity() -> Predicted:
    """Return the capacity that ratios are multiples of."""
    return solved_capacity(MARGIN.problem, Attention(MARGIN.query))


def weights(model: str) -> int:
    """Return the number of weights over d."""
    return SQUARE.problem.length if model == "vectorized" else 1


def line_of_loads(count: int) -> list[float]:
    """Return loads on both sides of 1, denser there, with 1 itself left out.

    They are rounded, so that one which is also judged is the same number.
    """
    near = np.geomspace(0.005, 0.3, count - count // 2)
    away = np.concatenate([near, np.linspace(0.4, np.log(8), count // 2)])
    return np.exp([*-away[::-1], *away]).round(9).tolist()


@version(2)
def predict_loads(model: str, ridge: float, judged: tuple[float, ...], points: int) -> list[Load]:
    """Predict the square loss at loads that are judged, and on a line."""
    line = [*line_of_loads(points), *([1.0] if ridge > 0 else [])] if points else []
    rows = []
    for load in sorted({*judged, *line}):
        tolerance = JUDGED if load in judged else LINE
        found = predict(SQUARE, model, "square", ridge, load * weights(model), tolerance)
        error = predicted(found, "test_error", found.numerical_error)
        exact = (predicted(found, name) for name in ("training_loss", "susceptibility"))
        rows.append(Load(model, ridge, load, error, *exact))
    return rows


def simulate_load(
    model: str, ridge: float, load: float, features: int, trials: int, seed: int
) -> list[object]:
    """Measure the square loss and, for attention, chi where it is finite.

    `features` is the number of weights.
    """
    alpha1, d = load * weights(model), features // weights(model)
    found = simulate(SQUARE, model, "square", ridge, alpha1, d, trials, seed)
    rows: list[object] = [SimulatedLoad(model, ridge, load, *_errors(found, features))]
    if model == "attention" and (load > 1 or ridge > 0):
        sets = (draw(SQUARE, model, alpha1, d, seed, trial) for trial in range(trials))
        chi = averaged([_susceptibility(F, ridge, d) for F, _ in sets], d, "reduced")
        rows.append(SimulatedSusceptibility(model, ridge, load, chi))
    return rows


def _errors(found: Simulation[TrialOutcome], dimension: int) -> tuple[Measured, Measured]:
    test = measured(found, "test_error", dimension)
    return test, measured(found, "training_loss", dimension)


def _susceptibility(F: np.ndarray, ridge: float, d: int) -> float:
    """Return the trace of the inverse of F^T F/n1 + ridge, over n1; F is centred first."""
    n, m = F.shape
    F = F - F.mean(axis=0)
    some = np.linalg.eigvalsh(F.T @ F / n)
    without = (d - m) / ridge if d > m else 0.0  # directions that no sample has
    return float((np.sum(1 / (some + ridge)) + without) / n)


def diverge(model: str) -> list[Divergence]:
    """Predict chi just above the threshold, and below it with a small ridge."""
    near, far = 1 + 1e-3, 0.5
    above = predict(SQUARE, model, "square", 0.0, near, LINE)
    below = predict(SQUARE, model, "square", SMALL, far, LINE)
    return [
        Divergence(
            model,
            inverse_square(model),
            near,
            Predicted(float((near - 1) * above.susceptibility), status=str(above.status.code)),
            far,
            Predicted(float(SMALL * below.susceptibility), status=str(below.status.code)),
        )
    ]


def predict_margins(loss: str, judged: tuple[float, ...], points: int) -> list[Margin]:
    """Predict without a ridge at ratios that are judged, and on a line that leaves 1 out."""
    line = {*np.linspace(0.25, 2.5, points).tolist(), 0.99, 1.01, 1.03} - {1.0}
    return [
        _margin(loss, ratio, 0.0, JUDGED if ratio in judged else LINE)
        for ratio in sorted({*judged, *line})
    ]


def predict_direction(ridges: tuple[float, ...]) -> list[Margin]:
    """Predict the logistic loss as the ridge falls."""
    return [_margin("logistic", RATIO, ridge, JUDGED) for ridge in ridges]


def _margin(loss: str, ratio: float, ridge: float, tolerance: float) -> Margin:
    found = predict(MARGIN, "attention", loss, ridge, ratio * capacity().value, tolerance)
    error = predicted(found, "test_error", found.numerical_error)
    w = found.overlaps
    length = math.hypot(w.query, w.orthogonal, w.noise)
    return Margin(loss, ratio, ridge, error, predicted(found, "training_loss"), length, capacity())


def simulate_margin(
    loss: str, ratio: float, d: int, trials: int, seed: int
) -> list[SimulatedMargin]:
    """Measure at ridge `SMALL`, which stands for 0."""
    alpha1 = ratio * capacity().value
    found = simulate(MARGIN, "attention", loss, SMALL, alpha1, d, trials, seed)
    return [SimulatedMargin(loss, ratio, *_errors(found, d))]


def simulate_direction(ridges: tuple[float, ...], d: int, trials: int, seed: int) -> list[Distance]:
    """Measure 1 - cosine of the logistic readout with the largest-margin one on the same D1.

    Below capacity the hinge loss with ridge `SMALL` has the largest margin: its
    multipliers are bounded by 1/n1.
    """
    distances = []
    for trial in range(trials):
        F, y = draw(MARGIN, "attention", RATIO * capacity().value, d, seed, trial)
        fits = (("hinge", SMALL), *(("logistic", ridge) for ridge in ridges))
        found = [fit_readout(F, y, get_loss(loss), ridge).w for loss, ridge in fits]
        units = np.array([w / np.linalg.norm(w) for w in found])
        distances.append(0.5 * np.sum((units[1:] - units[0]) ** 2, axis=1))
    by_ridge = zip(ridges, np.transpose(distances), strict=True)
    return [Distance(ridge, averaged(values, d, "reduced")) for ridge, values in by_ridge]
