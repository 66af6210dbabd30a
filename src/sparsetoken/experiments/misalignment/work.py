"""What is computed and simulated."""

from __future__ import annotations

import dataclasses
import math

import numpy as np

from sparsetoken import simulation, theory
from sparsetoken.experiments.experiment import Job
from sparsetoken.experiments.misalignment.rows import Abundant, AtCosine, Crossing, Pooled, Trials
from sparsetoken.experiments.rows import Measured, Predicted, measured, predicted, predicted_error
from sparsetoken.models import Model, make_model
from sparsetoken.problem import SparseTokenProblem
from sparsetoken.simulation.seeds import seed_of
from sparsetoken.stages import Query, Readout

LENGTH = 10
SHARPNESS = 1.0
TOLERANCE = 1e-3
ABUNDANT = (200.0, 800.0)
"""Values of alpha1 from which test errors are carried to infinite data, where any d will do."""
SMALL = 20
"""The dimension there."""


@dataclasses.dataclass(frozen=True)
class Profile:
    """Sizes of the experiment.

    Attributes
    ----------
    trials, dimension : int
    alphas : tuple of float
        Finite alpha1.
    measured : tuple of float
        Cosines at which trials are run.
    lengths : tuple of int
    residual : tuple of float
        Cosines at which the test error is carried to infinite data, at each of the lengths.
    abundant_trials : int
    curve_points : int
    """

    trials: int
    dimension: int = 600
    alphas: tuple[float, ...] = (2.0, 8.0)
    measured: tuple[float, ...] = (0.0, 0.1, 0.35, 0.6)
    lengths: tuple[int, ...] = (4, 10, 30, 100)
    residual: tuple[float, ...] = (0.0, 0.35, 1.0)
    abundant_trials: int = 8
    curve_points: int = 21


PROFILES = {
    "quick": Profile(trials=12),
    "paper": Profile(
        trials=20,
        dimension=1000,
        alphas=(2.0, 4.0, 8.0, 16.0),
        measured=(0.0, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.75, 1.0),
        lengths=(4, 10, 30, 100, 300),
        residual=(0.0, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0),
        abundant_trials=12,
        curve_points=41,
    ),
}


def jobs(profile: Profile, seed: int) -> list[Job]:
    """Return the jobs of a profile."""
    grid = (profile.curve_points, tuple(sorted({*profile.measured, *profile.residual})))
    places = [(LENGTH, alpha1) for alpha1 in profile.alphas]
    places += [(L, math.inf) for L in sorted({LENGTH, *profile.lengths})]
    found = []
    for L, alpha1 in places:
        cost = 0.022 * profile.curve_points * (1 + L / 40)
        found.append(Job(predict_line, (L, alpha1, *grid), cost))
        found.append(Job(find_crossing, (L, alpha1), 0.5 * cost))
    size = (profile.dimension / 600) ** 3
    for i, alpha1 in enumerate(profile.alphas):
        cost = profile.trials * (0.04 + 0.02 * size * alpha1)
        sizes = (profile.dimension, profile.trials)
        # Attention and pooling are compared at the same load: they share the seed.
        place = seed_of("misalignment", i, seed)
        found += [
            Job(simulate, ("attention", alpha1, s, *sizes, place), cost) for s in profile.measured
        ]
        found.append(Job(simulate, ("pooled", alpha1, 0.0, *sizes, place), cost))
    return found + _abundant(profile, seed)


def _abundant(profile: Profile, seed: int) -> list[Job]:
    found, trials = [], profile.abundant_trials
    for i, L in enumerate(sorted({LENGTH, *profile.lengths})):
        for j, alpha1 in enumerate(ABUNDANT):
            own = seed_of("misalignment", "abundant", i, j, seed)
            cost = trials * alpha1 * SMALL * (20 + L) * 7e-8
            for model, s in (("pooled", 0.0), *(("attention", s) for s in profile.residual)):
                found.append(Job(simulate_abundant, (model, L, alpha1, s, trials, own), cost))
    return found


def problem_of(length: int) -> SparseTokenProblem:
    """Return the problem of a length."""
    return SparseTokenProblem(length, 1, 5.0, 0.5)


def readout_of(alpha1: float) -> Readout:
    """Return the readout of a load."""
    return Readout("square", 1e-5, alpha1)


def model_of(name: str, cosine: float) -> Model:
    """Return a model; attention has a query of this cosine."""
    return make_model(name, Query(cosine, SHARPNESS))


def predict(name: str, length: int, alpha1: float, cosine: float = 0.0) -> Predicted:
    """Return the predicted test error of a model."""
    model, readout = model_of(name, cosine), readout_of(alpha1)
    found = theory.predict(problem_of(length), model, readout, tolerance=TOLERANCE / 2)
    return predicted_error(found)


def predict_line(
    length: int, alpha1: float, points: int, others: tuple[float, ...]
) -> list[AtCosine | Pooled]:
    """Predict attention on a grid of cosines, others among them, and the pooled model."""
    cosines = sorted({*np.linspace(0, 1, points).round(6).tolist(), *others})
    rows: list[AtCosine | Pooled] = [
        AtCosine(length, alpha1, s, predict("attention", length, alpha1, s)) for s in cosines
    ]
    return [*rows, Pooled(length, alpha1, predict("pooled", length, alpha1))]


def find_crossing(length: int, alpha1: float) -> list[Crossing]:
    """Solve for the critical cosine, and predict attention there anew."""
    found = theory.critical_cosine(
        problem_of(length), readout_of(alpha1), sharpness=SHARPNESS, tolerance=TOLERANCE
    )
    s = found.cosine if math.isfinite(found.cosine) else 0.0
    again = predict("attention", length, alpha1, s)
    return [
        Crossing(
            length,
            alpha1,
            predicted(found, "cosine", found.numerical_error),
            predicted(found, "test_error"),
            again,
        )
    ]


def simulate(
    model: str, alpha1: float, cosine: float, dimension: int, trials: int, seed: int
) -> list[Trials]:
    """Measure the test error of a model."""
    return [
        Trials(
            model, alpha1, cosine, _error(model, LENGTH, alpha1, cosine, dimension, trials, seed)
        )
    ]


def simulate_abundant(
    model: str, length: int, alpha1: float, cosine: float, trials: int, seed: int
) -> list[Abundant]:
    """Measure the test error of a model from very many samples."""
    error = _error(model, length, alpha1, cosine, SMALL, trials, seed)
    return [Abundant(model, length, alpha1, cosine, error)]


def _error(
    model: str, length: int, alpha1: float, cosine: float, dimension: int, trials: int, seed: int
) -> Measured:
    found = simulation.simulate(
        problem_of(length),
        model_of(model, cosine),
        readout_of(alpha1),
        dimension=dimension,
        trials=trials,
        seed=seed,
    )
    return measured(found, "test_error", dimension)
