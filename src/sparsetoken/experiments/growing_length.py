"""Length in proportion to the dimension, against the theory of fixed length."""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Sequence
from typing import Any

from sparsetoken import simulation, theory
from sparsetoken.experiments.base import Experiment, Job
from sparsetoken.experiments.claims import (
    BY_EXPERIMENT,
    HOLDS,
    Claim,
    Statement,
    judge,
    observed,
)
from sparsetoken.experiments.points import THEORY, Point, select
from sparsetoken.experiments.references import reference_points, references_of
from sparsetoken.problem import SparseTokenProblem
from sparsetoken.results import Alignment
from sparsetoken.training import FourStageTraining

__all__ = ["GROWING_LENGTH", "ARMS", "GrowingLengthProfile", "panel"]

ALPHA1 = 2.0
STRENGTH = 1.5  # in units of sqrt(2 log L)
ARMS = {"fixed": "α₀ = 1", "growing": "α₀ = L/10"}
STATEMENT = "growing-length"

STATEMENTS = (
    Statement(
        STATEMENT,
        "The theory holds L fixed as d grows; when L grows with d at fixed L/d, does its error at "
        "the actual L still shrink like 1/d?",
        open=True,
    ),
)


@dataclasses.dataclass(frozen=True)
class GrowingLengthProfile:
    """Sizes of the experiment.

    Attributes
    ----------
    ratios : tuple of float
        L/d.
    dimensions : tuple of int
    trials, alignment_trials : int
        At d = 100; in inverse proportion to d elsewhere, at least 4.
    """

    ratios: tuple[float, ...]
    dimensions: tuple[int, ...]
    trials: int
    alignment_trials: int

    @property
    def lengths(self) -> tuple[int, ...]:
        """All lengths that occur, in increasing order."""
        return tuple(sorted({length(c, d) for c in self.ratios for d in self.dimensions}))

    def share(self, trials: int, d: int) -> int:
        """Return the number of trials at dimension d."""
        return max(4, trials * 100 // d)


QUICK = GrowingLengthProfile((0.05, 0.1), (100, 200, 400), 32, 3000)
PAPER = GrowingLengthProfile((0.05, 0.1, 0.2), (100, 200, 400, 800, 1600), 400, 30000)


def length(ratio: float, d: int) -> int:
    """Return L."""
    return round(ratio * d)


def panel(ratio: float, d: int) -> str:
    """Return the group of the points of one place."""
    return f"L/d = {ratio:g}, d = {d}"


def _problem(L: int) -> SparseTokenProblem:
    strength = STRENGTH * math.sqrt(2 * math.log(L))
    return SparseTokenProblem(length=L, informative=1, strength=strength, positive_rate=0.5)


@functools.cache
def _unit(arm: str, L: int) -> Alignment:
    """Return the predicted query at eta_q = 1; its cosine is that at any eta_q."""
    return theory.align(_problem(L), _first(arm, L))


def _first(arm: str, L: int) -> FourStageTraining:
    return FourStageTraining(alpha0=1.0 if arm == "fixed" else L / 10, eta_q=1.0, ridge=1e-2)


def _training(arm: str, L: int) -> FourStageTraining:
    """Return the training whose query has, in theory, sharpness sqrt(2 log L)."""
    eta_q = math.sqrt(2 * math.log(L)) / _unit(arm, L).sharpness
    return dataclasses.replace(_first(arm, L), eta_q=eta_q)


def _jobs(profile: GrowingLengthProfile, seed: int) -> list[Job]:
    jobs = []
    for arm in ARMS:
        jobs += [Job(_theory, (arm, L), 1.5) for L in profile.lengths]
        for c in profile.ratios:
            for d in profile.dimensions:
                few, many = (
                    profile.share(n, d) for n in (profile.trials, profile.alignment_trials)
                )
                one = 0.05 + 0.005 * length(c, d) + 0.25 * (d / 400) ** 3
                arguments = (arm, c, d, few, many, seed)
                jobs.append(Job(_simulation, arguments, few * one + many * d * 2e-5))
    return [*jobs, Job(_trend, (profile.lengths[0],), 0.5)]


def _trend(shortest: int) -> list[Point]:
    """Return the predicted cosine far beyond the lengths that are simulated."""
    lengths = [round(shortest * 2 ** (i / 2)) for i in range(19)]
    return [
        Point(arm, "cosine trend", float(L), _unit(arm, L).cosine) for arm in ARMS for L in lengths
    ]


def _theory(arm: str, L: int) -> list[Point]:
    """Return the references, and the prediction of the arm with its cosine, at x = L."""
    points = reference_points(_problem(L), _training(arm, L), ALPHA1, x=float(L), group=arm)
    predicted = next(p for p in points if p.curve == "attention")
    return [
        *points,
        dataclasses.replace(predicted, curve=arm, group=""),
        Point(arm, "cosine", float(L), _unit(arm, L).cosine),
    ]


def _simulation(arm: str, c: float, d: int, few: int, many: int, seed: int) -> list[Point]:
    L = length(c, d)
    problem, training = _problem(L), _training(arm, L)
    learned = simulation.simulate(
        "attention", problem, training, ALPHA1, dimension=d, trials=few, seed=seed
    )
    aligned = simulation.simulate_alignment(problem, training, dimension=d, trials=many, seed=seed)
    place: dict[str, Any] = {"source": "reduced", "group": panel(c, d), "dimension": d, "y": c}
    mean, error = learned.mean.test_error, learned.standard_error.test_error
    code = str(learned.status.code)
    cosine, spread = aligned.mean.cosine, aligned.standard_error.cosine
    return [
        Point(arm, "test_error", float(L), mean, error, trials=few, status=code, **place),
        Point(arm, "cosine", float(L), cosine, spread, trials=many, **place),
    ]


def _claims(profile: GrowingLengthProfile, points: Sequence[Point]) -> list[Claim]:
    """Report the smallest dimension; judge the others by what 1/d leaves of its difference."""
    predicted = {
        (p.curve, p.quantity, p.x): p for p in points if p.source == THEORY and not p.group
    }
    simulated = [p for p in points if p.source != THEORY]
    least, largest = profile.dimensions[0], profile.dimensions[-1]
    first = {(p.curve, p.quantity, p.y): p for p in simulated if p.dimension == least}
    claims = []
    for point in simulated:
        theory_here = predicted[point.curve, point.quantity, point.x]
        begin = first[point.curve, point.quantity, point.y]
        if point is begin:
            claims.append(_reported(point, theory_here))
            continue
        theory_there = predicted[begin.curve, begin.quantity, begin.x]
        bound = abs(begin.value / theory_there.value - 1) + 3 * begin.error / theory_there.value
        allowance = bound * least / point.dimension * abs(theory_here.value)
        key = point.dimension == largest and point.quantity == "test_error"
        claims.append(
            judge(STATEMENT, theory_here, point, where=_where(point), allowance=allowance, key=key)
        )
    return claims


def _reported(point: Point, predicted: Point) -> Claim:
    claim = observed(
        STATEMENT,
        point.curve,
        point.quantity,
        where=_where(point),
        value=point.value,
        error=point.error,
        dimension=point.dimension,
        trials=point.trials,
        x=point.x,
        engine=point.source,
    )
    return dataclasses.replace(claim, theory=predicted.value, group=point.group)


def _where(point: Point) -> str:
    return f"{ARMS[point.curve]}, L = {point.x:g}, {point.group}"


def _result(points: Sequence[Point], claims: Sequence[Claim]) -> str:
    judged = [c for c in claims if c.verdict != BY_EXPERIMENT]
    held = sum(c.verdict == HOLDS for c in judged)
    longest = max(p.x for p in points if p.source != THEORY)
    parts = [_arm_in_words(points, arm, longest) for arm in ARMS]
    return (
        f"{held} of {len(judged)} comparisons beyond the smallest d hold: the relative difference "
        "from the theory at the actual L is not above 1/d times that at the smallest d. "
        f"Relative difference in percent, d rising: {_differences(claims, 'cosine')} for the "
        f"cosine; {_differences(claims, 'test_error')} for the test error. {' '.join(parts)}"
    )


def _differences(claims: Sequence[Claim], quantity: str) -> str:
    rows: dict[str, list[str]] = {}
    for c in claims:
        if c.quantity == quantity:
            off, error = 100 * (c.measured / c.theory - 1), 100 * c.standard_error / c.theory
            line = f"{ARMS[c.curve]}, {c.group.split(', d')[0]}"
            rows.setdefault(line, []).append(f"{off:+.1f} ± {error:.1f}")
    return "; ".join(f"{', '.join(values)} ({line})" for line, values in rows.items())


def _arm_in_words(points: Sequence[Point], arm: str, L: float) -> str:
    found = max(
        (p for p in select(points, curve=arm, quantity="test_error", x=L) if p.source != THEORY),
        key=lambda p: p.dimension,
    )
    references = references_of(points, group=arm, x=L)
    trend = select(points, curve=arm, quantity="cosine trend")
    cosines = ", ".join(f"{p.value:.3f} at L = {p.x:g}" for p in trend[:: len(trend) // 3])
    return (
        f"With {ARMS[arm]}, at L = {L:g} ({references.summary()}), attention reaches "
        f"{references.standing(found.value, found.error)}; the predicted cosine of the query is "
        f"{cosines}."
    )


def _setting(profile: GrowingLengthProfile) -> str:
    ratios, sizes = (", ".join(f"{v:g}" for v in w) for w in (profile.ratios, profile.dimensions))
    return (
        f"R = 1, π = 0.5, θ = {STRENGTH:g} √(2 log L); L/d = {ratios}; d = {sizes}. Logistic loss, "
        f"λ = 0.01, α₁ = {ALPHA1:g}, η<sub>w</sub> = η<sub>b</sub> = 0.5, β = 1; η<sub>q</sub> is "
        "chosen at each L so that the predicted sharpness is k = √(2 log L), the best at that "
        "order of θ. Two laws for the first data set: α₀ = 1, and α₀ = L/10. Reduced engine; "
        f"{profile.trials} trials at d = 100 ({profile.alignment_trials} for the cosine) and in "
        "inverse proportion to d, at least 4. Each simulation is compared with the theory "
        "at its own L. At the smallest d the difference is reported; at the others it is judged, "
        "with the allowance D d<sub>min</sub>/d: D is the relative difference at "
        "the smallest d and the same L/d, plus three of its standard errors."
    )


GROWING_LENGTH = Experiment(
    "growing-length",
    "Length in proportion to dimension",
    STATEMENTS,
    {"quick": QUICK, "paper": PAPER},
    _jobs,
    _claims,
    _setting,
    _result,
    left="larger dimensions, L/d = 0.2, and more trials.",
)
