"""What is computed and simulated."""

from __future__ import annotations

import dataclasses
import math

import numpy as np

from sparsetoken import presets, simulation, theory
from sparsetoken.experiments.anti_alignment.rows import (
    Cell,
    Edge,
    Place,
    SmallStepEdge,
    SmallStepTrials,
    Trials,
)
from sparsetoken.experiments.experiment import Job
from sparsetoken.experiments.rows import Predicted, measured, predicted
from sparsetoken.problem import SparseTokenProblem
from sparsetoken.simulation.seeds import seed_of
from sparsetoken.stages import TwoSteps

TINY = 1e-6
"""Steps of the first stage that stand for the limit of small steps."""
TINY_STEPS = TwoSteps(eta_w=TINY, eta_b=TINY, eta_q=1.0)
AXES = {
    "rate": ((0.02, 0.6), (0.25, 8.0)),  # of the positive rate and the strength
    "step": ((0.1, 30.0), (0.1, 10.0)),  # of eta_b and alpha0
}


@dataclasses.dataclass(frozen=True)
class Profile:
    """Sizes of the experiment.

    Attributes
    ----------
    cells : int
        Of a map, along each axis.
    trials, dimension : int
    rates, alpha0s : tuple of float
        Where trials are run, on both sides of the boundary.
    factors : tuple of float
        Distance of those places from the boundary, as a factor.
    """

    cells: int
    trials: int
    dimension: int = 1000
    rates: tuple[float, ...] = (0.06, 0.12, 0.2, 0.3)
    alpha0s: tuple[float, ...] = (0.25, 1.0, 4.0)
    factors: tuple[float, ...] = (0.5, 0.8, 1.25, 2.0)


PROFILES = {"quick": Profile(cells=21, trials=16), "paper": Profile(cells=61, trials=64)}


def jobs(profile: Profile, seed: int) -> list[Job]:
    """Return the jobs of a profile."""
    found = [Job(predict_map, (panel, profile.cells), 0.0013 * profile.cells**2) for panel in AXES]
    found.append(Job(solve_edges, (profile.cells,), 0.045 * profile.cells))
    sizes = (profile.dimension, profile.trials)
    for panel, places in (("rate", profile.rates), ("step", profile.alpha0s)):
        for i, along in enumerate(places):
            for j, factor in enumerate(profile.factors):
                place = seed_of("anti-alignment", panel, i, j, seed)
                arguments = (panel, along, factor, *sizes, place)
                found.append(Job(simulate_beside, arguments, 0.003 * profile.trials))
    for i, along in enumerate(profile.rates):
        for j, factor in enumerate(profile.factors):
            own = seed_of("anti-alignment", "small steps", i, j, seed)
            found.append(Job(simulate_small, (along, factor, *sizes, own), 0.003 * profile.trials))
    return found


def problem_of(place: Place) -> SparseTokenProblem:
    """Return the problem of a place."""
    return presets.anti_alignment(place.positive_rate, place.strength).problem


def steps_of(place: Place) -> TwoSteps:
    """Return the steps of a place."""
    steps: TwoSteps = presets.anti_alignment(alpha0=place.alpha0, eta_b=place.eta_b).query
    return steps


def predict(place: Place) -> Predicted:
    """Return the predicted cosine at a place."""
    return predicted(theory.align(problem_of(place), steps_of(place)), "cosine")


def predict_map(panel: str, cells: int) -> list[Cell]:
    """Predict on a map, even in the positive rate and the strength, else in ratios."""
    space = np.linspace if panel == "rate" else np.geomspace
    first, second = (space(*ends, cells).tolist() for ends in AXES[panel])
    if panel == "rate":
        places = [Place(panel, positive_rate=x, strength=y) for x in first for y in second]
    else:
        places = [Place(panel, eta_b=x, alpha0=y) for x in first for y in second]
    return [Cell(place, predict(place)) for place in places]


def edge_at(panel: str, along: float, steps: TwoSteps | None = None) -> Predicted:
    """Return where the cosine changes its sign: a strength, or a bias step."""
    if panel == "rate":
        place, name, (low, high) = Place(panel, positive_rate=along), "strength", AXES[panel][1]
    else:
        place, name, (low, high) = Place(panel, alpha0=along), "eta_b", AXES[panel][0]
    found = theory.sign_boundary(
        problem_of(place), steps or steps_of(place), name, low / 4, 4 * high
    )
    return predicted(found, "value")


def solve_edges(cells: int) -> list[object]:
    """Solve for both boundaries, and for the limit of small steps."""
    rows: list[object] = []
    for pi in np.linspace(AXES["rate"][0][0], 0.49, cells).tolist():
        rows.append(Edge("rate", pi, edge_at("rate", pi)))
        rows.append(SmallStepEdge(pi, _small_step_strength(pi), edge_at("rate", pi, TINY_STEPS)))
    for alpha0 in np.geomspace(*AXES["step"][1], cells).tolist():
        rows.append(Edge("step", alpha0, edge_at("step", alpha0)))
    return rows


def _small_step_strength(pi: float) -> float:
    """Return the strength at which the small-step margin, linear in theta^2, is 0."""
    at_0, at_1 = (
        theory.small_step_margin(problem_of(Place("rate", positive_rate=pi, strength=theta)))
        for theta in (0.0, 1.0)
    )
    return math.sqrt(max(-at_0 / (at_1 - at_0), 0.0))


def simulate_beside(
    panel: str, along: float, factor: float, dimension: int, trials: int, seed: int
) -> list[Trials]:
    """Predict and simulate at a multiple of the boundary."""
    across = factor * edge_at(panel, along).value
    if panel == "rate":
        place = Place(panel, positive_rate=along, strength=across)
    else:
        place = Place(panel, alpha0=along, eta_b=across)
    found = simulation.align(
        problem_of(place), steps_of(place), dimension=dimension, trials=trials, seed=seed
    )
    return [Trials(place, predict(place), measured(found, "cosine", dimension))]


def simulate_small(
    along: float, factor: float, dimension: int, trials: int, seed: int
) -> list[SmallStepTrials]:
    """Predict and simulate with small steps, at a multiple of the strength of the condition."""
    place = Place("rate", positive_rate=along, strength=factor * _small_step_strength(along))
    steps = dataclasses.replace(TINY_STEPS, alpha0=place.alpha0)
    theory_found = predicted(theory.align(problem_of(place), steps), "cosine")
    found = simulation.align(
        problem_of(place), steps, dimension=dimension, trials=trials, seed=seed
    )
    return [SmallStepTrials(place, theory_found, measured(found, "cosine", dimension))]
