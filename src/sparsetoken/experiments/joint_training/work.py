"""What is computed and trained."""

from __future__ import annotations

import dataclasses
from typing import NamedTuple

from sparsetoken import theory
from sparsetoken.beyond.classifier import Classifier, reached
from sparsetoken.experiments.experiment import Job, version
from sparsetoken.experiments.joint_training.rows import QUANTITIES, AtStep, Followed
from sparsetoken.experiments.references import PROBLEM, References, predict_references
from sparsetoken.experiments.rows import Predicted, averaged, averages
from sparsetoken.models import Attention
from sparsetoken.results import StatusCode, Trajectory
from sparsetoken.simulation.descent import descended
from sparsetoken.simulation.seeds import seed_of
from sparsetoken.simulation.tensors import TensorEngine
from sparsetoken.stages import JointDescent, Readout, TwoSteps

__all__ = ["ALPHA", "PROFILES", "RATIOS", "STARTS", "Profile", "descent_of", "jobs"]

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
    replicas : int
        Of the theory.
    """

    steps: tuple[int, ...]
    dimension: int
    trials: int
    replicas: int


PROFILES = {
    "quick": Profile((1, 2, 4, 6, 12, 24), 400, 6, 4),
    "paper": Profile((1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 24, 36, 48), 800, 16, 16),
}


def jobs(profile: Profile, seed: int) -> list[Job]:
    """Return the jobs of a profile; all descents see the same data."""
    last, count = profile.steps[-1], len(profile.steps)
    cases = [(ratio, start) for ratio in RATIOS for start in STARTS]
    found = [Job(predict, (), 1.5)]
    found += [
        Job(follow, (*case, last, profile.replicas), profile.replicas * (last / 24) ** 2 / 2)
        for case in cases
    ]
    sizes = (profile.steps, profile.dimension, profile.trials, seed_of("joint-training", seed))
    one = 0.1 * count + last * (profile.dimension / 2000) ** 2
    return found + [Job(train, (*case, *sizes), profile.trials * one) for case in cases]


def descent_of(ratio: float, start: float, steps: int) -> JointDescent:
    """Return the descent with a ratio of step sizes, from weights of some length."""
    return JointDescent(ALPHA, steps, ETA_W, ratio * ETA_W, ETA_W, start_w=start, start_q=start)


@version(2)
def predict() -> list[References]:
    """Predict the references, where the four stages split the samples evenly."""
    steps, readout = TwoSteps(ALPHA / 2, eta_q=25.0), Readout(alpha=ALPHA / 2)
    return [predict_references(PROBLEM, steps, readout, load=ALPHA, pooled_alpha1=ALPHA)]


def follow(ratio: float, start: float, steps: int, replicas: int) -> list[AtStep]:
    """Predict the course of a descent."""
    descent = descent_of(ratio, start, steps)
    found = theory.descend_point(PROBLEM, Attention(descent), replicas=replicas)
    # The errors of the replicas are part of the comparison, so only divergence is a failure.
    diverged = found.status.code is StatusCode.NO_LIMIT
    status = str(StatusCode.NO_LIMIT if diverged else StatusCode.CONVERGED)
    return [
        AtStep(ratio, start, step, *(_at(found, name, step, status) for name in QUANTITIES))
        for step in range(len(found))
    ]


def _at(found: Trajectory, name: str, step: int, status: str) -> Predicted:
    error = float(getattr(found.errors, name)[step])
    return Predicted(float(getattr(found, name)[step]), error, status)


class _State(NamedTuple):
    test_error: float
    training_loss: float
    cosine: float


def train(
    ratio: float, start: float, steps: tuple[int, ...], dimension: int, trials: int, seed: int
) -> list[Followed]:
    """Descend on real tokens in all trials; one row for each number of steps."""
    descent = descent_of(ratio, start, steps[-1])
    courses = [_course(descent, steps, dimension, seed_of(seed, trial)) for trial in range(trials)]
    rows = []
    for i, step in enumerate(steps):
        states = [course[i] for course in courses]
        pairs = [(course[i], course[-1]) for course in courses]
        row = Followed(
            ratio,
            start,
            step,
            **averages(states, QUANTITIES, dimension),
            rise=averaged([b.test_error - a.test_error for a, b in pairs], dimension),
            fall=averaged([a.training_loss - b.training_loss for a, b in pairs], dimension),
        )
        rows.append(row)
    return rows


def _course(
    descent: JointDescent, steps: tuple[int, ...], dimension: int, seed: int
) -> list[_State]:
    engine, states = TensorEngine(PROBLEM, dimension, seed), []
    for step, (w, q, b, loss) in enumerate(descended(engine, Attention(descent), descent)):
        if step in steps:
            found = reached(engine, Classifier(w, b, q), descent.beta)
            states.append(_State(found.test_error, loss, found.cosine))
    return states
