"""What is computed and simulated."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
from scipy.optimize import brentq

from sparsetoken import presets
from sparsetoken.experiments.capacities import separable_share, solved_capacity
from sparsetoken.experiments.capacity_curves.rows import (
    AtPlace,
    Crossing,
    OnLine,
    Place,
    Separable,
)
from sparsetoken.experiments.experiment import Job
from sparsetoken.experiments.rows import Predicted
from sparsetoken.models import Model, make_model
from sparsetoken.problem import SparseTokenProblem
from sparsetoken.simulation.seeds import seed_of

MODELS = ("attention", "pooled", "vectorized")
LINE = 1e-3
"""Relative tolerance of the theory."""
BASE = Place()
PLACES: dict[Place, tuple[str, ...]] = {
    BASE: MODELS,
    Place("turned away", cosine=-0.6): ("attention",),
    Place("not aligned", cosine=0.0): ("attention",),
    Place("half aligned", cosine=0.5): ("attention",),
    Place("no signal", strength=0.0): MODELS,
    Place("strong", strength=3.0): MODELS,
    Place("very strong", strength=5.0): ("attention", "vectorized"),
    Place("two tokens", length=2): MODELS,
    Place("eight tokens", length=8): ("attention", "pooled"),
}
"""The places that are measured, with the models that are measured there."""


@dataclasses.dataclass(frozen=True)
class Profile:
    """Sizes of the experiment.

    Attributes
    ----------
    features : tuple of int
        Feature dimensions: d, or L d for the vectorized model.
    sets : int
        Training sets at each load.
    steps : tuple of float
        Loads are alpha* (1 + step / sqrt(features)).
    samples : int
        Most samples of a training set; larger sets are left out.
    cosines, strengths : int
        Values on a line of theory.
    lengths : tuple of int
    """

    features: tuple[int, ...]
    sets: int
    steps: tuple[float, ...] = (-1.2, -0.6, 0.0, 0.6, 1.2)
    samples: int = 2000
    cosines: int = 41
    strengths: int = 41
    lengths: tuple[int, ...] = (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 14, 16)


PROFILES = {
    "quick": Profile((32, 64, 128), 32),
    "paper": Profile((32, 64, 128, 256), 120, cosines=81, strengths=81),
}


def jobs(profile: Profile, seed: int) -> list[Job]:
    """Return the jobs of a profile."""
    found = [
        Job(predict_line, ("cosine", -1, 1, profile.cosines), 0.2 * profile.cosines),
        Job(predict_line, ("strength", 0, 5, profile.strengths), 0.2 * profile.strengths),
        Job(predict_lengths, (profile.lengths,), 0.3 * len(profile.lengths)),
        Job(find_crossings, (), 6.0),
    ]
    for place, models in PLACES.items():
        for model in models:
            found.append(Job(predict_place, (place, model), 0.01))
            found += [_counting(profile, place, model, m, seed) for m in profile.features]
    return found


def _counting(profile: Profile, place: Place, model: str, features: int, seed: int) -> Job:
    own = seed_of("capacity-curves", place.name, model, features, seed)
    sizes = (profile.steps, profile.sets, profile.samples)
    cost = profile.sets * len(profile.steps) * 0.016 * (features / 128) ** 1.3
    return Job(count, (place, model, features, *sizes, own), cost)


def capacity_of(place: Place, model: str) -> Predicted:
    """Return the predicted capacity."""
    return solved_capacity(problem_of(place), model_of(place, model), LINE)


def problem_of(place: Place) -> SparseTokenProblem:
    """Return the task of a place."""
    return presets.capacity(place.length, place.strength).problem


def model_of(place: Place, name: str) -> Model:
    """Return a model, with the query of a place if it is attention."""
    return make_model(name, presets.capacity(cosine=place.cosine).query)


def at_base(panel: str, x: float, model: str) -> Predicted:
    """Return the predicted capacity at the base with one coordinate changed."""
    changed = {panel: int(x) if panel == "length" else x}
    return capacity_of(dataclasses.replace(BASE, **changed), model)  # type: ignore[arg-type]


def predict_line(panel: str, low: int, high: int, count: int) -> list[OnLine]:
    """Predict at so many values of the cosine or of the strength."""
    return _on_line(panel, np.linspace(low, high, count).tolist())


def predict_lengths(lengths: tuple[int, ...]) -> list[OnLine]:
    """Predict along the number of tokens."""
    return _on_line("length", [float(length) for length in lengths])


def _on_line(panel: str, xs: list[float]) -> list[OnLine]:
    return [OnLine(panel, x, model, at_base(panel, x, model)) for x in xs for model in MODELS]


def find_crossings() -> list[Crossing]:
    """Find where attention meets pooled, and where it meets vectorized."""
    return [
        _crossing("cosine", "pooled", -0.5, 0.9),
        _crossing("strength", "vectorized", 3.0, 5.0),
    ]


def _crossing(panel: str, other: str, low: float, high: float) -> Crossing:
    def gap(x: float) -> float:
        return at_base(panel, x, "attention").value - at_base(panel, x, other).value

    x, step = float(brentq(gap, low, high, xtol=1e-4)), 0.02
    slope = (gap(x + step) - gap(x - step)) / (2 * step)
    errors = [at_base(panel, x, model).error for model in ("attention", other)]
    return Crossing(panel, other, Predicted(x, math.hypot(*errors) / abs(slope)))


def predict_place(place: Place, model: str) -> list[AtPlace]:
    """Predict the capacity at a place that is measured."""
    return [AtPlace(place, model, capacity_of(place, model))]


def count(
    place: Place,
    model: str,
    features: int,
    steps: tuple[float, ...],
    sets: int,
    samples: int,
    seed: int,
) -> list[Separable]:
    """Count separable training sets around the capacity; none if they are too large."""
    capacity = capacity_of(place, model).value
    dimension = features // place.length if model == "vectorized" else features
    if capacity * dimension > samples:
        return []
    rows = []
    for i, step in enumerate(steps):
        alpha1 = capacity * (1 + step / math.sqrt(features))
        share = separable_share(
            problem_of(place),
            model_of(place, model),
            alpha1,
            dimension=dimension,
            sets=sets,
            # Each load draws training sets of its own.
            seed=seed_of("capacity-curves", "load", i, seed),
        )
        rows.append(Separable(place, model, features, alpha1, share))
    return rows
