"""What is searched, computed and trained."""

from __future__ import annotations

import dataclasses

from sparsetoken import simulation, theory
from sparsetoken.beyond.classifier import Classifier, reached
from sparsetoken.experiments.experiment import Job
from sparsetoken.experiments.references import PROBLEM
from sparsetoken.experiments.rows import Measured, Predicted, averaged, measured, predicted
from sparsetoken.experiments.training_floor.rows import Levels, MessagesPassed, Searched
from sparsetoken.models import Attention, Pooled
from sparsetoken.results import Prediction, StatusCode
from sparsetoken.simulation.descent import descended
from sparsetoken.simulation.seeds import seed_of
from sparsetoken.simulation.tensors import TensorEngine
from sparsetoken.stages import JointDescent, Readout, TwoSteps
from sparsetoken.theory.oracle import BayesError, LearningError, bayes_error, learning_error
from sparsetoken.theory.tuning import best_descent, best_split, best_training

__all__ = ["DESCENT", "PROFILES", "STAGES", "Profile", "jobs"]

STAGES, DESCENT = "four stages", "one descent"
"""The trainings that are searched: all choices of the four stages, and one descent."""
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
    evaluations : int
        Of each search.
    dimension, trials : int
    replicas : int
        Of the theory of the descent that is found.
    """

    alphas: tuple[float, ...]
    searched: tuple[float, ...]
    steps: int
    evaluations: int
    dimension: int
    trials: int
    replicas: int


PROFILES = {
    "quick": Profile((0.5, 1.0, 2.0, 4.0), (0.5,), 16, 20, 800, 8, 8),
    "paper": Profile((0.25, 0.5, 1.0, 2.0, 4.0, 8.0), (0.5, 1.0, 2.0, 4.0), 20, 60, 1000, 12, 16),
}


def jobs(profile: Profile, seed: int) -> list[Job]:
    """Return the jobs of a profile."""
    found = [Job(predict, (alpha,), 3.0) for alpha in profile.alphas]
    sizes = profile.dimension, profile.trials
    size = (profile.dimension / 600) ** 2
    for i, alpha in enumerate(profile.searched):
        seeds = [
            seed_of("training-floor", name, i, seed) for name in ("message passing", "descent")
        ]
        found.append(Job(pass_messages, (alpha, *sizes, seeds[0]), profile.trials * alpha * size))
        cost = profile.evaluations * 0.05 * profile.steps
        search = (alpha, profile.evaluations, *sizes, seeds[1])
        found.append(Job(search_stages, search, 8.0 + 0.1 * profile.evaluations))
        found.append(
            Job(
                search_descent,
                (profile.steps, profile.replicas, *search),
                cost + profile.trials * size,
            )
        )
    return found


def predict(alpha: float) -> list[Levels]:
    """Predict the levels at a load."""
    pooled = theory.predict_point(PROBLEM, Pooled(), Readout(ridge=RIDGE, alpha=alpha), TOLERANCE)
    split = best_split(
        PROBLEM, stages_of(alpha), Readout(ridge=RIDGE), alpha, tolerance=TOLERANCE
    ).prediction
    return [Levels(alpha, _known(pooled), _known(split), *floors(alpha))]


def floors(alpha: float) -> tuple[Predicted, Predicted]:
    """Return the test errors of the best learner, and with the signal known."""
    return _known(learning_error(PROBLEM, alpha)), _known(bayes_error(PROBLEM))


def _known(found: Prediction | LearningError | BayesError) -> Predicted:
    return predicted(found, "test_error", found.numerical_error)


def stages_of(alpha: float) -> Attention:
    """Return attention whose search starts from an even split."""
    return Attention(TwoSteps(alpha / 2, eta_q=ETA_Q))


def pass_messages(alpha: float, dimension: int, trials: int, seed: int) -> list[MessagesPassed]:
    """Measure approximate message passing."""
    found = simulation.simulate_message_passing(
        PROBLEM, alpha, dimension=dimension, trials=trials, seed=seed
    )
    status = str(found.status.code)
    error = Measured(found.test_error, found.test_error_error, dimension, trials, "tensors", status)
    return [MessagesPassed(alpha, error)]


def search_stages(
    alpha: float, evaluations: int, dimension: int, trials: int, seed: int
) -> list[Searched]:
    """Search over all choices of the four stages, and train with the best."""
    readout = Readout(ridge=RIDGE, alpha=alpha / 2)
    best = best_training(
        PROBLEM, stages_of(alpha), readout, alpha, evaluations=evaluations, tolerance=TOLERANCE
    )
    found = simulation.simulate_point(
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
    return [Searched(alpha, STAGES, numbers, _known(best.prediction), error)]


def search_descent(
    steps: int,
    replicas: int,
    alpha: float,
    evaluations: int,
    dimension: int,
    trials: int,
    seed: int,
) -> list[Searched]:
    """Search over descents on all samples, and train with the best."""
    model = Attention(JointDescent(alpha, steps))
    best = best_descent(PROBLEM, model, evaluations=evaluations, replicas=replicas)
    course, descent = best.course, best.descent
    # The errors of the replicas are part of the comparison, so only divergence is a failure.
    diverged = course.status.code is StatusCode.NO_LIMIT
    status = str(StatusCode.NO_LIMIT if diverged else StatusCode.CONVERGED)
    theory_error = Predicted(
        float(course.test_error[-1]),
        float(course.errors.test_error[-1]),
        status,
    )
    eta_w, eta_q = (descent.per_step(name) for name in ("eta_w", "eta_q"))
    numbers = (
        f"{descent.steps} steps, η_w = {eta_w[0]:.2g}, η_q = {eta_q[1]:.3g}, then "
        f"η_w = {eta_w[-1]:.2g}, η_q = {eta_q[-1]:.1g} and decay {descent.decay_w:.2g}"
    )
    errors = [_trained(descent, dimension, seed_of(seed, trial)) for trial in range(trials)]
    return [Searched(alpha, DESCENT, numbers, theory_error, averaged(errors, dimension))]


def _trained(descent: JointDescent, dimension: int, seed: int) -> float:
    """Return the test error of a descent on real tokens."""
    engine = TensorEngine(PROBLEM, dimension, seed)
    *_, (w, q, b, _) = descended(engine, Attention(descent), descent)
    return reached(engine, Classifier(w, b, q), descent.beta).test_error
