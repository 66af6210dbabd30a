"""What is computed and simulated."""

from __future__ import annotations

import dataclasses
import math

import numpy as np

from sparsetoken import simulation, theory
from sparsetoken.experiments.experiment import Job
from sparsetoken.experiments.misalignment.rows import AtCosine, Crossing, Pooled, Trials
from sparsetoken.experiments.rows import Predicted, measured, predicted
from sparsetoken.models import Attention, Model, make_model
from sparsetoken.problem import SparseTokenProblem
from sparsetoken.simulation.seeds import seed_of
from sparsetoken.stages import Query, Readout

__all__ = ["LENGTH", "PROFILES", "TOLERANCE", "Profile", "jobs"]

LENGTH = 10
SHARPNESS = 1.0
TOLERANCE = 1e-3


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
    curve_points : int
    """

    trials: int
    dimension: int = 600
    alphas: tuple[float, ...] = (2.0, 8.0)
    measured: tuple[float, ...] = (0.0, 0.1, 0.35, 0.6)
    lengths: tuple[int, ...] = (4, 10, 30, 100)
    curve_points: int = 21


PROFILES = {
    "quick": Profile(trials=12),
    "paper": Profile(
        trials=64,
        dimension=1000,
        alphas=(2.0, 4.0, 8.0, 16.0),
        measured=(0.0, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.75, 1.0),
        lengths=(4, 10, 30, 100, 300),
        curve_points=41,
    ),
}


def jobs(profile: Profile, seed: int) -> list[Job]:
    """Return the jobs of a profile."""
    grid = (profile.curve_points, profile.measured)
    places = [(LENGTH, alpha1) for alpha1 in profile.alphas]
    places += [(L, math.inf) for L in sorted({LENGTH, *profile.lengths})]
    found = []
    for L, alpha1 in places:
        cost = 0.06 * profile.curve_points * (1 + L / 40)
        found.append(Job(predict_line, (L, alpha1, *grid), cost))
        found.append(Job(find_crossing, (L, alpha1), 0.5 * cost))
    size = (profile.dimension / 600) ** 3
    for i, alpha1 in enumerate(profile.alphas):
        cost = profile.trials * (0.05 + 0.03 * size * alpha1)
        sizes = (profile.dimension, profile.trials)
        # Attention and pooling are compared at the same load: they share the seed.
        place = seed_of("misalignment", i, seed)
        found += [
            Job(simulate, ("attention", alpha1, s, *sizes, place), cost) for s in profile.measured
        ]
        found.append(Job(simulate, ("pooled", alpha1, 0.0, *sizes, place), cost))
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
    found = theory.predict_point(
        problem_of(length), model_of(name, cosine), readout_of(alpha1), TOLERANCE / 2
    )
    return predicted(found, "test_error", found.numerical_error)


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
    again = theory.predict_point(
        problem_of(length), Attention(Query(s, SHARPNESS)), readout_of(alpha1), TOLERANCE / 2
    )
    return [
        Crossing(
            length,
            alpha1,
            predicted(found, "cosine", found.numerical_error),
            predicted(found, "test_error"),
            predicted(again, "test_error", again.numerical_error),
        )
    ]


def simulate(
    model: str, alpha1: float, cosine: float, dimension: int, trials: int, seed: int
) -> list[Trials]:
    """Measure the test error of a model."""
    found = simulation.simulate_point(
        problem_of(LENGTH),
        model_of(model, cosine),
        readout_of(alpha1),
        dimension=dimension,
        trials=trials,
        seed=seed,
    )
    return [Trials(model, alpha1, cosine, measured(found, "test_error", dimension))]
