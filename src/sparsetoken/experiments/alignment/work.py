"""What is computed and simulated."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np

from sparsetoken import presets, simulation, theory
from sparsetoken.experiments.alignment.rows import OtherSteps, Simulated, Theory
from sparsetoken.experiments.claims import COMPUTED
from sparsetoken.experiments.experiment import Job, version
from sparsetoken.experiments.rows import measured, predicted
from sparsetoken.results import Alignment, FoundQuery
from sparsetoken.simulation.seeds import seed_of

PROBLEM, STEPS = presets.alignment().problem, presets.alignment().query
OTHER_STEPS = ((0.1, 1.0), (10.0, 1.0), (1.0, 0.1), (1.0, 10.0))
"""Other choices of eta_q and beta."""
STEPS_SIZES = (200, 3)
"""Dimension and trials with real tokens there: each trial must show it, so that few will do."""


@dataclasses.dataclass(frozen=True)
class Profile:
    """Sizes of the experiment.

    Attributes
    ----------
    alphas : tuple of float
        Loads alpha0 = n0/d that are simulated.
    key : tuple of float
        Loads whose comparisons open the report.
    tensors : float
        The load repeated with real tensors.
    dimensions : tuple of int
        Of the reduced engine; its cosines are carried to infinite dimension.
    reduced_trials : int
        At d = 1000; in inverse proportion to d elsewhere.
    dimension, trials : int
        With real tensors.
    curve_points : int
        Loads on the line of theory.
    """

    alphas: tuple[float, ...]
    key: tuple[float, ...] = (0.5, 2.0, 10.0)
    tensors: float = 2.0
    dimensions: tuple[int, ...] = (500, 1000, 2000)
    reduced_trials: int = 400
    dimension: int = 1000
    trials: int = 10
    curve_points: int = 40


PROFILES = {
    "quick": Profile((0.25, 0.5, 1.0, 2.0, 5.0, 10.0)),
    "paper": Profile(
        (0.25, 0.35, 0.5, 0.7, 1.0, 1.4, 2.0, 2.8, 4.0, 5.0, 7.0, 10.0),
        dimensions=(1000, 2000, 4000),
        reduced_trials=2000,
    ),
}


def jobs(profile: Profile, seed: int) -> list[Job]:
    """Return the jobs of a profile."""
    judged = tuple(sorted({*profile.alphas, profile.tensors}))
    steps = (*STEPS_SIZES, seed_of("alignment", "steps", seed))
    found = [
        Job(predict_cosines, (judged, profile.curve_points), 0.05),
        Job(vary_steps, steps, 0.5),
    ]
    for i, alpha0 in enumerate(profile.alphas):
        for d in profile.dimensions:
            trials = profile.reduced_trials * 1000 // d
            arguments = (alpha0, "reduced", d, trials, seed_of("alignment", i, d, seed))
            found.append(Job(simulate_cosines, arguments, trials * 0.0013))
    sizes = (profile.dimension, profile.trials)
    arguments = (profile.tensors, "tensors", *sizes, seed_of("alignment", "tensors", seed))
    return [*found, Job(simulate_cosines, arguments, profile.trials * profile.tensors * 0.5)]


def align(alpha0: float, eta_q: float = 1.0, beta: float = 1.0) -> Alignment:
    """Return the predicted query at a load."""
    steps = dataclasses.replace(STEPS, alpha0=alpha0, eta_q=eta_q, beta=beta)
    return theory.align(PROBLEM, steps)


def predict_cosines(judged: tuple[float, ...], curve_points: int) -> list[Theory]:
    """Predict at the loads that are judged, and on a line between the first and the last."""
    line = np.geomspace(judged[0], judged[-1], curve_points).tolist()
    rows = []
    for alpha0 in sorted({*judged, *line}):
        result = align(alpha0)
        names = ("cosine", "readout_cosine")
        rows.append(Theory(alpha0, *(predicted(result, name) for name in names)))
    return rows


@version(2)
def vary_steps(dimension: int, trials: int, seed: int) -> list[OtherSteps]:
    """Predict with other choices of eta_q and beta, and take the steps on the same real tokens."""
    choices = ((1.0, 1.0), *OTHER_STEPS)
    predicted_all = [align(2.0, eta_q, beta) for eta_q, beta in choices]
    measured_all = [
        simulation.align(
            PROBLEM,
            dataclasses.replace(STEPS, alpha0=2.0, eta_q=eta_q, beta=beta),
            dimension=dimension,
            trials=trials,
            seed=seed,
            engine="tensors",
        ).trials
        for eta_q, beta in choices
    ]
    return [_compared(COMPUTED, predicted_all), _compared("tensors", measured_all)]


def _compared(engine: str, found: Sequence[FoundQuery]) -> OtherSteps:
    """Return how far queries of the other choices are from that of the first."""
    choices = ((1.0, 1.0), *OTHER_STEPS)
    cosines = np.stack([np.atleast_1d(a.cosine) for a in found])
    norms = np.stack([np.atleast_1d(a.norm) for a in found])
    scaled = norms / np.array([[eta_q * beta] for eta_q, beta in choices])  # sharpness: beta |q|
    return OtherSteps(
        engine,
        len(OTHER_STEPS),
        float(np.max(np.abs(cosines - cosines[0]))),
        float(np.max(scaled.max(axis=0) / scaled.min(axis=0))),
    )


def simulate_cosines(
    alpha0: float, engine: str, dimension: int, trials: int, seed: int
) -> list[Simulated]:
    """Measure both cosines at a load."""
    result = simulation.align(
        PROBLEM,
        dataclasses.replace(STEPS, alpha0=alpha0),
        dimension=dimension,
        trials=trials,
        seed=seed,
        engine=engine,
    )
    names = ("cosine", "readout_cosine")
    return [Simulated(alpha0, *(measured(result, name, dimension, engine) for name in names))]
