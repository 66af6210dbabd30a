"""What is computed and trained, and the rows that it makes."""

from __future__ import annotations

import dataclasses

from sparsetoken.beyond.joint import STARTS, joint_trial
from sparsetoken.experiments.experiment import Job
from sparsetoken.experiments.references import PROBLEM, References, predict_references
from sparsetoken.experiments.rows import Measured, averages
from sparsetoken.simulation.seeds import seed_of
from sparsetoken.stages import Readout, TwoSteps

__all__ = ["PROFILES", "RATE", "AfterSteps", "Profile", "jobs"]

RATE = 0.5


@dataclasses.dataclass(frozen=True)
class AfterSteps:
    """The descent after a number of steps.

    Attributes
    ----------
    load : float
        n0/d = n1/d of the four stages on the same samples.
    start : str
        One of `sparsetoken.beyond.joint.STARTS`.
    steps : int
    test_error, cosine, sharpness : Measured
    objective, gradient_norm : Measured
        What is descended, and the norm of its gradient.
    """

    load: float
    start: str
    steps: int
    test_error: Measured
    cosine: Measured
    sharpness: Measured
    objective: Measured
    gradient_norm: Measured


@dataclasses.dataclass(frozen=True)
class Profile:
    """Sizes of the experiment.

    Attributes
    ----------
    loads : tuple of float
        n0/d = n1/d.
    steps : tuple of int
        Numbers of steps of the descent at which it is measured.
    dimension, trials : int
    """

    loads: tuple[float, ...]
    steps: tuple[int, ...]
    dimension: int
    trials: int


PROFILES = {
    "quick": Profile((1.0, 4.0), (0, 1, 3, 10, 30, 100, 300, 1000), 100, 8),
    "paper": Profile((1.0, 4.0), (0, 1, 3, 10, 30, 100, 300, 1000, 3000), 200, 24),
}


def jobs(profile: Profile, seed: int) -> list[Job]:
    """Return the jobs of a profile; both starts see the same data."""
    found = [Job(predict, (load,), 1.5) for load in profile.loads]
    for i, load in enumerate(profile.loads):
        step = 5e-4 * load * (profile.dimension / 100) ** 2
        cost = profile.trials * (0.07 * len(profile.steps) + step * profile.steps[-1])
        sizes = (profile.steps, profile.dimension, profile.trials)
        for start in STARTS:
            arguments = (load, start, *sizes, seed_of("joint-training", i, seed))
            found.append(Job(train, arguments, cost))
    return found


def predict(load: float) -> list[References]:
    """Predict the references at a load."""
    return [predict_references(PROBLEM, TwoSteps(load, eta_q=25.0), Readout(alpha=load))]


def train(
    load: float, start: str, steps: tuple[int, ...], dimension: int, trials: int, seed: int
) -> list[AfterSteps]:
    """Descend in all trials; one row for each number of steps."""
    found = [
        joint_trial(
            PROBLEM,
            TwoSteps(load, eta_q=25.0),
            Readout(alpha=load),
            begin=start,
            checkpoints=steps,
            rate=RATE,
            dimension=dimension,
            seed=seed,
            trial=i,
        )
        for i in range(trials)
    ]
    rows = []
    for states in zip(*found, strict=True):
        reached = [state.reached for state in states]
        columns = averages(reached, ("test_error", "cosine", "sharpness"), dimension)
        columns |= averages(states, ("objective", "gradient_norm"), dimension)
        rows.append(AfterSteps(load, start, states[0].steps, **columns))
    return rows
