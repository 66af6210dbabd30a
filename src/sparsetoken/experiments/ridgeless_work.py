"""The work of the ridgeless experiment: predictions and simulations as points."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence

import numpy as np

from sparsetoken import simulation, theory
from sparsetoken.experiments.points import Point
from sparsetoken.losses import get_loss
from sparsetoken.numerics.erm import fit_readout
from sparsetoken.problem import SparseTokenProblem
from sparsetoken.results import Outcome, Overlaps, Prediction, Simulation
from sparsetoken.training import FourStageTraining, Query

__all__ = [
    "LOSSES",
    "MARGIN_PROBLEM",
    "MARGIN_QUERY",
    "PROBLEM",
    "QUERY",
    "SMALL",
    "capacity_theory",
    "capacity_trials",
    "direction_theory",
    "direction_trials",
    "load_theory",
    "load_trials",
    "susceptibility_limits",
    "susceptibility_trials",
    "weights",
]

PROBLEM = SparseTokenProblem(length=10, informative=1, strength=5.0, positive_rate=0.5)
QUERY = Query(cosine=0.9, sharpness=1.0)
MARGIN_PROBLEM = SparseTokenProblem(length=4, informative=1, strength=2.0, positive_rate=0.5)
MARGIN_QUERY = Query(cosine=0.8, sharpness=1.0)
LOSSES = ("hinge", "logistic")
SMALL = 1e-6
"""The ridge that stands for 0 where a simulation needs one."""


JUDGED, LINE = 1e-4, 1e-3
"""Tolerances of the theory, where a claim is judged and on the rest of a line."""
RIDGES = (0.0, 1e-2, 1e-1)
RATIO = 0.75
"""The multiple of the capacity at which the direction is followed."""


def weights(model: str) -> int:
    """Return the interpolation threshold of the square loss in n1/d."""
    return PROBLEM.length if model == "vectorized" else 1


def _square(ridge: float) -> FourStageTraining:
    return FourStageTraining(loss=get_loss("square"), ridge=ridge)


def load_theory(model: str, ridge: float, loads: Sequence[float], tolerance: float) -> list[Point]:
    """Predict the square loss at loads n1 / (number of weights)."""
    points = []
    for load in loads:
        found = theory.predict(
            model,
            PROBLEM,
            _square(ridge),
            load * weights(model),
            query=QUERY,
            tolerance=tolerance,
        )
        points += _values("load", model, load, ridge, found, ("susceptibility",))
    return points


def _values(
    group: str, curve: str, x: float, y: float, found: Outcome, more: Sequence[str] = ()
) -> list[Point]:
    status = str(found.status.code) if isinstance(found, Prediction) else "converged"
    error = found.numerical_error if isinstance(found, Prediction) else 0.0
    return [
        Point(
            curve,
            name,
            x,
            getattr(found, name),
            error if name == "test_error" else 0.0,
            group=group,
            status=status,
            y=y,
        )
        for name in ("test_error", "training_loss", *more)
    ]


def _simulated(
    group: str, curve: str, x: float, y: float, result: Simulation, features: int
) -> list[Point]:
    return [
        dataclasses.replace(
            point,
            error=getattr(result.standard_error, point.quantity),
            source="reduced",
            dimension=features,
            trials=len(result.trials),
            status=str(result.status.code),
        )
        for point in _values(group, curve, x, y, result.mean)
    ]


def load_trials(
    model: str, ridge: float, load: float, features: int, trials: int, seed: int
) -> list[Point]:
    """Measure the square loss; `features` is the number of weights."""
    result = simulation.simulate(
        model,
        PROBLEM,
        _square(ridge),
        load * weights(model),
        query=QUERY,
        dimension=features // weights(model),
        trials=trials,
        seed=seed,
    )
    return _simulated("load", model, load, ridge, result, features)


def susceptibility_trials(
    model: str, ridge: float, load: float, d: int, trials: int, seed: int
) -> list[Point]:
    """Measure chi as the trace of the inverse of F^T F/n1 + ridge, over n1; F is centred."""
    traces = []
    for trial in range(trials):
        F, _ = simulation.draw_training_set(
            model, PROBLEM, query=QUERY, alpha1=load, dimension=d, seed=seed, trial=trial
        )
        n, m = F.shape
        F = F - F.mean(axis=0)
        some = np.linalg.eigvalsh(F.T @ F / n)
        without = (d - m) / ridge if d > m else 0.0  # directions that no sample has
        traces.append((np.sum(1 / (some + ridge)) + without) / n)
    mean, error = np.mean(traces), np.std(traces, ddof=1) / math.sqrt(trials)
    return [
        Point(
            model, "susceptibility", load, float(mean), float(error), "reduced", "load", d, trials,
            y=ridge,
        )
    ]  # fmt: skip


def susceptibility_limits(model: str) -> list[Point]:
    """Return |load - 1| chi close to the threshold, and its limit, the mean of 1/C^2."""
    law = theory.feature_law(model, PROBLEM, QUERY, "erf", 8192)
    inverse = np.sum(law.weight / law.C**2, axis=1)
    error = 0.0 if law.exact else float(np.std(inverse, ddof=1) / math.sqrt(len(inverse)))
    near, below = 1 + 1e-3, 0.5
    above = theory.predict(model, PROBLEM, _square(0.0), near, query=QUERY, tolerance=1e-3)
    under = theory.predict(model, PROBLEM, _square(SMALL), below, query=QUERY, tolerance=1e-3)
    values = {
        "mean of 1/C^2": (0.0, float(inverse.mean()), error, above),
        "(load - 1) chi": (near, (near - 1) * above.susceptibility, 0.0, above),
        "ridge chi": (below, SMALL * under.susceptibility, 0.0, under),
    }
    return [
        Point(model, name, x, value, e, group="limits", status=str(found.status.code))
        for name, (x, value, e, found) in values.items()
    ]


def _margin_training(loss: str, ridge: float) -> FourStageTraining:
    return FourStageTraining(loss=get_loss(loss), ridge=ridge)


def _length(w: Overlaps) -> float:
    return math.hypot(w.query, w.orthogonal, w.noise)


def capacity_theory(
    loss: str, ratios: Sequence[float], capacity: float, tolerance: float
) -> list[Point]:
    """Predict ridge 0 at multiples of the capacity; `length` is |w|."""
    points = []
    for ratio in ratios:
        found = theory.predict(
            "attention",
            MARGIN_PROBLEM,
            _margin_training(loss, 0.0),
            ratio * capacity,
            query=MARGIN_QUERY,
            tolerance=tolerance,
        )
        points += _values("capacity", loss, ratio, 0.0, found)
        length = dataclasses.replace(points[-1], quantity="length", value=_length(found.overlaps))
        points.append(length)
    return points


def capacity_trials(
    loss: str, ratio: float, capacity: float, d: int, trials: int, seed: int
) -> list[Point]:
    """Measure at ridge `SMALL`; the points stand at ridge 0, which it replaces."""
    result = simulation.simulate(
        "attention",
        MARGIN_PROBLEM,
        _margin_training(loss, SMALL),
        ratio * capacity,
        query=MARGIN_QUERY,
        dimension=d,
        trials=trials,
        seed=seed,
    )
    return _simulated("capacity", loss, ratio, 0.0, result, d)


def direction_theory(ratio: float, capacity: float, ridges: Sequence[float]) -> list[Point]:
    """Predict the logistic loss as the ridge falls; x is the ridge, `length` is |w|."""
    points = []
    for ridge in ridges:
        found = theory.predict(
            "attention",
            MARGIN_PROBLEM,
            _margin_training("logistic", ridge),
            ratio * capacity,
            query=MARGIN_QUERY,
        )
        points += _values("direction", "logistic", ridge, ratio, found)
        length = dataclasses.replace(points[-1], quantity="length", value=_length(found.overlaps))
        points.append(length)
    return points


def direction_trials(
    ratio: float, capacity: float, ridges: Sequence[float], d: int, trials: int, seed: int
) -> list[Point]:
    """Measure 1 - cosine of the logistic readout with the largest-margin one on the same D1.

    Below capacity the hinge loss with ridge `SMALL` has the largest margin: its
    multipliers are bounded by 1/n1.
    """
    distances = []
    for trial in range(trials):
        F, y = simulation.draw_training_set(
            "attention",
            MARGIN_PROBLEM,
            query=MARGIN_QUERY,
            alpha1=ratio * capacity,
            dimension=d,
            seed=seed,
            trial=trial,
        )
        fits = [
            fit_readout(F, y, get_loss(loss), ridge).w
            for loss, ridge in (("hinge", SMALL), *(("logistic", r) for r in ridges))
        ]
        units = np.array([w / np.linalg.norm(w) for w in fits])
        distances.append(0.5 * np.sum((units[1:] - units[0]) ** 2, axis=1))
    mean = np.mean(distances, axis=0)
    error = np.std(distances, axis=0, ddof=1) / math.sqrt(trials)
    return [
        Point(
            "logistic", "distance", ridge, float(m), float(e), "reduced", "direction", d, trials,
            y=ratio,
        )
        for ridge, m, e in zip(ridges, mean, error, strict=True)
    ]  # fmt: skip
