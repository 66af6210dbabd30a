"""How well two gradient steps align query and readout with the signal."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np

from sparsetoken import simulation, theory
from sparsetoken.experiments.base import Experiment, Job
from sparsetoken.experiments.claims import Claim, Statement, compare, judge_all
from sparsetoken.experiments.points import Point, curve, select
from sparsetoken.problem import SparseTokenProblem
from sparsetoken.training import FourStageTraining

__all__ = ["ALIGNMENT", "AlignmentProfile"]

PROBLEM = SparseTokenProblem(length=10, informative=3, strength=6.0, positive_rate=0.2)
QUANTITIES = ("cosine", "readout_cosine")
STEPS = ((0.1, 1.0), (10.0, 1.0), (1.0, 0.1), (1.0, 10.0))
"""Other choices of eta_q and beta."""

STATEMENTS = (
    Statement(
        "query-alignment",
        "Two gradient steps turn the query towards the signal; at a finite load α₀ = n₀/d its "
        "cosine with the signal, and that of the readout, have exact limits.",
    ),
    Statement(
        "steps-set-sharpness-only",
        "The step size η<sub>q</sub> and the inverse temperature β do not move the "
        "cosine of the query; they set how sharp the softmax is.",
    ),
)


@dataclasses.dataclass(frozen=True)
class AlignmentProfile:
    """Sizes of the experiment.

    Attributes
    ----------
    alphas : tuple of float
        Loads alpha0 = n0/d that are simulated.
    key : tuple of float
        Loads whose claims open the report.
    tensors : float
        The load repeated with real tensors.
    """

    alphas: tuple[float, ...]
    key: tuple[float, ...] = (0.5, 2.0, 10.0)
    tensors: float = 2.0
    dimension: int = 1000
    trials: int = 10
    curve_points: int = 40


QUICK = AlignmentProfile((0.25, 0.5, 1.0, 2.0, 5.0, 10.0))
PAPER = AlignmentProfile((0.25, 0.35, 0.5, 0.7, 1.0, 1.4, 2.0, 2.8, 4.0, 5.0, 7.0, 10.0))


def _training(alpha0: float) -> FourStageTraining:
    return FourStageTraining(alpha0=alpha0, eta_w=0.5, eta_b=0.5)


def _jobs(profile: AlignmentProfile, seed: int) -> list[Job]:
    fine = np.geomspace(profile.alphas[0], profile.alphas[-1], profile.curve_points)
    grid = sorted({*profile.alphas, profile.tensors, *fine.tolist()})
    jobs = [Job(_theory, (grid,), 5.0)]
    engines = [(a, "reduced") for a in profile.alphas] + [(profile.tensors, "tensors")]
    for alpha0, engine in engines:
        cost = profile.trials * alpha0 * (0.5 if engine == "tensors" else 0.01)
        jobs.append(Job(_simulation, (alpha0, engine, profile, seed), cost))
    return jobs


def _theory(grid: Sequence[float]) -> list[Point]:
    points = []
    for alpha0 in grid:
        result = theory.align(PROBLEM, _training(alpha0))
        code = str(result.status.code)
        points += [
            Point(name, name, alpha0, getattr(result, name), status=code) for name in QUANTITIES
        ]
    return points + _other_steps()


def _other_steps() -> list[Point]:
    """Return the largest change of the cosine, and the sharpness relative to eta_q beta^2."""
    at = [theory.align(PROBLEM, _training(2.0))]
    for eta_q, beta in STEPS:
        at.append(
            theory.align(PROBLEM, dataclasses.replace(_training(2.0), eta_q=eta_q, beta=beta))
        )
    sizes = [1.0, *(eta_q * beta**2 for eta_q, beta in STEPS)]
    moved = max(abs(a.cosine - at[0].cosine) for a in at)
    scaled = [a.sharpness / size for a, size in zip(at, sizes, strict=True)]
    ratio = max(scaled) / min(scaled)
    return [
        Point("steps", "moved cosine", 2.0, moved, group="steps"),
        Point("steps", "sharpness over η_q β²", 2.0, ratio, group="steps"),
    ]


def _simulation(alpha0: float, engine: str, profile: AlignmentProfile, seed: int) -> list[Point]:
    result = simulation.simulate_alignment(
        PROBLEM,
        _training(alpha0),
        dimension=profile.dimension,
        trials=profile.trials,
        seed=seed,
        engine=engine,
    )
    return [
        Point(
            name,
            name,
            alpha0,
            getattr(result.mean, name),
            getattr(result.standard_error, name),
            source=engine,
            dimension=profile.dimension,
            trials=profile.trials,
        )
        for name in QUANTITIES
    ]


def _claims(profile: AlignmentProfile, points: Sequence[Point]) -> list[Claim]:
    moved, scaled = select(points, group="steps")
    rounding = 1e-12  # both are exact but for the rounding of a few dozen operations
    return [
        *judge_all("query-alignment", points, where=_where, key_x=profile.key),
        *(
            compare(
                "steps-set-sharpness-only",
                "query",
                point.quantity,
                where=f"{len(STEPS)} choices of η_q and β",
                expected=expected,
                found=point.value,
                allowance=rounding,
                key=True,
            )
            for point, expected in ((moved, 0.0), (scaled, 1.0))
        ),
    ]


def _where(point: Point) -> str:
    return f"α₀ = {point.x:g}, d = {point.dimension}"


def _result(points: Sequence[Point], claims: Sequence[Claim]) -> str:
    _, measured = curve(points, quantity="cosine")
    low, high = measured[0], measured[-1]
    largest = max((abs(c.z) for c in claims if c.dimension), default=0.0)
    return (
        f"The measured cosine rises from {low.value:.3f} ± {low.error:.3f} at α₀ = {low.x:g} to "
        f"{high.value:.4f} ± {high.error:.4f} at α₀ = {high.x:g}; the largest |z| against the "
        f"theory is {largest:.1f}."
    )


def _setting(profile: AlignmentProfile) -> str:
    return (
        f"L = 10, R = 3, π = 0.2, θ = 6, η<sub>w</sub> = η<sub>b</sub> = 0.5, logistic loss; "
        f"d = {profile.dimension}, {profile.trials} trials. Simulated with the reduced engine, "
        f"and once, at α₀ = {profile.tensors:g}, with real tensors. "
        "The cosines do not depend on η<sub>q</sub> or β."
    )


ALIGNMENT = Experiment(
    "alignment",
    "Query alignment",
    STATEMENTS,
    {"quick": QUICK, "paper": PAPER},
    _jobs,
    _claims,
    _setting,
    _result,
    left="more loads α₀.",
)
