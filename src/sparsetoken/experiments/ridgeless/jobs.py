"""The sizes of the experiment, and its jobs."""

from __future__ import annotations

import dataclasses
import itertools

from sparsetoken.experiments.experiment import Job
from sparsetoken.experiments.ridgeless import work
from sparsetoken.simulation.seeds import seed_of


@dataclasses.dataclass(frozen=True)
class Profile:
    """Sizes of the experiment.

    Attributes
    ----------
    features, trials : int
        Number of weights, and trials, for the square loss.
    loads, ridge_loads, vectorized_loads : tuple of float
        n1 over the number of weights where the square loss is simulated: without a ridge,
        with one, and without one for vectorized.
    line_points : int
        Further loads on a line of theory; twice as many around the capacity.
    ratios : tuple of float
        Multiples of the capacity where hinge and logistic loss are simulated.
    margin_dimension, margin_trials : int
        Sizes of these simulations.
    ridges : tuple of float
        Falling ridges at which the direction is followed; the simulation leaves the last
        one out.
    """

    features: int = 300
    trials: int = 10
    loads: tuple[float, ...] = (0.25, 0.5, 0.8, 1.25, 2.0, 4.0)
    ridge_loads: tuple[float, ...] = (0.5, 1.0, 2.0)
    vectorized_loads: tuple[float, ...] = (0.5, 2.0)
    line_points: int = 20
    ratios: tuple[float, ...] = (0.5, 0.75, 1.25, 2.0)
    margin_dimension: int = 100
    margin_trials: int = 8
    ridges: tuple[float, ...] = (1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-8)


PROFILES = {
    "quick": Profile(),
    "paper": Profile(
        features=1000,
        trials=20,
        loads=(0.1, 0.25, 0.5, 0.8, 0.9, 1.1, 1.25, 1.5, 2.0, 4.0, 8.0),
        ridge_loads=(0.25, 0.5, 0.8, 1.0, 1.25, 2.0, 4.0),
        vectorized_loads=(0.25, 0.5, 0.8, 1.25, 2.0),
        line_points=40,
        ratios=(0.25, 0.5, 0.75, 0.9, 1.1, 1.25, 1.5, 2.0, 3.0),
        margin_dimension=200,
        margin_trials=20,
    ),
}


def jobs(profile: Profile, seed: int) -> list[Job]:
    """Return the jobs of a profile."""
    return [*_square(profile), *_square_trials(profile, seed), *_margin(profile, seed)]


def _square(profile: Profile) -> list[Job]:
    models = ("attention", "pooled")
    found = [Job(work.diverge, (model,), 0.15) for model in models]
    for model, ridge in itertools.product(models, work.RIDGES):
        loads = profile.ridge_loads if ridge else profile.loads
        cost = (0.1 if model == "attention" else 0.01) * (len(loads) + profile.line_points)
        found.append(Job(work.predict_loads, (model, ridge, loads, profile.line_points), cost))
    loads = profile.vectorized_loads
    return [*found, Job(work.predict_loads, ("vectorized", 0.0, loads, 0), 0.1)]


def _square_trials(profile: Profile, seed: int) -> list[Job]:
    curves = (
        ("attention", 0.0, profile.loads),
        ("pooled", 0.0, profile.loads),
        ("vectorized", 0.0, profile.vectorized_loads),
        ("attention", work.RIDGED, profile.ridge_loads),
    )
    found, size = [], (profile.features / 400) ** 2
    for k, (model, ridge, loads) in enumerate(curves):
        for i, load in enumerate(loads):
            sizes = (profile.features, profile.trials, seed_of("ridgeless", "load", k, i, seed))
            cost = 0.04 * profile.trials * size * max(load, 0.5)
            found.append(Job(work.simulate_load, (model, ridge, load, *sizes), cost))
    return found


def _margin(profile: Profile, seed: int) -> list[Job]:
    size, found = profile.margin_dimension / 100, []
    sizes = (profile.margin_dimension, profile.margin_trials)
    for loss in work.LOSSES:
        line = 2 * profile.line_points
        cost = 0.4 * (len(profile.ratios) + line)
        found.append(Job(work.predict_margins, (loss, profile.ratios, line), cost))
        for i, ratio in enumerate(profile.ratios):
            place = seed_of("ridgeless", "capacity", loss, i, seed)
            cost = profile.margin_trials * size**3 * 0.03
            found.append(Job(work.simulate_margin, (loss, ratio, *sizes, place), cost))
    place = seed_of("ridgeless", "direction", seed)
    return [
        *found,
        Job(work.predict_direction, (profile.ridges,), 1.0),
        Job(work.simulate_direction, (profile.ridges[:-1], *sizes, place), 0.8),
    ]
