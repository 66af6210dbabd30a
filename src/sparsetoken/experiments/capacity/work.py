"""What is computed and simulated."""

from __future__ import annotations

import dataclasses

from sparsetoken import presets
from sparsetoken.experiments.capacities import separable_share, solved_capacity
from sparsetoken.experiments.capacity.rows import Separable
from sparsetoken.experiments.experiment import Job
from sparsetoken.models import make_model
from sparsetoken.simulation.seeds import seed_of

PROBLEM, QUERY = presets.capacity().problem, presets.capacity().query
MODELS = ("attention", "pooled", "vectorized")


@dataclasses.dataclass(frozen=True)
class Profile:
    """Sizes of the experiment.

    Attributes
    ----------
    features : tuple of int
        Feature dimensions, the smaller first: d, or L d for the vectorized model.
    ratios : tuple of float
        Loads as multiples of the predicted capacity.
    sets : int
        Training sets at each load.
    tensors : float
        The ratio repeated with real tensors, for attention at the larger dimension.
    """

    features: tuple[int, int]
    ratios: tuple[float, ...]
    sets: int
    tensors: float = 1.0


PROFILES = {
    "quick": Profile((40, 160), (0.7, 0.8, 0.9, 0.95, 1.0, 1.05, 1.1, 1.2, 1.3), 50),
    "paper": Profile(
        (60, 240),
        (0.7, 0.75, 0.8, 0.85, 0.9, 0.95, 1.0, 1.05, 1.1, 1.15, 1.2, 1.25, 1.3),
        100,
    ),
}


def jobs(profile: Profile, seed: int) -> list[Job]:
    """Return the jobs of a profile."""
    found = []
    for features in profile.features:
        cost = profile.sets * 0.012 * (features / 120) ** 2
        for model in MODELS:
            for i, ratio in enumerate(profile.ratios):
                place = seed_of("capacity", model, features, i, seed)
                arguments = (model, features, ratio, "reduced", profile.sets, place)
                found.append(Job(count_separable, arguments, cost))
    place = seed_of("capacity", "tensors", seed)
    again = ("attention", features, profile.tensors, "tensors", profile.sets, place)
    return [*found, Job(count_separable, again, cost)]


def count_separable(
    model: str, features: int, ratio: float, engine: str, sets: int, seed: int
) -> list[Separable]:
    """Count separable training sets at a multiple of the predicted capacity."""
    classifier = make_model(model, QUERY)
    capacity = solved_capacity(PROBLEM, classifier)
    alpha1 = ratio * capacity.value
    share = separable_share(
        PROBLEM,
        classifier,
        alpha1,
        dimension=features // PROBLEM.length if model == "vectorized" else features,
        engine=engine,
        sets=sets,
        seed=seed,
    )
    return [Separable(model, features, ratio, alpha1, capacity, share)]
