"""The work of the rates experiment: predictions and simulations as points."""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Sequence

import numpy as np

from sparsetoken import simulation, theory
from sparsetoken.experiments.points import Point
from sparsetoken.losses import get_loss
from sparsetoken.numerics.x64 import with_x64
from sparsetoken.problem import SparseTokenProblem
from sparsetoken.theory.infinite_data import approach_to_infinite_data
from sparsetoken.theory.learned_error import outcome, solve_readout
from sparsetoken.theory.potential import Potential
from sparsetoken.training import FourStageTraining, Query

__all__ = [
    "FAR",
    "MISALIGNMENT",
    "MODELS",
    "SETTINGS",
    "alignment",
    "alignment_trials",
    "error_trials",
    "errors_theory",
    "weights",
]

ALIGNED = SparseTokenProblem(length=10, informative=3, strength=6.0, positive_rate=0.5)
RARE = SparseTokenProblem(length=10, informative=3, strength=6.0, positive_rate=0.2)
AWAY = SparseTokenProblem(length=20, informative=2, strength=3.0, positive_rate=0.2)
SETTINGS = {
    "balanced": (ALIGNED, FourStageTraining()),
    "rare positives": (RARE, FourStageTraining()),
    "anti-aligned": (AWAY, FourStageTraining(loss=get_loss("square"), eta_w=0.1, eta_b=0.1)),
}
PROBLEM = SparseTokenProblem(length=5, informative=2, strength=2.0, positive_rate=0.3)
QUERY = Query(cosine=0.5, sharpness=1.5)
MODELS = ("attention", "pooled", "vectorized")
POINTS = 2048
FAR = 1e4
"""The load at which the theory is compared with its rate."""


MISALIGNMENT = 10.0
"""c in the allowance c/d for 1 - |s|, relative.

Measured at d = 50: c from -0.6 to 0.7 (balanced, anti-aligned, alpha0 of 3 and 30); rare
positives 18.5 +- 1.2 at alpha0 = 3, 6.3 +- 0.5 at 10 and 1.5 +- 0.5 at 30. Simulations start at 10.
"""


def weights(model: str) -> int:
    """Return the number of weights per dimension."""
    return PROBLEM.length if model == "vectorized" else 1


def _at(name: str, alpha0: float) -> tuple[SparseTokenProblem, FourStageTraining]:
    problem, training = SETTINGS[name]
    return problem, dataclasses.replace(training, alpha0=alpha0)


def alignment(name: str, grid: Sequence[float]) -> list[Point]:
    """Predict 1 - |s|, and the rate C."""
    points = []
    for alpha0 in grid:
        found = theory.align(*_at(name, alpha0))
        status = str(found.status.code)
        gap = 1 - abs(found.cosine)
        points.append(Point(name, "misalignment", alpha0, gap, group="alignment", status=status))
    sign = math.copysign(1.0, found.cosine)
    known = Point(name, "rate", math.inf, found.rate, group="alignment", y=sign)
    return [*points, known]


def alignment_trials(name: str, alpha0: float, d: int, trials: int, seed: int) -> list[Point]:
    """Measure 1 - |s|."""
    found = simulation.simulate_alignment(*_at(name, alpha0), dimension=d, trials=trials, seed=seed)
    gap = 1 - np.abs(found.cosine)
    error = gap.std(ddof=1) / math.sqrt(trials)
    return [
        Point(
            name,
            "misalignment",
            alpha0,
            float(gap.mean()),
            float(error),
            "reduced",
            "alignment",
            d,
            trials,
        )
    ]


def _training() -> FourStageTraining:
    return FourStageTraining(loss=get_loss("square"), ridge=0.0)


@with_x64
def _solved(model: str, loads: Sequence[float]) -> list[tuple[float, bool]]:
    """Return (test error, converged) for rising loads, on one set of nodes.

    Differences of errors are then exact, far below the error of the nodes themselves.
    """
    query = QUERY if model == "attention" else Query(0.0, 0.0)
    law = theory.feature_law(model, PROBLEM, query, "erf", POINTS)
    errors, near = [], None
    for load in loads:
        potential = Potential(law, get_loss("square"), load)
        # At infinite alpha nu = 0 and r is fixed: no place to start from.
        readout = solve_readout(potential, 0.0, near if math.isfinite(load) else None)
        near = readout if readout.converged else None
        errors.append((outcome(potential, readout, law).test_error, readout.converged))
    return errors


@functools.cache
def _limit(model: str) -> tuple[float, bool]:
    (found,) = _solved(model, (math.inf,))
    return found


def errors_theory(model: str, loads: Sequence[float]) -> list[Point]:
    """Predict the excess E(alpha1) - E(inf); the rate of the formula; the limits."""
    limit, sound = _limit(model)
    points = []
    for load, (value, converged) in zip(loads, _solved(model, loads), strict=True):
        status = "converged" if converged and sound else "max_iterations"
        points.append(Point(model, "excess", load, value - limit, group="data", status=status))
    known = approach_to_infinite_data(model, PROBLEM, query=QUERY)
    ends = theory.predict(model, PROBLEM, _training(), math.inf, query=QUERY)
    return [
        *points,
        Point(model, "rate", math.inf, known.rate, known.rate_error, group="data"),
        Point(
            model,
            "limit",
            math.inf,
            ends.test_error,
            ends.numerical_error,
            group="data",
            status=str(ends.status.code),
        ),
    ]


def error_trials(model: str, load: float, features: int, trials: int, seed: int) -> list[Point]:
    """Measure the excess over the predicted limit."""
    found = simulation.simulate(
        model,
        PROBLEM,
        _training(),
        load,
        query=QUERY,
        dimension=features // weights(model),
        trials=trials,
        seed=seed,
    )
    limit, _ = _limit(model)
    return [
        Point(
            model,
            "excess",
            load,
            found.mean.test_error - limit,
            found.standard_error.test_error,
            "reduced",
            "data",
            features,
            trials,
            status=str(found.status.code),
        )
    ]
