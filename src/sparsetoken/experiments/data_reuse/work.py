"""What is computed and trained, and the rows that it makes."""

from __future__ import annotations

import dataclasses

from sparsetoken.beyond.reuse import ARMS, reuse_trial
from sparsetoken.experiments.experiment import Job
from sparsetoken.experiments.references import PROBLEM, References, predict_references
from sparsetoken.experiments.rows import Measured, averaged, averages
from sparsetoken.simulation.seeds import seed_of
from sparsetoken.stages import Readout, TwoSteps

__all__ = ["PROFILES", "Profile", "Trained", "jobs"]


@dataclasses.dataclass(frozen=True)
class Trained:
    """One way of using the data, trained with real tokens.

    Attributes
    ----------
    load : float
        n0/d = n1/d.
    arm : str
        One of `sparsetoken.beyond.reuse.ARMS`.
    test_error, cosine : Measured
        The cosine is that of the query with the signal.
    excess : Measured
        The test error less that of the arm "fresh" in the same trial.
    """

    load: float
    arm: str
    test_error: Measured
    cosine: Measured
    excess: Measured


@dataclasses.dataclass(frozen=True)
class Profile:
    """Sizes of the experiment.

    Attributes
    ----------
    loads : tuple of float
        n0/d = n1/d of the classifier with fresh data.
    dimension, trials : int
    """

    loads: tuple[float, ...]
    dimension: int
    trials: int


PROFILES = {
    "quick": Profile((0.5, 1.0, 2.0, 4.0), 200, 24),
    "paper": Profile((0.25, 0.5, 1.0, 2.0, 4.0, 8.0), 400, 100),
}


def jobs(profile: Profile, seed: int) -> list[Job]:
    """Return the jobs of a profile."""
    found = [Job(predict, (load,), 1.5) for load in profile.loads]
    for i, load in enumerate(profile.loads):
        cost = profile.trials * (0.2 + 0.03 * load * (profile.dimension / 200) ** 2)
        arguments = (load, profile.dimension, profile.trials, seed_of("data-reuse", i, seed))
        found.append(Job(train, arguments, cost))
    return found


def steps_of(load: float) -> TwoSteps:
    """Return the steps that find the query at a load."""
    return TwoSteps(load, eta_q=25.0)


def predict(load: float) -> list[References]:
    """Predict the references at a load."""
    return [predict_references(PROBLEM, steps_of(load), Readout(alpha=load))]


def train(load: float, dimension: int, trials: int, seed: int) -> list[Trained]:
    """Train all arms in all trials."""
    found = [
        reuse_trial(
            PROBLEM,
            steps_of(load),
            Readout(alpha=load),
            dimension=dimension,
            seed=seed,
            trial=i,
        )
        for i in range(trials)
    ]
    rows = []
    for arm in ARMS:
        reached = averages([trial[arm] for trial in found], ("test_error", "cosine"), dimension)
        excess = [trial[arm].test_error - trial["fresh"].test_error for trial in found]
        rows.append(Trained(load, arm, **reached, excess=averaged(excess, dimension)))
    return rows
