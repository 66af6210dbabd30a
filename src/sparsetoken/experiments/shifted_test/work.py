"""What is computed and simulated."""

from __future__ import annotations

import dataclasses
import itertools

from sparsetoken import simulation, theory
from sparsetoken.experiments.experiment import Job
from sparsetoken.experiments.rows import measured, predicted_error
from sparsetoken.experiments.shifted_test.rows import Simulated, Theory
from sparsetoken.models import make_model
from sparsetoken.problem import SparseTokenProblem
from sparsetoken.results import Prediction, Simulation, TrialOutcome
from sparsetoken.simulation.seeds import seed_of
from sparsetoken.stages import Query, Readout

PROBLEM = SparseTokenProblem(length=10, informative=1, strength=5.0, positive_rate=0.5)
QUERY = Query(0.9, 1.0)
ALPHA1 = 4.0
READOUT = Readout("logistic", ridge=1e-2, alpha1=ALPHA1)
MODELS = ("attention", "pooled")


@dataclasses.dataclass(frozen=True)
class Profile:
    """Sizes of the experiment.

    Attributes
    ----------
    trials, dimension : int
    length, positive_rate, strength : tuple
        Of the test data; the others stay as they were in training.
    """

    trials: int
    dimension: int = 400
    length: tuple[int, ...] = (5, 10, 20, 40, 80)
    positive_rate: tuple[float, ...] = (0.1, 0.5, 0.9)
    strength: tuple[float, ...] = (2.0, 3.5, 6.5, 8.0)

    @property
    def shifts(self) -> dict[str, tuple[float, ...]]:
        """The values in the test data of each parameter that is changed."""
        names = ("length", "positive_rate", "strength")
        return {name: getattr(self, name) for name in names}


PROFILES = {
    "quick": Profile(trials=8),
    "paper": Profile(
        trials=32,
        dimension=1000,
        length=(5, 7, 10, 14, 20, 28, 40, 57, 80),
        positive_rate=(0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95),
        strength=(1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0),
    ),
}


def jobs(profile: Profile, seed: int) -> list[Job]:
    """Return the jobs of a profile."""
    found, size = [], (profile.dimension / 400) ** 3
    for model, (shift, values) in itertools.product(MODELS, profile.shifts.items()):
        found.append(Job(predict_shift, (model, shift, values), 0.14 * len(values)))
        # One seed for a model: the same trained classifiers meet all test data.
        sizes = (profile.dimension, profile.trials, seed_of("shifted-test", model, seed))
        for value in values:
            tokens = value if shift == "length" else PROBLEM.length
            cost = profile.trials * (0.025 * size + 0.001 * tokens)
            found.append(Job(simulate_shift, (model, shift, value, *sizes), cost))
    return found


def shifted(shift: str, value: float) -> SparseTokenProblem:
    """Return the problem of the test data."""
    changed = {shift: int(value) if shift == "length" else value}
    return dataclasses.replace(PROBLEM, **changed)  # type: ignore[arg-type]


def predict(model: str, test_problem: SparseTokenProblem) -> Prediction:
    """Return the prediction for test data of another law."""
    classifier = make_model(model, QUERY)
    return theory.predict(PROBLEM, classifier, READOUT, test_problem=test_problem, tolerance=1e-3)


def simulate(
    model: str, test_problem: SparseTokenProblem, dimension: int, trials: int, seed: int
) -> Simulation[TrialOutcome]:
    """Run trials with test data of another law."""
    return simulation.simulate(
        PROBLEM,
        make_model(model, QUERY),
        READOUT,
        dimension=dimension,
        trials=trials,
        seed=seed,
        test_problem=test_problem,
    )


def predict_shift(model: str, shift: str, values: tuple[float, ...]) -> list[Theory]:
    """Predict at the values that are simulated, and at one between each two."""
    middle = [(a + b) / 2 for a, b in itertools.pairwise(values)]
    if shift == "length":
        middle = [round(value) for value in middle]
    rows = []
    for value in sorted({*values, *middle}):
        found = predict(model, shifted(shift, value))
        error = predicted_error(found)
        rows.append(Theory(model, shift, float(value), error))
    return rows


def simulate_shift(
    model: str, shift: str, value: float, dimension: int, trials: int, seed: int
) -> list[Simulated]:
    """Measure at one value."""
    found = simulate(model, shifted(shift, value), dimension, trials, seed)
    return [Simulated(model, shift, float(value), measured(found, "test_error", dimension))]
