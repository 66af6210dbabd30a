"""What is searched, computed and trained."""

from __future__ import annotations

import dataclasses

import numpy as np

from sparsetoken import simulation, theory
from sparsetoken.beyond.classifier import Classifier, reached
from sparsetoken.experiments.descents import course_status, follow_trials
from sparsetoken.experiments.experiment import Job, version
from sparsetoken.experiments.references import PROBLEM
from sparsetoken.experiments.rows import Predicted, averaged, measured, predicted_error
from sparsetoken.experiments.training_floor.rows import (
    Levels,
    MessagesPassed,
    Schedule,
    Searched,
)
from sparsetoken.models import Attention, Pooled
from sparsetoken.simulation.descent import descended
from sparsetoken.simulation.seeds import seed_of
from sparsetoken.simulation.tensors import TensorEngine
from sparsetoken.stages import JointDescent, Readout, TwoSteps
from sparsetoken.theory.oracle import bayes_error, learning_error
from sparsetoken.theory.tuning import BestDescent, best_descent, best_split, best_training
from sparsetoken.theory.tuning.families import FAMILIES, FREE

STAGES, DESCENT = "four stages", "constant"
"""The trainings that are searched: all choices of the four stages, and one descent, of whose
families this one is measured with real tokens as well."""
RESTING = "two_steps"
"""The family whose query is trained first and then nearly rests, as that of the four stages."""
FARTHER = 4
"""Times the dimension at which the descent is followed without tokens."""
ETA_Q, RIDGE = 40.0, 1e-2
"""Of the four stages whose split alone is chosen."""
TOLERANCE = 1e-3
"""Of predictions and searches, far below the differences between trainings."""


@dataclasses.dataclass(frozen=True)
class Profile:
    """Sizes of the experiment.

    Attributes
    ----------
    alphas : tuple of float
        n/d of all samples.
    searched : tuple of float
        Those of them where trainings are searched.
    steps : int
        The most steps of a descent.
    families : tuple of str
        Of descents that are searched, `DESCENT` and `RESTING` among them. ``free`` goes on from
        what the search of `DESCENT` finds.
    evaluations : int
        Of each search.
    dimension, trials : int
        Of real tokens; the descent is followed without them at `FARTHER` times the dimension.
    replicas : int
        Of the theory of the descent that is found.
    """

    alphas: tuple[float, ...]
    searched: tuple[float, ...]
    steps: int
    families: tuple[str, ...]
    evaluations: int
    dimension: int
    trials: int
    replicas: int


PROFILES = {
    "quick": Profile((0.5, 1.0, 2.0, 4.0), (0.5,), 16, (RESTING, DESCENT), 16, 800, 8, 8),
    "paper": Profile(
        (0.25, 0.5, 1.0, 2.0, 4.0, 8.0),
        (0.5, 2.0),
        20,
        (*FAMILIES, FREE),
        60,
        1000,
        12,
        16,
    ),
}


def jobs(profile: Profile, seed: int) -> list[Job]:
    """Return the jobs of a profile."""
    found = [Job(predict, (alpha,), 1.5) for alpha in profile.alphas]
    sizes = profile.dimension, profile.trials
    size = (profile.dimension / 600) ** 2
    for i, alpha in enumerate(profile.searched):
        seeds = [
            seed_of("training-floor", name, i, seed) for name in ("message passing", "descent")
        ]
        found.append(Job(pass_messages, (alpha, *sizes, seeds[0]), profile.trials * alpha * size))
        search = (alpha, profile.evaluations, *sizes, seeds[1])
        found.append(Job(search_stages, search, 3.0 + 0.15 * profile.evaluations))
        cost = profile.evaluations * 0.04 * profile.steps
        for family in profile.families:
            searched = (family, profile.steps, profile.replicas, *search)
            measured = profile.trials * size * (family == DESCENT)
            found.append(Job(search_descent, searched, cost * (1 + (family == FREE)) + measured))
    return found


def predict(alpha: float) -> list[Levels]:
    """Predict the levels at a load."""
    readout = Readout(ridge=RIDGE, alpha1=alpha)
    pooled = theory.predict(PROBLEM, Pooled(), readout, tolerance=TOLERANCE)
    split = best_split(
        PROBLEM, stages_of(alpha), Readout(ridge=RIDGE), alpha, tolerance=TOLERANCE
    ).prediction
    return [Levels(alpha, predicted_error(pooled), predicted_error(split), *floors(alpha))]


def floors(alpha: float) -> tuple[Predicted, Predicted]:
    """Return the test errors of the best learner, and with the signal known."""
    return predicted_error(learning_error(PROBLEM, alpha)), predicted_error(bayes_error(PROBLEM))


def stages_of(alpha: float) -> Attention:
    """Return attention whose search starts from an even split."""
    return Attention(TwoSteps(alpha / 2, eta_q=ETA_Q))


def pass_messages(alpha: float, dimension: int, trials: int, seed: int) -> list[MessagesPassed]:
    """Measure approximate message passing."""
    found = simulation.pass_messages(PROBLEM, alpha, dimension=dimension, trials=trials, seed=seed)
    error = measured(found, "test_error", dimension, "tensors")
    error = dataclasses.replace(error, values=())
    return [MessagesPassed(alpha, error)]


@version(2)
def search_stages(
    alpha: float, evaluations: int, dimension: int, trials: int, seed: int
) -> list[Searched]:
    """Search over all choices of the four stages, and train with the best."""
    readout = Readout(ridge=RIDGE, alpha1=alpha / 2)
    best = best_training(
        PROBLEM, stages_of(alpha), readout, alpha, evaluations=evaluations, tolerance=TOLERANCE
    )
    found = simulation.simulate(
        PROBLEM,
        Attention(best.steps),
        best.readout,
        dimension=dimension,
        trials=trials,
        seed=seed,
        engine="tensors",
    )
    numbers = (
        f"share of D0 {best.share:.2f}, η_w = {best.steps.eta_w:.2g}, "
        f"η_q = {best.steps.eta_q:.3g}, λ = {best.readout.ridge:.2g}"
    )
    error = measured(found, "test_error", dimension, "tensors")
    return [Searched(alpha, STAGES, numbers, predicted_error(best.prediction), error)]


@version(4)
def search_descent(
    family: str,
    steps: int,
    replicas: int,
    alpha: float,
    evaluations: int,
    dimension: int,
    trials: int,
    seed: int,
) -> list[Schedule | Searched]:
    """Search over the descents of a family on all samples; train with the best of `DESCENT`."""
    given = JointDescent(alpha, steps)
    if family == FREE:
        given = _best(DESCENT, given, evaluations, 2).descent
    best = _best(family, given, evaluations, replicas)
    course, descent = best.course, best.descent
    worth = Predicted(
        float(course.test_error[-1]),
        float(course.errors.test_error[-1]),
        course_status(course),
    )
    numbers = numbers_of(descent)
    found: list[Schedule | Searched] = [Schedule(alpha, family, numbers, best.evaluations, worth)]
    if family == DESCENT:
        near = [_trained(descent, dimension, seed_of(seed, trial)) for trial in range(trials)]
        far = FARTHER * dimension
        mean = follow_trials(descent, [descent.steps], far, trials, seed)
        without_tokens = mean("test_error", -1)
        for measured_error in (averaged(near, dimension), without_tokens):
            found.append(Searched(alpha, DESCENT, numbers, worth, measured_error))
    return found


def _best(family: str, given: JointDescent, evaluations: int, replicas: int) -> BestDescent:
    return best_descent(
        PROBLEM, Attention(given), family=family, evaluations=evaluations, replicas=replicas
    )


def numbers_of(descent: JointDescent) -> str:
    """Return the numbers of a descent for readers, schedules by their first and last numbers."""
    sizes = {
        "η_w": descent.per_step("eta_w"),
        "η_q": descent.per_step("eta_q"),
        "momentum": descent.per_step("momentum"),
    }
    words = [f"{name} = {_listed(values)}" for name, values in sizes.items()]
    return ", ".join([f"{descent.steps} steps", *words, f"decay {descent.decay_w:.2g}"])


def _listed(sizes: np.ndarray) -> str:
    own = list(dict.fromkeys(f"{size:.2g}" for size in sizes.tolist()))
    return ", ".join(own) if len(own) <= 3 else f"{own[0]}, {own[1]}, ..., {own[-1]}"


def _trained(descent: JointDescent, dimension: int, seed: int) -> float:
    """Return the test error of a descent on real tokens."""
    engine = TensorEngine(PROBLEM, dimension, seed)
    *_, (w, q, b, _) = descended(engine, Attention(descent), descent)
    return reached(engine, Classifier(w, b, q), descent.beta).test_error
