"""When attention loses to mean pooling, and what alignment is worth for long sequences."""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Sequence

import numpy as np

from sparsetoken import simulation, theory
from sparsetoken.experiments.base import Experiment, Job
from sparsetoken.experiments.claims import Claim, Statement, compare, judge_all
from sparsetoken.experiments.points import Point, curve, select
from sparsetoken.losses import get_loss
from sparsetoken.problem import SparseTokenProblem
from sparsetoken.results import Prediction
from sparsetoken.training import FourStageTraining, Query

__all__ = ["LIMIT", "MISALIGNMENT", "MisalignmentProfile", "load_group"]

PROBLEM = SparseTokenProblem(length=10, informative=1, strength=5.0, positive_rate=0.5)
TRAINING = FourStageTraining(loss=get_loss("square"), ridge=1e-5)
SHARPNESS = 1.0
LIMIT, RESIDUAL = "alpha1 = inf", "lengths"
TOLERANCE = 1e-3
STATEMENTS = (
    Statement(
        "misaligned-attention-loses",
        "With infinite data, attention whose query has a cosine below a critical value has a "
        "larger test error than mean pooling, and above it a smaller one.",
    ),
    Statement(
        "crossing-at-finite-load",
        "At a finite load α₁ the test errors of attention and pooling cross too, at a cosine of "
        "their own, which the theory gives.",
    ),
    Statement(
        "residual-error-falls-with-alignment",
        "The error that infinite data leave falls with the alignment of the query, for short "
        "and for long sequences.",
    ),
)


@dataclasses.dataclass(frozen=True)
class MisalignmentProfile:
    """Sizes of the experiment.

    Attributes
    ----------
    loads : tuple of float
        Finite alpha1.
    measured : tuple of float
        Cosines at which trials are run.
    lengths : tuple of int
    curve_points : int
    """

    trials: int
    dimension: int = 600
    loads: tuple[float, ...] = (2.0, 8.0)
    measured: tuple[float, ...] = (0.0, 0.1, 0.35, 0.6)
    lengths: tuple[int, ...] = (4, 10, 30, 100)
    curve_points: int = 21


QUICK = MisalignmentProfile(trials=12)
PAPER = MisalignmentProfile(
    trials=64,
    dimension=1000,
    loads=(2.0, 4.0, 8.0, 16.0),
    measured=(0.0, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.75, 1.0),
    lengths=(4, 10, 30, 100, 300),
    curve_points=41,
)


def load_group(alpha1: float) -> str:
    """Return the name of the group of a load."""
    return f"alpha1 = {alpha1:g}"


def _jobs(profile: MisalignmentProfile, seed: int) -> list[Job]:
    even = np.linspace(0, 1, profile.curve_points).round(6).tolist()
    grid = sorted({*even, *profile.measured})
    jobs = [Job(_errors, (alpha1, grid), 0.09 * len(grid)) for alpha1 in (math.inf, *profile.loads)]
    jobs += [Job(_residual, (L, grid), 0.06 * len(grid) * (1 + L / 40)) for L in profile.lengths]
    size = (profile.dimension / 600) ** 3
    for alpha1 in profile.loads:
        cost = profile.trials * (0.05 + 0.03 * size * alpha1)
        jobs += [Job(_attention, (alpha1, s, profile, seed), cost) for s in profile.measured]
        jobs.append(Job(_pooled, (alpha1, profile, seed), cost))
    return jobs


def _predict(problem: SparseTokenProblem, alpha1: float, s: float) -> Prediction:
    query = Query(s, SHARPNESS)
    return theory.predict(
        "attention", problem, TRAINING, alpha1, query=query, tolerance=TOLERANCE / 2
    )


def _point(name: str, group: str, x: float, found: Prediction) -> Point:
    return Point(
        name,
        "test_error",
        x,
        found.test_error,
        found.numerical_error,
        group=group,
        status=str(found.status.code),
    )


def _errors(alpha1: float, grid: Sequence[float]) -> list[Point]:
    """Return both models on a grid of cosines, and their crossing."""
    group = load_group(alpha1)
    points = [_point("attention", group, s, _predict(PROBLEM, alpha1, s)) for s in grid]
    pooled = theory.predict("pooled", PROBLEM, TRAINING, alpha1)
    points += [_point("pooled", group, s, pooled) for s in (grid[0], grid[-1])]
    return points + _crossing(PROBLEM, alpha1, group)


def _crossing(problem: SparseTokenProblem, alpha1: float, group: str) -> list[Point]:
    """Return the critical cosine, and by how much the errors differ there."""
    found = theory.critical_cosine(
        problem, TRAINING, alpha1, sharpness=SHARPNESS, tolerance=TOLERANCE
    )
    code, s = str(found.status.code), found.cosine
    again = _predict(problem, alpha1, s if math.isfinite(s) else 0.0)
    return [
        Point("crossing", "cosine", s, s, found.numerical_error, group=group, status=code),
        Point("crossing", "test_error", s, found.test_error, group=group, status=code),
        _point("attention at the crossing", group, s, again),
    ]


def _residual(length: int, grid: Sequence[float]) -> list[Point]:
    problem = dataclasses.replace(PROBLEM, length=length)
    name = f"L = {length}"
    points = [_point(name, RESIDUAL, s, _predict(problem, math.inf, s)) for s in grid]
    crossing = theory.critical_cosine(
        problem, TRAINING, math.inf, sharpness=SHARPNESS, tolerance=TOLERANCE
    )
    code = str(crossing.status.code)
    mark = f"crossing, {name}"
    return [
        *points,
        Point(
            mark, "test_error", crossing.cosine, crossing.test_error, group=RESIDUAL, status=code
        ),
    ]


def _attention(alpha1: float, s: float, profile: MisalignmentProfile, seed: int) -> list[Point]:
    return [_simulated("attention", alpha1, s, Query(s, SHARPNESS), profile, seed)]


def _pooled(alpha1: float, profile: MisalignmentProfile, seed: int) -> list[Point]:
    return [_simulated("pooled", alpha1, 0.0, None, profile, seed)]


def _simulated(
    model: str,
    alpha1: float,
    x: float,
    query: Query | None,
    profile: MisalignmentProfile,
    seed: int,
) -> Point:
    found = simulation.simulate(
        model,
        PROBLEM,
        TRAINING,
        alpha1,
        query=query,
        dimension=profile.dimension,
        trials=profile.trials,
        seed=seed,
    )
    return Point(
        model,
        "test_error",
        x,
        found.mean.test_error,
        found.standard_error.test_error,
        source="reduced",
        group=load_group(alpha1),
        dimension=profile.dimension,
        trials=profile.trials,
        status=str(found.status.code),
    )


def _claims(profile: MisalignmentProfile, points: Sequence[Point]) -> list[Claim]:
    limit, finite = load_group(math.inf), [load_group(a) for a in profile.loads]
    lost, crossed, residual = (s.name for s in STATEMENTS)
    claims = [_equal(lost, points, limit), _sides(lost, points, limit)]
    for group in finite:
        kept = select(points, group=group)
        claims += [_equal(crossed, kept, group), _sides(crossed, kept, group), _signs(kept, group)]
        simulated = [p for p in kept if p.curve in ("attention", "pooled")]
        claims += judge_all(crossed, simulated, where=_where)
    return claims + [_falls(residual, points, L) for L in profile.lengths]


def _equal(statement: str, points: Sequence[Point], group: str) -> Claim:
    """Compare the two errors at the crossing, attention predicted there anew."""
    (pooled,) = select(points, group=group, curve="crossing", quantity="test_error")
    (attention,) = select(points, group=group, curve="attention at the crossing")
    return compare(
        statement,
        "attention",
        "test_error",
        where=f"the crossing, s = {pooled.x:.4f}, {group.replace('alpha1', 'α₁')}",
        expected=pooled.value,
        found=attention.value,
        # The slope of the error in s is below 1.5 here: what the tolerance in s allows.
        allowance=1.5 * TOLERANCE,
        error=attention.error,
        x=pooled.x,
        converged=pooled.converged and attention.converged,
    )


def _sides(statement: str, points: Sequence[Point], group: str) -> Claim:
    """Judge who wins on the grid by the side of the crossing."""
    (pooled,) = select(points, group=group, curve="crossing", quantity="test_error")
    theory_points, _ = curve(points, group=group, curve="attention")
    # On the crossing itself the tolerance decides, not the order.
    clear = [p for p in theory_points if abs(p.x - pooled.x) > 2 * TOLERANCE]
    right = [(p.value > pooled.value) == (p.x < pooled.x) for p in clear]
    return compare(
        statement,
        "attention",
        "share of cosines where the predicted model wins",
        where=f"{len(clear)} cosines, {group.replace('alpha1', 'α₁')}",
        expected=1.0,
        found=float(np.mean(right)),
        allowance=0.0,
        converged=all(p.converged for p in clear),
        key=True,
    )


def _signs(points: Sequence[Point], group: str) -> Claim:
    """Judge which model had the smaller error in the trials."""
    (crossing,) = select(points, curve="crossing", quantity="cosine")
    _, (pooled,) = curve(points, curve="pooled")
    _, measured = curve(points, curve="attention")
    gaps = [(p.x, p.value - pooled.value, math.hypot(p.error, pooled.error)) for p in measured]
    right = [(gap > 0) == (s < crossing.value) and abs(gap) > 3 * error for s, gap, error in gaps]
    return compare(
        "crossing-at-finite-load",
        "attention",
        "share of measured cosines where the predicted model wins by 3 standard errors",
        where=f"{len(gaps)} cosines, {group.replace('alpha1', 'α₁')}",
        expected=1.0,
        found=float(np.mean(right)),
        allowance=0.0,
        converged=all(p.converged for p in (crossing, pooled, *measured)),
        key=True,
    )


def _falls(statement: str, points: Sequence[Point], length: int) -> Claim:
    found = select(points, group=RESIDUAL, curve=f"L = {length}")
    steps = [b.value - a.value < 0 for a, b in itertools.pairwise(found)]
    return compare(
        statement,
        f"L = {length}",
        "share of steps in the cosine that lower the error",
        where=f"L = {length}, {len(steps)} steps from s = {found[0].x:g} to {found[-1].x:g}",
        expected=1.0,
        found=float(np.mean(steps)),
        allowance=0.0,
        converged=all(p.converged for p in found),
        key=True,
    )


def _where(point: Point) -> str:
    at = f"s = {point.x:g}, " if point.curve == "attention" else ""
    return f"{at}{point.group.replace('alpha1', 'α₁')}, d = {point.dimension}"


def _result(points: Sequence[Point], claims: Sequence[Claim]) -> str:
    marks = [p for p in select(points, curve="crossing", quantity="cosine") if p.converged]
    finite = ", ".join(
        f"{p.value:.3f} at {p.group.replace('alpha1', 'α₁')}" for p in marks if "inf" not in p.group
    )
    limit = [p.value for p in marks if "inf" in p.group]
    ends = []
    for name in dict.fromkeys(p.curve for p in points if p.curve.startswith("L = ")):
        row = select(points, curve=name)
        ends.append(f"{row[0].value:.3f} to {row[-1].value:.4f} ({name})")
    worst = max((abs(c.z) for c in claims if c.dimension), default=0.0)
    where = f"{limit[0]:.4f}" if limit else "no"
    return (
        f"With infinite data attention and pooling cross at the cosine {where}; at finite load "
        f"the crossing is at {finite}. From s = 0 to s = 1 the error that infinite data leave "
        f"falls from {', '.join(ends)}. The largest |z| of a measured error is {worst:.1f}."
    )


def _setting(profile: MisalignmentProfile) -> str:
    loads = ", ".join(f"{a:g}" for a in profile.loads)
    lengths = ", ".join(str(L) for L in profile.lengths)
    return (
        "Computed: test error of attention with a given query (cosine s, sharpness k = 1) and of "
        "pooling, L = 10, R = 1, π = 0.5, θ = 5, square loss, λ = 10<sup>−5</sup>, at infinite α₁ "
        f"and at α₁ = {loads}; the crossing is solved for. The error at infinite α₁ also for "
        f"L = {lengths}. Measured: test error at the finite loads, d = {profile.dimension}, "
        f"{profile.trials} trials, reduced engine."
    )


MISALIGNMENT = Experiment(
    "misalignment",
    "When attention loses",
    STATEMENTS,
    {"quick": QUICK, "paper": PAPER},
    _jobs,
    _claims,
    _setting,
    _result,
    left="more loads, cosines and lengths, and a larger dimension.",
)
