"""Gradient descent on query, readout and bias together, against the four stages."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from sparsetoken.beyond.joint import STARTS, joint_trial
from sparsetoken.experiments.averages import averaged
from sparsetoken.experiments.base import Experiment, Job
from sparsetoken.experiments.claims import Claim, Statement, observed
from sparsetoken.experiments.points import THEORY, Point, select
from sparsetoken.experiments.references import reference_points, references_of
from sparsetoken.problem import SparseTokenProblem
from sparsetoken.training import FourStageTraining

__all__ = ["JOINT_TRAINING", "JointTrainingProfile", "panel"]

PROBLEM = SparseTokenProblem(length=10, informative=1, strength=5.0, positive_rate=0.5)
RATE = 0.5
REACHED = ("test_error", "cosine", "sharpness")
DESCENT = ("objective", "gradient_norm")
STATEMENT = "joint-training"

STATEMENTS = (
    Statement(
        STATEMENT,
        "Does gradient descent on query, readout and bias together beat the four stages on the "
        "same data?",
        open=True,
    ),
)


@dataclasses.dataclass(frozen=True)
class JointTrainingProfile:
    """Sizes of the experiment.

    Attributes
    ----------
    loads : tuple of float
        n0/d = n1/d.
    steps : tuple of int
        Numbers of steps of the descent at which it is measured.
    dimension : int
    trials : int
    """

    loads: tuple[float, ...]
    steps: tuple[int, ...]
    dimension: int
    trials: int


QUICK = JointTrainingProfile((1.0, 4.0), (0, 1, 3, 10, 30, 100, 300, 1000), 100, 8)
PAPER = JointTrainingProfile((1.0, 4.0), (0, 1, 3, 10, 30, 100, 300, 1000, 3000), 200, 24)


def panel(load: float) -> str:
    """Return the group of the points of one load."""
    return f"n₀/d = n₁/d = {load:g}"


def _training(load: float) -> FourStageTraining:
    return FourStageTraining(alpha0=load, eta_q=25.0, ridge=1e-2)


def _jobs(profile: JointTrainingProfile, seed: int) -> list[Job]:
    jobs = [Job(_theory, (load,), 1.5) for load in profile.loads]
    for load in profile.loads:
        step = 5e-4 * load * (profile.dimension / 100) ** 2
        cost = profile.trials * (0.07 * len(profile.steps) + step * profile.steps[-1])
        jobs += [Job(_simulation, (load, begin, profile, seed), cost) for begin in STARTS]
    return jobs


def _theory(load: float) -> list[Point]:
    return reference_points(PROBLEM, _training(load), load, group=panel(load))


def _simulation(load: float, begin: str, profile: JointTrainingProfile, seed: int) -> list[Point]:
    found = [
        joint_trial(
            PROBLEM,
            _training(load),
            load,
            begin=begin,
            steps=profile.steps,
            rate=RATE,
            dimension=profile.dimension,
            seed=seed,
            trial=i,
        )
        for i in range(profile.trials)
    ]
    points = []
    for states in zip(*found, strict=True):
        columns = {name: [getattr(s.reached, name) for s in states] for name in REACHED}
        columns |= {name: [getattr(s, name) for s in states] for name in DESCENT}
        points += [
            averaged(
                begin,
                name,
                float(states[0].steps),
                values,
                dimension=profile.dimension,
                group=panel(load),
            )
            for name, values in columns.items()
        ]
    return points


def _claims(profile: JointTrainingProfile, points: Sequence[Point]) -> list[Claim]:
    return [
        observed(
            STATEMENT,
            point,
            where=f"{point.group}, after {point.x:g} steps, d = {point.dimension}",
            key=point.quantity == "test_error" and point.x == profile.steps[-1],
        )
        for point in points
        if point.source != THEORY
    ]


def _result(points: Sequence[Point], claims: Sequence[Claim]) -> str:
    groups = dict.fromkeys(p.group for p in points)
    parts = [_load_in_words(select(points, group=group), group) for group in groups]
    return " ".join([*parts, _count(points, list(groups))])


def _count(points: Sequence[Point], groups: Sequence[str]) -> str:
    """Say how often the descent is on either side of two-step attention."""
    above = below = 0
    for group in groups:
        attention = references_of(points, group=group).attention
        for begin in STARTS:
            path = select(points, group=group, curve=begin, quantity="test_error")
            best, end = min(path, key=lambda p: p.value), path[-1]
            above += end.value > attention + 3 * end.error
            below += best.value < attention - 3 * best.error
    cases = len(groups) * len(STARTS)
    return (
        f"Beyond three standard errors, the descent ends above two-step attention in {above} of "
        f"{cases} cases, and is below it at its best step in {below}."
    )


def _load_in_words(points: Sequence[Point], group: str) -> str:
    references = references_of(points)
    parts = []
    for begin in STARTS:
        path = select(points, curve=begin, quantity="test_error")
        best, end = min(path, key=lambda p: p.value), path[-1]
        cosine, fall = (
            {p.x: p.value for p in select(points, curve=begin, quantity=name)}
            for name in ("cosine", "objective")
        )
        parts.append(
            f"from the {begin}, at best (step {best.x:g}, chosen by the test error itself) "
            f"{references.standing(best.value, best.error)}; after {end.x:g} steps "
            f"{references.standing(end.value, end.error)}, while the objective fell from "
            f"{fall[best.x]:.3f} to {fall[end.x]:.3f} and the cosine of the query from "
            f"{cosine[best.x]:.3f} to {cosine[end.x]:.3f}"
        )
    return f"At {group} ({references.summary()}): {'; '.join(parts)}."


def _setting(profile: JointTrainingProfile) -> str:
    loads = ", ".join(f"{load:g}" for load in profile.loads)
    return (
        f"L = 10, R = 1, π = 0.5, θ = 5; logistic loss, λ = 0.01 on w, n₀/d = n₁/d = {loads}. "
        "Full-batch gradient descent on (1/n) Σ ℓ + (λ/2)|w|² over (q, w, b) together, on "
        f"all n = n₀ + n₁ samples, step size {RATE:g} for all weights, "
        f"β = 1. It runs for {profile.steps[-1]} steps; there is no other stopping rule, and the "
        "norm of the gradient is in the table. Starts: w and q with N(0, 0.01/d) entries and "
        "b = 0; or the two-step solution, with the query from D0 (η<sub>w</sub> = η<sub>b</sub> = "
        "0.5, η<sub>q</sub> = 25) and the readout from D1. References: theory of the four stages. "
        f"Real tokens, d = {profile.dimension}, {profile.trials} trials."
    )


JOINT_TRAINING = Experiment(
    "joint-training",
    "Joint training of all weights",
    STATEMENTS,
    {"quick": QUICK, "paper": PAPER},
    _jobs,
    _claims,
    _setting,
    _result,
    left="a larger dimension, longer descents and more trials.",
)
