"""Where the query turns away from the signal, and how the bias step turns it back."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence

import numpy as np

from sparsetoken import simulation, theory
from sparsetoken.experiments.base import Experiment, Job
from sparsetoken.experiments.claims import Claim, Statement, compare, judge_all
from sparsetoken.experiments.points import Point, curve, select
from sparsetoken.problem import SparseTokenProblem
from sparsetoken.training import FourStageTraining

__all__ = ["ANTI_ALIGNMENT", "AntiAlignmentProfile"]

PROBLEM = SparseTokenProblem(length=10, informative=3, strength=2.0, positive_rate=0.1)
TRAINING = FourStageTraining(alpha0=2.0, eta_w=0.5, eta_b=0.5)
TINY = 1e-6
"""Steps of stage 1 that stand for the limit of small steps."""

RATES, STRENGTHS = (0.02, 0.6), (0.25, 8.0)
LOADS, BIAS_STEPS = (0.1, 10.0), (0.1, 30.0)
MAPS = ("rate and strength", "bias step and load")
STATEMENTS = (
    Statement(
        "anti-alignment-of-rare-positives",
        "Where positives are rare and the signal is weak, two gradient steps turn the query away "
        "from the signal, on one side of a boundary that the sign condition gives.",
    ),
    Statement(
        "bias-step-turns-it-back",
        "A larger bias step η<sub>b</sub>, which offsets the imbalance of the labels, turns "
        "such a query back.",
    ),
    Statement(
        "small-step-condition",
        "For small steps the query turns towards the signal if and only if "
        "π θ² R (1 − R/L) > (1 − 2π)(L − 1).",
    ),
)


@dataclasses.dataclass(frozen=True)
class AntiAlignmentProfile:
    """Sizes of the experiment.

    Attributes
    ----------
    cells : int
        Of a map, along each axis.
    rates, loads : tuple of float
        Where trials are run, on both sides of the boundary.
    factors : tuple of float
        Distance of those places from the boundary, as a factor.
    """

    cells: int
    trials: int
    dimension: int = 1000
    rates: tuple[float, ...] = (0.06, 0.12, 0.2, 0.3)
    loads: tuple[float, ...] = (0.25, 1.0, 4.0)
    factors: tuple[float, ...] = (0.5, 0.8, 1.25, 2.0)


QUICK = AntiAlignmentProfile(cells=21, trials=16)
PAPER = AntiAlignmentProfile(cells=61, trials=64)

Setting = tuple[SparseTokenProblem, FourStageTraining]


def _at(group: str, x: float, y: float) -> Setting:
    """Return problem and training at a place of a map."""
    if group == MAPS[0]:
        return dataclasses.replace(PROBLEM, positive_rate=x, strength=y), TRAINING
    return PROBLEM, dataclasses.replace(TRAINING, eta_b=x, alpha0=y)


def _jobs(profile: AntiAlignmentProfile, seed: int) -> list[Job]:
    jobs = []
    for group in MAPS:
        x, y = _axes(group, profile.cells)
        jobs.append(Job(_map, (group, x, y), 0.012 * len(x) * len(y)))
    jobs.append(Job(_boundaries, (profile.cells,), 0.3 * profile.cells))
    for group, places in zip(MAPS, (profile.rates, profile.loads), strict=True):
        for place in places:
            jobs.append(Job(_trials, (group, place, profile, seed), 0.012 * profile.trials))
    return jobs


def _axes(group: str, cells: int) -> tuple[list[float], list[float]]:
    if group == MAPS[0]:
        return np.linspace(*RATES, cells).tolist(), np.linspace(*STRENGTHS, cells).tolist()
    return np.geomspace(*BIAS_STEPS, cells).tolist(), np.geomspace(*LOADS, cells).tolist()


def _map(group: str, xs: Sequence[float], ys: Sequence[float]) -> list[Point]:
    return [_cosine(group, x, y, "map") for x in xs for y in ys]


def _cosine(group: str, x: float, y: float, name: str) -> Point:
    found = theory.align(*_at(group, x, y))
    code = str(found.status.code)
    return Point(name, "cosine", x, found.cosine, group=group, status=code, y=y)


def _strength_boundary(pi: float, training: FourStageTraining) -> theory.SignBoundary:
    problem = dataclasses.replace(PROBLEM, positive_rate=pi)
    return theory.sign_boundary(problem, training, "strength", STRENGTHS[0] / 4, 4 * STRENGTHS[1])


def _bias_boundary(alpha0: float) -> theory.SignBoundary:
    training = dataclasses.replace(TRAINING, alpha0=alpha0)
    low, high = BIAS_STEPS
    return theory.sign_boundary(PROBLEM, training, "eta_b", low / 4, 4 * high)


def _small_step_strength(pi: float) -> float:
    """Return the strength at which the small-step margin, linear in theta^2, is 0."""
    at_0, at_1 = (
        theory.small_step_margin(dataclasses.replace(PROBLEM, positive_rate=pi, strength=t))
        for t in (0.0, 1.0)
    )
    return math.sqrt(max(-at_0 / (at_1 - at_0), 0.0))


def _boundaries(cells: int) -> list[Point]:
    tiny = dataclasses.replace(TRAINING, eta_w=TINY, eta_b=TINY)
    points = []
    for pi in np.linspace(RATES[0], 0.49, cells).tolist():
        for name, training in (("boundary", TRAINING), ("tiny steps", tiny)):
            found = _strength_boundary(pi, training)
            code = str(found.status.code)
            points.append(Point(name, "strength", pi, found.value, group=MAPS[0], status=code))
        points.append(Point("small steps", "strength", pi, _small_step_strength(pi), group=MAPS[0]))
    for alpha0 in np.geomspace(*LOADS, cells).tolist():
        found = _bias_boundary(alpha0)
        code = str(found.status.code)
        points.append(Point("boundary", "eta_b", alpha0, found.value, group=MAPS[1], status=code))
    return points


def _trials(group: str, place: float, profile: AntiAlignmentProfile, seed: int) -> list[Point]:
    """Return theory and simulation at factors of the boundary."""
    first = group == MAPS[0]
    edge = (_strength_boundary(place, TRAINING) if first else _bias_boundary(place)).value
    points = []
    for factor in profile.factors:
        x, y = (place, factor * edge) if first else (factor * edge, place)
        found = simulation.simulate_alignment(
            *_at(group, x, y), dimension=profile.dimension, trials=profile.trials, seed=seed
        )
        points += [
            _cosine(group, x, y, "query"),
            Point(
                "query",
                "cosine",
                x,
                found.mean.cosine,
                found.standard_error.cosine,
                source="reduced",
                group=group,
                dimension=profile.dimension,
                trials=profile.trials,
                y=y,
            ),
        ]
    return points


def _claims(profile: AntiAlignmentProfile, points: Sequence[Point]) -> list[Claim]:
    claims = []
    for statement, group in zip(STATEMENTS, MAPS, strict=False):
        kept = select(points, group=group)
        claims += [_signs(statement.name, kept), _sides(statement.name, kept)]
        claims += judge_all(statement.name, select(kept, curve="query"), where=_where)
    pairs = zip(
        select(points, curve="small steps"), select(points, curve="tiny steps"), strict=True
    )
    for expected, found in pairs:
        claims.append(
            compare(
                "small-step-condition",
                "query",
                "strength",
                where=f"boundary at π = {expected.x:.3g}, steps of {TINY:g}",
                expected=expected.value,
                found=found.value,
                # Steps of 1e-6 move every score by about as much, times theta^2 at most.
                allowance=1e-4 * expected.value,
                x=expected.x,
                converged=found.converged,
                key=found.x == RATES[0],
            )
        )
    return claims


def _signs(statement: str, points: Sequence[Point]) -> Claim:
    """Judge the signs of measured cosines that are predicted far enough from 0."""
    predicted, measured = _pairs(points)
    clear = [
        m.value * p.value > 0
        for p, m in zip(predicted, measured, strict=True)
        if abs(p.value) > 4 * m.error
    ]
    return compare(
        statement,
        "query",
        "share of measured cosines with the predicted sign",
        where=f"{len(clear)} of {len(measured)} places, |theory| > 4 standard errors",
        expected=1.0,
        found=float(np.mean(clear)),
        allowance=0.0,
        key=True,
    )


def _pairs(points: Sequence[Point]) -> tuple[list[Point], list[Point]]:
    predicted, measured = curve(points, curve="query")

    def place(p: Point) -> tuple[float, float]:
        return p.x, p.y

    return sorted(predicted, key=place), sorted(measured, key=place)


def _sides(statement: str, points: Sequence[Point]) -> Claim:
    """Judge the sign of the mapped cosines by the side of the boundary they are on."""
    first = points[0].group == MAPS[0]
    edge = [p for p in select(points, curve="boundary") if p.converged]
    cells = select(points, curve="map")
    along = [p.x if first else p.y for p in cells]
    across = np.array([p.y if first else p.x for p in cells])
    values = np.interp(along, [p.x for p in edge], [p.value for p in edge], np.nan, np.nan)
    # Between two solved places the boundary is interpolated: cells within 5 % do not count.
    decided = np.abs(across / values - 1) > 0.05
    right = (np.array([p.value for p in cells]) > 0) == (across > values)
    return compare(
        statement,
        "query",
        "share of cells on the predicted side",
        where=f"{int(decided.sum())} cells of the map",
        expected=1.0,
        found=float(np.mean(right[decided])),
        allowance=0.0,
        converged=all(p.converged for p in cells),
    )


def _where(point: Point) -> str:
    if point.group == MAPS[0]:
        return f"π = {point.x:g}, θ = {point.y:.3g}"
    return f"η_b = {point.x:.3g}, α₀ = {point.y:g}"


def _result(points: Sequence[Point], claims: Sequence[Claim]) -> str:
    cells = select(points, group=MAPS[0], curve="map")
    lowest = min(cells, key=lambda p: p.value)
    away = np.mean([p.value < 0 for p in cells])
    steps = [p.value for p in select(points, group=MAPS[1], curve="boundary") if p.converged]
    small = [c for c in claims if c.statement == "small-step-condition"]
    off = max(abs(c.measured / c.theory - 1) for c in small)
    worst = max((abs(c.z) for c in claims if c.dimension), default=0.0)
    return (
        f"The query turns away from the signal in {100 * away:.0f}% of the first map; the lowest "
        f"cosine there is {lowest.value:.2f}, at π = {lowest.x:.2f} and θ = {lowest.y:.2f}. With "
        f"π = {PROBLEM.positive_rate:g} and θ = {PROBLEM.strength:g} a bias step between "
        f"{min(steps):.2f} and {max(steps):.2f}, by load, turns it back. With steps of {TINY:g} "
        f"the boundary is that of the small-step condition to a share of {off:.0e}. "
        f"The largest |z| of a measured cosine is {worst:.1f}."
    )


def _setting(profile: AntiAlignmentProfile) -> str:
    return (
        "Computed: the cosine of the query on two grids, L = 10, R = 3, logistic loss, "
        "η<sub>w</sub> = 0.5: over π and θ at α₀ = 2, η<sub>b</sub> = 0.5, and over η<sub>b</sub> "
        "and α₀ at π = 0.1, θ = 2; the boundary is the root of the sign condition along one axis. "
        f"Measured: the cosine at d = {profile.dimension}, {profile.trials} trials, reduced "
        "engine, at "
        + ", ".join(f"{factor:g}" for factor in profile.factors)
        + " times the boundary value."
    )


ANTI_ALIGNMENT = Experiment(
    "anti-alignment",
    "Anti-alignment",
    STATEMENTS,
    {"quick": QUICK, "paper": PAPER},
    _jobs,
    _claims,
    _setting,
    _result,
    left="finer maps and more trials.",
)
