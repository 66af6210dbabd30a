"""What is computed and simulated."""

from __future__ import annotations

import dataclasses

import numpy as np

from sparsetoken import simulation, theory
from sparsetoken.experiments.experiment import Job, version
from sparsetoken.experiments.rows import measured, predicted_error
from sparsetoken.experiments.token_covariance.rows import Simulated, Theory
from sparsetoken.models import Attention, Model, Pooled
from sparsetoken.problem import SparseTokenProblem
from sparsetoken.simulation.seeds import seed_of
from sparsetoken.stages import Query, Readout, TwoSteps
from sparsetoken.tokens import TokenCovariance

LENGTH, STRENGTH = 10, 5.0
QUERY = Query(0.9, 1.0)
STEPS = TwoSteps(alpha0=2.0, eta_q=25.0)
READOUT = Readout("logistic", ridge=1e-2, alpha1=2.0)
SLOPE = 0.9  # of the shared covariance: neighbouring features of a sample go together
CLASSIFIERS = {"between": ("attention", "pooled"), "decay": ("attention", "whitened", "pooled")}


@dataclasses.dataclass(frozen=True)
class Profile:
    """Sizes of the experiment.

    Attributes
    ----------
    dimension, trials : int
    between, decay : tuple of float
        Sizes of the shared covariance, and powers of the spectrum.
    """

    dimension: int
    trials: int
    between: tuple[float, ...] = (0.0, 0.25, 0.5, 1.0)
    decay: tuple[float, ...] = (0.0, 0.2, 0.4, 0.6)


PROFILES = {
    "quick": Profile(dimension=400, trials=8),
    "paper": Profile(
        dimension=1000,
        trials=12,
        between=(0.0, 0.1, 0.25, 0.5, 1.0, 2.0),
        decay=(0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6),
    ),
}


def jobs(profile: Profile, seed: int) -> list[Job]:
    """Return the jobs of a profile."""
    found, size = [], (profile.dimension / 400) ** 3
    for change, classifiers in CLASSIFIERS.items():
        for i, value in enumerate(getattr(profile, change)):
            # Classifiers that are compared meet the same samples.
            own = seed_of("token-covariance", change, i, seed)
            for classifier in classifiers:
                place = (change, value, classifier, profile.dimension)
                found.append(Job(predict_error, place, 0.1 + 0.13 * size))
                cost = 0.2 * profile.trials * size
                found.append(Job(simulate_error, (*place, profile.trials, own), cost))
    return found


def problem_at(change: str, value: float, classifier: str, dimension: int) -> SparseTokenProblem:
    """Return the problem, or that of whitened tokens.

    The eigenvalues within samples have the mean 1. The signal has projections of all sizes on
    the eigenvectors.
    """
    j = np.arange(dimension)
    signal = np.cos(1.7 * j)
    signal /= np.linalg.norm(signal)
    if change == "between":
        shared = value * SLOPE ** np.abs(j[:, None] - j) if value else None
        return _problem(STRENGTH, np.ones(dimension), shared, signal)
    spectrum = (j + 1.0) ** -value
    spectrum /= spectrum.mean()
    if classifier != "whitened":
        return _problem(STRENGTH, spectrum, None, signal)
    turned = signal / np.sqrt(spectrum)
    length = float(np.linalg.norm(turned))
    return _problem(STRENGTH * length, np.ones(dimension), None, turned / length)


def _problem(
    strength: float, within: np.ndarray, between: np.ndarray | None, signal: np.ndarray
) -> SparseTokenProblem:
    return SparseTokenProblem(
        LENGTH, 1, strength, tokens=TokenCovariance(within, between, signal=signal)
    )


def model_of(change: str, classifier: str) -> Model:
    """Return the model: a given query beside shared effects, else the query of two steps."""
    if classifier == "pooled":
        return Pooled()
    return Attention(QUERY if change == "between" else STEPS)


@version(2)
def predict_error(change: str, value: float, classifier: str, dimension: int) -> list[Theory]:
    """Predict at one place."""
    problem = problem_at(change, value, classifier, dimension)
    found = theory.predict(problem, model_of(change, classifier), READOUT, tolerance=1e-3)
    error = predicted_error(found)
    return [Theory(change, value, classifier, error)]


@version(2)
def simulate_error(
    change: str, value: float, classifier: str, dimension: int, trials: int, seed: int
) -> list[Simulated]:
    """Measure with real tokens at one place."""
    found = simulation.simulate(
        problem_at(change, value, classifier, dimension),
        model_of(change, classifier),
        READOUT,
        dimension=dimension,
        trials=trials,
        seed=seed,
        engine="tensors",
    )
    error = measured(found, "test_error", dimension, "tensors")
    return [Simulated(change, value, classifier, error)]
