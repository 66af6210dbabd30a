"""Test error over the choices of a training, and the best of them."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np

from sparsetoken import simulation, theory
from sparsetoken.experiments.base import Experiment, Job
from sparsetoken.experiments.claims import Claim
from sparsetoken.experiments.points import Point
from sparsetoken.experiments.sensitivity_claims import STATEMENTS, claims_of, result
from sparsetoken.problem import SparseTokenProblem
from sparsetoken.theory.design import best_beta, best_split
from sparsetoken.training import FourStageTraining

__all__ = ["SENSITIVITY", "SensitivityProfile"]

PI = 0.5
TRAINING = FourStageTraining(alpha0=1.0, eta_q=25.0, beta=1.0, ridge=1e-2)
ALPHA1 = 2.0
MAP, SPOT = 1e-3, 2e-4
"""Tolerances of the theory: on a map, and where it is judged."""
NEIGHBOUR = 3.0
"""Ratio of the odds of a split, or of beta, to the best beside it."""
BIAS = 9.0
"""The cosine of finite dimension differs by up to BIAS / (alpha0 d), relative: measured
36/d at alpha0 = 1/4 and 15/d at 1/2."""


@dataclasses.dataclass(frozen=True)
class SensitivityProfile:
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
    """

    grid: tuple[int, int]
    shares: int
    totals: tuple[float, ...]
    best_alpha0s: tuple[float, ...]
    sharpness_spots: tuple[tuple[float, float], ...]
    bias_spots: tuple[tuple[float, float], ...]
    dimension: int = 500
    trials: int = 16


QUICK = SensitivityProfile(
    (9, 8),
    14,
    (1.0, 2.0, 4.0),
    (0.25, 0.5, 1.0, 2.0, 4.0),
    ((0.7, 0.7), (2.2, 0.7), (0.3, 2.0), (2.2, 2.0)),
    ((1.0, 0.15), (1.0, 0.35), (4.0, 0.1), (7.0, 0.25), (9.0, 0.5)),
)
PAPER = SensitivityProfile(
    (19, 17),
    25,
    (1.0, 2.0, 4.0, 8.0),
    (0.25, 0.35, 0.5, 0.7, 1.0, 1.4, 2.0, 2.8, 4.0),
    tuple((beta, alpha0) for beta in (0.3, 0.7, 1.5, 3.0) for alpha0 in (0.5, 1.0, 3.0)),
    tuple((eta, pi) for eta in (1.0, 4.0, 7.0) for pi in (0.1, 0.2, 0.35, 0.5)),
    dimension=1000,
)


def _setup(group: str, x: float, y: float) -> tuple[float, FourStageTraining, float]:
    """Return (pi, training, alpha1) at a place of a map, or of the split (x) of a total (y)."""
    if group == "sharpness":
        return PI, dataclasses.replace(TRAINING, beta=x, alpha0=y), ALPHA1
    if group == "bias step":
        return y, dataclasses.replace(TRAINING, eta_b=x), ALPHA1
    return PI, dataclasses.replace(TRAINING, alpha0=x * y), (1 - x) * y


def _problem(pi: float) -> SparseTokenProblem:
    return SparseTokenProblem(length=10, informative=1, strength=5.0, positive_rate=pi)


def _axes(profile: SensitivityProfile) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    across, up = profile.grid
    return {
        "sharpness": (np.geomspace(0.22, 4.2, across), np.geomspace(0.25, 5.0, up)),
        "bias step": (np.linspace(0.0, 10.0, across), np.linspace(0.05, 0.6, up)),
    }


def _jobs(profile: SensitivityProfile, seed: int) -> list[Job]:
    jobs = []
    for group, (xs, ys) in _axes(profile).items():
        for y in ys.tolist():
            places = tuple((x, y) for x in xs.tolist())
            jobs.append(Job(_surface, (group, places), 0.2 * len(places)))
    shares = np.linspace(0.15, 0.95, profile.shares) ** 2  # closer where the lines are steep
    for total in profile.totals:
        places = tuple((share, total) for share in shares.tolist())
        jobs.append(Job(_surface, ("split", places), 0.2 * len(places)))
        cost = 4.5 + 3 * _cost_of_spot(profile, total)
        jobs.append(Job(_best_split, (total, profile.dimension, profile.trials, seed), cost))
    for alpha0 in profile.best_alpha0s:
        judged = alpha0 in (0.5, 1.0, 4.0)
        cost = 4.0 + 3 * judged * _cost_of_spot(profile, ALPHA1)
        sizes = (profile.dimension, profile.trials if judged else 0, seed)
        jobs.append(Job(_best_beta, (alpha0, *sizes), cost))
    spots = [("sharpness", spot) for spot in profile.sharpness_spots]
    spots += [("bias step", spot) for spot in profile.bias_spots]
    cost = _cost_of_spot(profile, ALPHA1)
    for group, (x, y) in spots:
        jobs.append(Job(_spot, (group, x, y, profile.dimension, profile.trials, seed), cost))
    return jobs


def _cost_of_spot(profile: SensitivityProfile, alpha1: float) -> float:
    return 0.7 + profile.trials * 0.05 * alpha1 * (profile.dimension / 500) ** 2


def _predicted(group: str, x: float, y: float, tolerance: float, shrink: float = 0.0) -> Point:
    """Return the predicted test error, with a cosine less by a relative `shrink`."""
    pi, training, alpha1 = _setup(group, x, y)
    query = theory.align(_problem(pi), training).query
    query = dataclasses.replace(query, cosine=query.cosine * (1 - shrink))
    found = theory.predict(
        "attention", _problem(pi), training, alpha1, query=query, tolerance=tolerance
    )
    return Point(
        "attention",
        "test_error",
        x,
        found.test_error,
        found.numerical_error,
        group=group,
        status=str(found.status.code),
        y=y,
    )


def _surface(group: str, places: Sequence[tuple[float, float]]) -> list[Point]:
    points = []
    for x, y in places:
        pi, training, _ = _setup(group, x, y)
        cosine = theory.align(_problem(pi), training).cosine
        error = _predicted(group, x, y, MAP)
        points += [error, Point("attention", "cosine", x, cosine, group=group, y=y)]
    return [dataclasses.replace(p, curve="surface") for p in points]


def _spot(
    group: str, x: float, y: float, dimension: int, trials: int, seed: int, curve: str = "spot"
) -> list[Point]:
    """Predict and simulate one place; `shift` is what the cosine's finite-d bias may move."""
    pi, training, alpha1 = _setup(group, x, y)
    found = simulation.simulate(
        "attention",
        _problem(pi),
        training,
        alpha1,
        dimension=dimension,
        trials=trials,
        seed=seed,
    )
    exact = _predicted(group, x, y, SPOT)
    near = _predicted(group, x, y, SPOT, shrink=BIAS / (training.alpha0 * dimension))
    shift = abs(near.value - exact.value)
    simulated = dataclasses.replace(
        exact,
        value=found.mean.test_error,
        error=found.standard_error.test_error,
        source="reduced",
        dimension=dimension,
        trials=trials,
        status=str(found.status.code),
    )
    points = [exact, simulated, dataclasses.replace(exact, quantity="shift", value=shift, error=0)]
    return [dataclasses.replace(p, curve=curve) for p in points]


def _best_split(total: float, dimension: int, trials: int, seed: int) -> list[Point]:
    best = best_split("attention", _problem(PI), TRAINING, total, tolerance=MAP)
    point = Point(
        "best",
        "split",
        best.share,
        best.share,
        group="split",
        status=str(best.status.code),
        y=total,
    )
    odds = best.share / (1 - best.share)
    near = [o / (1 + o) for o in (odds / NEIGHBOUR, odds, odds * NEIGHBOUR)]
    return [point, *_beside("split", near, total, dimension, trials, seed)]


def _best_beta(alpha0: float, dimension: int, trials: int, seed: int) -> list[Point]:
    training = dataclasses.replace(TRAINING, alpha0=alpha0)
    best = best_beta(
        "attention", _problem(PI), training, ALPHA1, sharpness=(0.05, 20.0), tolerance=MAP
    )
    status = str(best.status.code)
    points = [
        Point("best", "beta", best.beta, best.beta, group="sharpness", status=status, y=alpha0),
        Point("best", "k", best.beta, best.sharpness, group="sharpness", status=status, y=alpha0),
    ]
    near = [best.beta / NEIGHBOUR, best.beta, best.beta * NEIGHBOUR] if trials else []
    return points + _beside("sharpness", near, alpha0, dimension, trials, seed)


def _beside(
    group: str, xs: Sequence[float], y: float, dimension: int, trials: int, seed: int
) -> list[Point]:
    names = ("below", "at best", "above")
    return [
        point
        for name, x in zip(names, xs, strict=False)
        for point in _spot(group, x, y, dimension, trials, seed, name)
    ]


def _claims(profile: SensitivityProfile, points: Sequence[Point]) -> list[Claim]:
    return claims_of(points)


def _setting(profile: SensitivityProfile) -> str:
    totals = ", ".join(f"{t:g}" for t in profile.totals)
    return (
        "Attention, logistic loss, L = 10, R = 1, θ = 5, λ = 0.01, η<sub>w</sub> = 0.5, "
        "η<sub>q</sub> = 25; where nothing else is said π = 0.5, η<sub>b</sub> = 0.5, β = 1, "
        f"α₀ = 1, α₁ = {ALPHA1:g}. Computed: the test error on two maps and, for the split, at "
        f"α₀ + α₁ = {totals}; the best β and the best split by a search, not from the maps. "
        f"Simulated: reduced engine, d = {profile.dimension}, {profile.trials} trials, at chosen "
        f"places, and at the best with {NEIGHBOUR:g} times the odds (or β) up and down. "
        "At small α₀ d the cosine of the query has a bias of its own: besides 10/d, the allowance "
        f"holds what a cosine smaller by {BIAS:g}/(α₀ d) would change."
    )


SENSITIVITY = Experiment(
    "sensitivity",
    "Sensitivity and design",
    STATEMENTS,
    {"quick": QUICK, "paper": PAPER},
    _jobs,
    _claims,
    _setting,
    result,
    left="Maps with four times the places, more simulated places, d = 1000, a fourth total.",
)
