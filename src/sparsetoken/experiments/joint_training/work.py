"""What is computed and trained."""

from __future__ import annotations

import dataclasses

from sparsetoken import theory
from sparsetoken.experiments.descents import course_status, follow_trials
from sparsetoken.experiments.experiment import Job, version
from sparsetoken.experiments.joint_training.rows import QUANTITIES, AtStep, Followed
from sparsetoken.experiments.references import PROBLEM, References, predict_references
from sparsetoken.experiments.rows import Predicted
from sparsetoken.models import Attention
from sparsetoken.results import Trajectory
from sparsetoken.simulation.seeds import seed_of
from sparsetoken.stages import JointDescent, Readout, TwoSteps

ALPHA = 2.0
"""n/d of all samples."""
ETA_W = 1.0
"""Step size of readout and bias."""
RATIOS = (0.25, 1.0, 4.0)
"""eta_q / eta_w."""
STARTS = (0.0, 0.3)
"""Lengths of query and readout before the first step, in random directions."""


@dataclasses.dataclass(frozen=True)
class Profile:
    """Sizes of the experiment.

    Attributes
    ----------
    steps : tuple of int
        Numbers of steps at which the simulation is measured; the last ends the descent.
    dimension, trials : int
        Of real tokens.
    far, far_trials : int
        Dimension and trials without tokens.
    replicas : int
        Of the theory.
    """

    steps: tuple[int, ...]
    dimension: int
    trials: int
    far: int
    far_trials: int
    replicas: int

    @property
    def simulations(self) -> tuple[tuple[str, int, int], ...]:
        """Engine, dimension and trials of both simulations."""
        return (
            ("tensors", self.dimension, self.trials),
            ("reduced", self.far, self.far_trials),
        )


PROFILES = {
    "quick": Profile((1, 2, 4, 6, 12, 24), 200, 10, 800, 12, 4),
    "paper": Profile((1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 24, 36, 48), 400, 16, 1600, 16, 16),
}


def jobs(profile: Profile, seed: int) -> list[Job]:
    """Return the jobs of a profile; each simulation of each descent has data of its own."""
    last = profile.steps[-1]
    cases = [(ratio, start) for ratio in RATIOS for start in STARTS]
    found = [Job(predict, (), 0.6)]
    for i, case in enumerate(cases):
        cost = profile.replicas * (last / 24) ** 2 / 2
        found.append(Job(follow, (*case, last, profile.replicas), cost))
        for engine, *sizes in profile.simulations:
            seeds = seed_of("joint-training", engine, i, seed)
            size, trials = sizes
            # Both engines go through n L numbers at each step; without tokens, of all steps before.
            step = (size / 1600) ** 2 if engine == "tensors" else last * size / 1600 / 2000
            arguments = (*case, engine, profile.steps, size, trials, seeds)
            found.append(Job(train, arguments, trials * (0.05 + last * step * 0.5)))
    return found


def descent_of(ratio: float, start: float, steps: int) -> JointDescent:
    """Return the descent with a ratio of step sizes, from weights of some length."""
    return JointDescent(ALPHA, steps, ETA_W, ratio * ETA_W, ETA_W, start_w=start, start_q=start)


@version(2)
def predict() -> list[References]:
    """Predict the references, where the four stages split the samples evenly."""
    steps, readout = TwoSteps(ALPHA / 2, eta_q=25.0), Readout(alpha1=ALPHA / 2)
    return [predict_references(PROBLEM, steps, readout, load=ALPHA, pooled_alpha1=ALPHA)]


@version(2)
def follow(ratio: float, start: float, steps: int, replicas: int) -> list[AtStep]:
    """Predict the course of a descent."""
    descent = descent_of(ratio, start, steps)
    found = theory.descend(PROBLEM, Attention(descent), replicas=replicas)
    status = course_status(found)
    return [
        AtStep(ratio, start, step, *(_at(found, name, step, status) for name in QUANTITIES))
        for step in range(len(found))
    ]


def _at(found: Trajectory, name: str, step: int, status: str) -> Predicted:
    error = float(getattr(found.errors, name)[step])
    return Predicted(float(getattr(found, name)[step]), error, status)


@version(2)
def train(
    ratio: float,
    start: float,
    engine: str,
    steps: tuple[int, ...],
    dimension: int,
    trials: int,
    seed: int,
) -> list[Followed]:
    """Descend in all trials; one row for each number of steps."""
    descent = descent_of(ratio, start, steps[-1])
    mean = follow_trials(descent, steps, dimension, trials, seed, engine)
    return [
        Followed(
            ratio,
            start,
            step,
            **{name: mean(name, step) for name in QUANTITIES},
            rise=mean("test_error", -1, step),
            fall=mean("training_loss", step, -1),
        )
        for step in steps
    ]
