"""What is computed and simulated."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence

import numpy as np

from sparsetoken import simulation, theory
from sparsetoken.experiments.experiment import Job, version
from sparsetoken.experiments.rows import averaged, measured, predicted_error
from sparsetoken.experiments.sensitivity.rows import Best, Choice, Floor, Neighbour, OnMap, Spot
from sparsetoken.models import Attention
from sparsetoken.problem import SparseTokenProblem
from sparsetoken.results import Prediction, Simulation, TrialOutcome
from sparsetoken.simulation.seeds import seed_of
from sparsetoken.stages import Query, Readout, TwoSteps
from sparsetoken.theory.oracle import learning_error
from sparsetoken.theory.tuning import best_beta, best_split

STEPS = TwoSteps(eta_q=25.0)
READOUT = Readout(ridge=1e-2)
MAP, SPOT = 1e-3, 2e-4
"""Tolerances of the theory: on a map, and where it is judged."""
NEIGHBOUR = 3.0
"""Ratio of the odds of a split, or of beta, to the best beside it."""
BIAS = 9.0
"""The cosine of finite dimension differs by up to BIAS / (alpha0 d), relative: measured
36/d at alpha0 = 1/4 and 15/d at 1/2."""
SHARPNESS_RANGE = (0.05, 20.0)
"""Of the search for the best beta."""


@dataclasses.dataclass(frozen=True)
class Profile:
    """Sizes of the experiment.

    Attributes
    ----------
    grid : pair of int
        Values of (beta, alpha0) and of (eta_b, pi) on a map.
    shares : int
        Values on a line over the split.
    totals : tuple of float
        alpha0 + alpha1 of the splits.
    best_alpha0s : tuple of float
        Where the best beta is searched.
    sharpness_spots, bias_spots : tuples of pairs
        (beta, alpha0) and (eta_b, pi) that are simulated.
    neighbour_alpha0s : tuple of float
        Where the best beta is simulated against its neighbours.
    dimension, trials : int
    """

    grid: tuple[int, int]
    shares: int
    totals: tuple[float, ...]
    best_alpha0s: tuple[float, ...]
    sharpness_spots: tuple[tuple[float, float], ...]
    bias_spots: tuple[tuple[float, float], ...]
    neighbour_alpha0s: tuple[float, ...] = (0.5, 1.0, 4.0)
    dimension: int = 500
    trials: int = 16


PROFILES = {
    "quick": Profile(
        (9, 8),
        14,
        (1.0, 2.0, 4.0),
        (0.25, 0.5, 1.0, 2.0, 4.0),
        ((0.7, 0.7), (2.2, 0.7), (0.3, 2.0), (2.2, 2.0)),
        ((1.0, 0.15), (1.0, 0.35), (4.0, 0.1), (7.0, 0.25), (9.0, 0.5)),
    ),
    "paper": Profile(
        (19, 17),
        25,
        (1.0, 2.0, 4.0, 8.0),
        (0.25, 0.35, 0.5, 0.7, 1.0, 1.4, 2.0, 2.8, 4.0),
        tuple((beta, alpha0) for beta in (0.3, 0.7, 1.5, 3.0) for alpha0 in (0.5, 1.0, 3.0)),
        tuple((eta, pi) for eta in (1.0, 4.0, 7.0) for pi in (0.1, 0.2, 0.35, 0.5)),
        dimension=1000,
    ),
}


def jobs(profile: Profile, seed: int) -> list[Job]:
    """Return the jobs of a profile."""
    across, up = profile.grid
    found = [
        Job(predict_row, (panel, row, across, up), 0.08 * across)
        for panel in ("sharpness", "bias")
        for row in range(up)
    ]
    found += [
        Job(predict_splits, (total, profile.shares), 0.09 * profile.shares)
        for total in profile.totals
    ]
    found += [Job(predict_floor, (total,), 0.4) for total in profile.totals]
    return found + _searches(profile, seed) + _spots(profile, seed)


def _searches(profile: Profile, seed: int) -> list[Job]:
    found = []
    for i, total in enumerate(profile.totals):
        sizes = (profile.dimension, profile.trials, seed_of("sensitivity", "split", i, seed))
        found.append(Job(find_split, (total, *sizes), 1.2 + 3 * _cost(profile, total)))
    for i, alpha0 in enumerate(profile.best_alpha0s):
        trials = profile.trials if alpha0 in profile.neighbour_alpha0s else 0
        sizes = (profile.dimension, trials, seed_of("sensitivity", "beta", i, seed))
        found.append(Job(find_beta, (alpha0, *sizes), 1.7 + 3 * bool(trials) * _cost(profile)))
    return found


def _spots(profile: Profile, seed: int) -> list[Job]:
    choices = [
        Choice("sharpness", beta=beta, alpha0=alpha0) for beta, alpha0 in profile.sharpness_spots
    ]
    choices += [Choice("bias", eta_b=eta_b, positive_rate=pi) for eta_b, pi in profile.bias_spots]
    sizes = (profile.dimension, profile.trials)
    return [
        Job(
            simulate_spot,
            (choice, *sizes, seed_of("sensitivity", "spot", i, seed)),
            _cost(profile),
        )
        for i, choice in enumerate(choices)
    ]


def _cost(profile: Profile, alpha1: float = 2.0) -> float:
    return 0.3 + profile.trials * 0.02 * alpha1 * (profile.dimension / 500) ** 2


def predict_floor(total: float) -> list[Floor]:
    """Predict the floor under every learner from so many samples."""
    found = learning_error(problem_of(Choice("split")), total)
    return [Floor(total, predicted_error(found))]


def problem_of(choice: Choice) -> SparseTokenProblem:
    """Return the problem of a choice."""
    return SparseTokenProblem(10, 1, 5.0, choice.positive_rate)


def steps_of(choice: Choice) -> TwoSteps:
    """Return the steps of a choice."""
    return dataclasses.replace(STEPS, alpha0=choice.alpha0, eta_b=choice.eta_b, beta=choice.beta)


def readout_of(choice: Choice) -> Readout:
    """Return the readout of a choice."""
    return dataclasses.replace(READOUT, alpha1=choice.alpha1)


def query_of(choice: Choice) -> Query:
    """Return the predicted query."""
    return theory.align(problem_of(choice), steps_of(choice)).query


def predict(choice: Choice, query: Query, tolerance: float) -> Prediction:
    """Return the prediction with a given query."""
    model, readout = Attention(query), readout_of(choice)
    return theory.predict(problem_of(choice), model, readout, tolerance=tolerance)


def simulate(choice: Choice, dimension: int, trials: int, seed: int) -> Simulation[TrialOutcome]:
    """Run the trials of a choice."""
    return simulation.simulate(
        problem_of(choice),
        Attention(steps_of(choice)),
        readout_of(choice),
        dimension=dimension,
        trials=trials,
        seed=seed,
    )


def predict_row(panel: str, row: int, across: int, up: int) -> list[OnMap]:
    """Predict one row of a map of (beta, alpha0), or of (eta_b, pi)."""
    if panel == "sharpness":
        alpha0 = float(np.geomspace(0.25, 5.0, up)[row])
        betas = np.geomspace(0.22, 4.2, across).tolist()
        return _on_map(Choice(panel, beta=beta, alpha0=alpha0) for beta in betas)
    pi = float(np.linspace(0.05, 0.6, up)[row])
    steps = np.linspace(0.0, 10.0, across).tolist()
    return _on_map(Choice(panel, eta_b=eta_b, positive_rate=pi) for eta_b in steps)


def predict_splits(total: float, shares: int) -> list[OnMap]:
    """Predict on a line over the split of a total; closer where it is steep."""
    line = (np.linspace(0.15, 0.95, shares) ** 2).tolist()
    return _on_map(_split(total, share) for share in line)


def _split(total: float, share: float) -> Choice:
    return Choice("split", alpha0=share * total, alpha1=(1 - share) * total)


def _on_map(choices: Iterable[Choice]) -> list[OnMap]:
    rows = []
    for choice in choices:
        query = query_of(choice)
        found = predict(choice, query, MAP)
        error = predicted_error(found)
        rows.append(OnMap(choice, error, query.cosine))
    return rows


def simulate_spot(choice: Choice, dimension: int, trials: int, seed: int) -> list[Spot]:
    """Predict and simulate one place."""
    return [_spot(choice, simulate(choice, dimension, trials, seed), dimension)]


def _spot(choice: Choice, found: Simulation[TrialOutcome], dimension: int) -> Spot:
    query = query_of(choice)
    exact = predict(choice, query, SPOT)
    smaller = query.cosine * (1 - BIAS / (choice.alpha0 * dimension))
    near = predict(choice, dataclasses.replace(query, cosine=smaller), SPOT)
    return Spot(
        choice,
        predicted_error(exact),
        measured(found, "test_error", dimension),
        float(abs(near.test_error - exact.test_error)),
    )


@version(2)
def find_split(total: float, dimension: int, trials: int, seed: int) -> list[object]:
    """Search the best split of a total, and simulate it and its neighbours."""
    start = Choice("split")
    model = Attention(steps_of(start))
    found = best_split(problem_of(start), model, readout_of(start), total, tolerance=MAP)
    odds = found.share / (1 - found.share)
    near = [_split(total, o / (1 + o)) for o in (odds / NEIGHBOUR, odds * NEIGHBOUR)]
    choice = _split(total, found.share)
    best = _best(choice, query_of(choice).sharpness, found.prediction, str(found.status.code))
    return [best, *_against(best, near, dimension, trials, seed)]


@version(2)
def find_beta(alpha0: float, dimension: int, trials: int, seed: int) -> list[object]:
    """Search the best beta at an alpha0; with any trials, simulate it and its neighbours."""
    start = Choice("sharpness", alpha0=alpha0)
    found = best_beta(
        problem_of(start),
        Attention(steps_of(start)),
        readout_of(start),
        sharpness=SHARPNESS_RANGE,
        tolerance=MAP,
    )
    choice = dataclasses.replace(start, beta=found.steps.beta)
    best = _best(choice, found.prediction.sharpness, found.prediction, str(found.status.code))
    if not trials:
        return [best]
    betas = (found.steps.beta / NEIGHBOUR, found.steps.beta * NEIGHBOUR)
    near = [dataclasses.replace(choice, beta=beta) for beta in betas]
    return [best, *_against(best, near, dimension, trials, seed)]


def _best(choice: Choice, sharpness: float, found: Prediction, status: str) -> Best:
    return Best(choice, float(sharpness), predicted_error(found), status)


def _against(
    best: Best, near: Sequence[Choice], dimension: int, trials: int, seed: int
) -> list[object]:
    """Simulate the best and its two neighbours with the same random numbers."""
    at_best = simulate(best.choice, dimension, trials, seed)
    rows: list[object] = [_spot(best.choice, at_best, dimension)]
    for side, choice in zip(("below", "above"), near, strict=True):
        found = simulate(choice, dimension, trials, seed)
        gains = at_best.trials.test_error - found.trials.test_error
        gain = averaged(gains, dimension, "reduced", _worse_status(at_best, found))
        rows += [
            _spot(choice, found, dimension),
            Neighbour(best.choice, choice, side, gain, best.status),
        ]
    return rows


def _worse_status(*found: Simulation[TrialOutcome]) -> str:
    fallen = [f.status for f in found if not f.status.converged]
    return str(fallen[0].code) if fallen else "converged"
