"""What is computed and trained, and the rows that it makes."""

from __future__ import annotations

import dataclasses
from typing import Any

from sparsetoken.beyond.query_steps import steps_trial
from sparsetoken.experiments.experiment import Job, version
from sparsetoken.experiments.references import PROBLEM, References, predict_references
from sparsetoken.experiments.rows import Measured, averaged, averages
from sparsetoken.simulation.seeds import seed_of
from sparsetoken.stages import Readout, TwoSteps

ALPHA0, ALPHA1 = 1.0, 2.0
SIZES = (5.0, 25.0)
"""Step sizes eta_q: with the larger the two-step query has sharpness near 1."""
HELD = 1.0
"""The sharpness of the second classifier after each step."""


@dataclasses.dataclass(frozen=True)
class AfterStep:
    """The classifier whose query took so many gradient steps.

    Attributes
    ----------
    eta_q : float
    step : int
        Gradient steps in all, the first of them on the readout.
    test_error, cosine, sharpness : Measured
        With the query as it is.
    held_test_error : Measured
        With the query rescaled to the held sharpness.
    change : Measured
        The test error less that after two steps in the same trial.
    """

    eta_q: float
    step: int
    test_error: Measured
    cosine: Measured
    sharpness: Measured
    held_test_error: Measured
    change: Measured


@dataclasses.dataclass(frozen=True)
class Profile:
    """Sizes of the experiment."""

    dimension: int
    trials: int
    last_step: int = 10


PROFILES = {"quick": Profile(150, 20), "paper": Profile(400, 60)}


def jobs(profile: Profile, seed: int) -> list[Job]:
    """Return the jobs of a profile; all step sizes see the same data."""
    cost = profile.trials * (0.7 + 0.4 * (profile.dimension / 150) ** 2)
    sizes = (profile.last_step, profile.dimension, profile.trials, seed_of("query-steps", seed))
    return [Job(predict, (), 0.6), *(Job(train, (eta_q, *sizes), cost) for eta_q in SIZES)]


@version(2)
def predict() -> list[References]:
    """Predict the references, with the larger step size."""
    return [predict_references(PROBLEM, TwoSteps(ALPHA0, eta_q=SIZES[-1]), Readout(alpha1=ALPHA1))]


def train(eta_q: float, last_step: int, dimension: int, trials: int, seed: int) -> list[AfterStep]:
    """Train in all trials; one row for each number of steps."""
    stages = TwoSteps(ALPHA0, eta_q=eta_q), Readout(alpha1=ALPHA1)
    steps: dict[str, Any] = {"last_step": last_step, "held_sharpness": HELD}
    found = [
        steps_trial(PROBLEM, *stages, dimension=dimension, seed=seed, trial=i, **steps)
        for i in range(trials)
    ]
    first = [path[0].free.test_error for path in found]
    rows = []
    for step, refits in enumerate(zip(*found, strict=True), start=2):
        free = [refit.free for refit in refits]
        change = [now.test_error - then for now, then in zip(free, first, strict=True)]
        row = AfterStep(
            eta_q,
            step,
            **averages(free, ("test_error", "cosine", "sharpness"), dimension),
            held_test_error=averaged([refit.held.test_error for refit in refits], dimension),
            change=averaged(change, dimension),
        )
        rows.append(row)
    return rows
