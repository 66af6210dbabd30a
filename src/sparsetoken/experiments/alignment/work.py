"""What is computed and simulated."""

from __future__ import annotations

import dataclasses

import numpy as np

from sparsetoken import simulation, theory
from sparsetoken.experiments.alignment.rows import OtherSteps, Simulated, Theory
from sparsetoken.experiments.experiment import Job
from sparsetoken.experiments.rows import measured, predicted
from sparsetoken.problem import SparseTokenProblem
from sparsetoken.results import Alignment
from sparsetoken.simulation.seeds import seed_of
from sparsetoken.stages import TwoSteps

__all__ = ["PROFILES", "Profile", "jobs"]

PROBLEM = SparseTokenProblem(length=10, informative=3, strength=6.0, positive_rate=0.2)
STEPS = TwoSteps(eta_w=0.5, eta_b=0.5, eta_q=1.0)
OTHER_STEPS = ((0.1, 1.0), (10.0, 1.0), (1.0, 0.1), (1.0, 10.0))
"""Other choices of eta_q and beta."""


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
    dimension, trials : int
    curve_points : int
        Loads on the line of theory.
    """

    alphas: tuple[float, ...]
    key: tuple[float, ...] = (0.5, 2.0, 10.0)
    tensors: float = 2.0
    dimension: int = 1000
    trials: int = 10
    curve_points: int = 40


PROFILES = {
    "quick": Profile((0.25, 0.5, 1.0, 2.0, 5.0, 10.0)),
    "paper": Profile((0.25, 0.35, 0.5, 0.7, 1.0, 1.4, 2.0, 2.8, 4.0, 5.0, 7.0, 10.0)),
}


def jobs(profile: Profile, seed: int) -> list[Job]:
    """Return the jobs of a profile."""
    judged = tuple(sorted({*profile.alphas, profile.tensors}))
    found = [Job(predict_cosines, (judged, profile.curve_points), 5.0), Job(vary_steps, (), 0.5)]
    sizes = (profile.dimension, profile.trials)
    for i, alpha0 in enumerate(profile.alphas):
        arguments = (alpha0, "reduced", *sizes, seed_of("alignment", i, seed))
        found.append(Job(simulate_cosines, arguments, profile.trials * alpha0 * 0.01))
    arguments = (profile.tensors, "tensors", *sizes, seed_of("alignment", "tensors", seed))
    return [*found, Job(simulate_cosines, arguments, profile.trials * profile.tensors * 0.5)]


def align(alpha0: float, eta_q: float = 1.0, beta: float = 1.0) -> Alignment:
    """Return the predicted query at a load."""
    steps = dataclasses.replace(STEPS, alpha=alpha0, eta_q=eta_q, beta=beta)
    return theory.align_point(PROBLEM, steps)


def predict_cosines(judged: tuple[float, ...], curve_points: int) -> list[Theory]:
    """Predict at the loads that are judged, and on a line between the first and the last."""
    line = np.geomspace(judged[0], judged[-1], curve_points).tolist()
    rows = []
    for alpha0 in sorted({*judged, *line}):
        result = align(alpha0)
        names = ("cosine", "readout_cosine")
        rows.append(Theory(alpha0, *(predicted(result, name) for name in names)))
    return rows


def vary_steps() -> list[OtherSteps]:
    """Predict with other choices of eta_q and beta."""
    choices = ((1.0, 1.0), *OTHER_STEPS)
    found = [align(2.0, eta_q, beta) for eta_q, beta in choices]
    scaled = [a.sharpness / (eta_q * b**2) for a, (eta_q, b) in zip(found, choices, strict=True)]
    moved = max(abs(a.cosine - found[0].cosine) for a in found)
    return [OtherSteps(len(OTHER_STEPS), moved, max(scaled) / min(scaled))]


def simulate_cosines(
    alpha0: float, engine: str, dimension: int, trials: int, seed: int
) -> list[Simulated]:
    """Measure both cosines at a load."""
    result = simulation.simulate_alignment(
        PROBLEM,
        dataclasses.replace(STEPS, alpha=alpha0),
        dimension=dimension,
        trials=trials,
        seed=seed,
        engine=engine,
    )
    names = ("cosine", "readout_cosine")
    return [Simulated(alpha0, *(measured(result, name, dimension, engine) for name in names))]
