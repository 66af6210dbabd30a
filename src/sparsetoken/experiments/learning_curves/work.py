"""What is computed and simulated."""

from __future__ import annotations

import dataclasses

import numpy as np

from sparsetoken import presets, simulation, theory
from sparsetoken.experiments.experiment import Job
from sparsetoken.experiments.learning_curves.rows import (
    QUANTITIES,
    BestLearner,
    Effect,
    OnLine,
    Simulated,
    Theory,
)
from sparsetoken.experiments.rows import Measured, Predicted, measured, predicted, predicted_error
from sparsetoken.models import Attention, Model
from sparsetoken.results import Prediction
from sparsetoken.simulation.seeds import seed_of
from sparsetoken.stages import Query
from sparsetoken.theory.oracle import learning_error

LOSSES = ("logistic", "square")
PROBLEM = presets.learning_curves().problem
ALPHA0 = presets.learning_curves().query.alpha0
JUDGED, LINE = 1e-4, 1e-3
"""Tolerances of the theory, where it is judged and on a line."""
AUC_ERROR = 1e-4  # of the rule that integrates a predicted ROC curve
MODELS = ("attention", "pooled", "vectorized")


@dataclasses.dataclass(frozen=True)
class Profile:
    """Sizes of the experiment.

    Attributes
    ----------
    alphas, vectorized_alphas : tuple of float
        alpha1 = n1/d that are simulated; the vectorized fit costs n1^3.
    trials : int
        Half as many with real tensors.
    key : tuple of float
        alpha1 whose comparisons open the report.
    tensors : float
        The alpha1 of attention repeated with real tensors.
    dimension : int
    curve_points, effect_points, floor_points : int
        Points on a line of theory, on a line for one choice of the query, and on the floor.
    alpha0s, sharpnesses : tuple of float
        The choices of the query.
    """

    alphas: tuple[float, ...]
    vectorized_alphas: tuple[float, ...]
    trials: int
    key: tuple[float, ...] = (2.0,)
    tensors: float = 2.0
    dimension: int = 1000
    curve_points: int = 48
    effect_points: int = 7
    floor_points: int = 9
    alpha0s: tuple[float, ...] = (0.25, 0.5, 1.0, 2.0, 10.0)
    sharpnesses: tuple[float, ...] = (0.25, 0.5, 1.0, 2.0, 4.0)


PROFILES = {
    "quick": Profile((0.5, 1.0, 2.0, 4.0), (0.5, 1.0, 2.0), 20),
    "paper": Profile(
        (0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0),
        (0.5, 1.0, 2.0, 3.0, 4.0),
        8,
        curve_points=96,
    ),
}


def jobs(profile: Profile, seed: int) -> list[Job]:
    """Return the jobs of a profile."""
    ends = (profile.alphas[0], profile.alphas[-1])
    found = []
    for loss in LOSSES:
        for model in MODELS:
            alphas = profile.vectorized_alphas if model == "vectorized" else profile.alphas
            slow = 1.0 if model == "attention" else 0.1
            line = (model, loss, *ends, profile.curve_points)
            found.append(Job(predict_judged, (model, loss, alphas), 0.3 * slow * len(alphas)))
            found.append(Job(predict_line, line, 0.02 * slow * profile.curve_points))
            found += _simulations(profile, model, loss, alphas, seed)
        place = seed_of("learning-curves", "tensors", loss, seed)
        sizes = ("tensors", profile.dimension, profile.trials // 2, place)
        found.append(
            Job(simulate, ("attention", loss, profile.tensors, *sizes), profile.trials / 3)
        )
    found.append(Job(predict_floor, (*ends, profile.floor_points), 0.35 * profile.floor_points))
    few = (*ends, profile.effect_points)
    found += [Job(vary_alpha0, (alpha0, *few), 0.4) for alpha0 in profile.alpha0s]
    return found + [Job(vary_sharpness, (k, *few), 0.4) for k in profile.sharpnesses]


def _simulations(
    profile: Profile, model: str, loss: str, alphas: tuple[float, ...], seed: int
) -> list[Job]:
    found = []
    for i, alpha1 in enumerate(alphas):
        place = seed_of("learning-curves", model, loss, i, seed)
        arguments = (model, loss, alpha1, "reduced", profile.dimension, profile.trials, place)
        cost = profile.trials * _seconds(model, loss, alpha1 * profile.dimension)
        found.append(Job(simulate, arguments, cost))
    return found


def _seconds(model: str, loss: str, n: float) -> float:
    """Return a rough cost of one trial at d = 1000."""
    steps = 4 if loss == "logistic" else 1
    return 0.05 + 0.035 * steps * (n / 1000) ** (3 if model == "vectorized" else 1)


def model_of(name: str, loss: str, alpha0: float = ALPHA0) -> Model:
    """Return a model whose query, if it has one, is found with the loss."""
    models = presets.learning_curves(loss, alpha0).models
    return models[MODELS.index(name)]


def predict(
    model: Model, loss: str, alphas: tuple[float, ...], tolerance: float
) -> list[Prediction]:
    """Return the predictions at each alpha1."""
    readouts = [presets.learning_curves(loss, alpha1=alpha1).readout for alpha1 in alphas]
    return theory.predict_readouts(PROBLEM, model, readouts, tolerance)


def _grid(low: float, high: float, points: int) -> tuple[float, ...]:
    return tuple(np.geomspace(low, high, points).tolist())


def predict_judged(model: str, loss: str, alphas: tuple[float, ...]) -> list[Theory]:
    """Predict where a simulation is judged."""
    found = predict(model_of(model, loss), loss, alphas, JUDGED)
    return [Theory(model, loss, a, **_columns(p)) for a, p in zip(alphas, found, strict=True)]


def predict_line(model: str, loss: str, low: float, high: float, points: int) -> list[OnLine]:
    """Predict on a line."""
    alphas = _grid(low, high, points)
    found = predict(model_of(model, loss), loss, alphas, LINE)
    return [OnLine(model, loss, a, **_columns(p)) for a, p in zip(alphas, found, strict=True)]


def predict_floor(low: float, high: float, points: int) -> list[BestLearner]:
    """Predict the floor under every learner on D0 and D1."""
    found = [(a, learning_error(PROBLEM, ALPHA0 + a)) for a in _grid(low, high, points)]
    return [BestLearner(a, predicted_error(p)) for a, p in found]


def _columns(found: Prediction) -> dict[str, Predicted]:
    errors = {"test_error": found.numerical_error, "auc": AUC_ERROR}
    return {name: predicted(found, name, errors.get(name, 0.0)) for name in QUANTITIES}


def vary_alpha0(alpha0: float, low: float, high: float, points: int) -> list[Effect]:
    """Predict with a query found on another number of samples."""
    model = model_of("attention", "logistic", alpha0)
    return _effects("alpha0", alpha0, model, _grid(low, high, points))


def vary_sharpness(sharpness: float, low: float, high: float, points: int) -> list[Effect]:
    """Predict with the same direction of the query at another sharpness."""
    cosine = theory.align(PROBLEM, presets.learning_curves("logistic").query).query.cosine
    model = Attention(Query(cosine, sharpness))
    return _effects("sharpness", sharpness, model, _grid(low, high, points))


def _effects(varied: str, value: float, model: Model, alphas: tuple[float, ...]) -> list[Effect]:
    found = predict(model, "logistic", alphas, LINE)
    return [
        Effect(varied, value, a, predicted_error(p)) for a, p in zip(alphas, found, strict=True)
    ]


def simulate(
    model: str, loss: str, alpha1: float, engine: str, dimension: int, trials: int, seed: int
) -> list[Simulated]:
    """Measure all quantities at one alpha1."""
    found = simulation.simulate(
        PROBLEM,
        model_of(model, loss),
        presets.learning_curves(loss, alpha1=alpha1).readout,
        dimension=dimension,
        trials=trials,
        seed=seed,
        engine=engine,
    )
    columns = {name: measured(found, name, dimension, engine) for name in QUANTITIES}
    # A count of no errors has spread 0; it is still known only to one sample among all.
    least = 1 / (trials * alpha1 * dimension)
    columns["training_error"] = _at_least(columns["training_error"], least)
    return [Simulated(model, loss, alpha1, **columns)]


def _at_least(found: Measured, error: float) -> Measured:
    return dataclasses.replace(found, error=max(found.error, error))
