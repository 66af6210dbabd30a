"""Length in proportion to the dimension, against the theory of fixed length."""

from __future__ import annotations

import dataclasses
import functools
import math
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.optimize import OptimizeWarning, curve_fit

from sparsetoken import simulation, theory
from sparsetoken.experiments.base import Experiment, Job
from sparsetoken.experiments.claims import (
    Claim,
    Statement,
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
        "The theory holds L fixed as d grows; when L grows with d at fixed L/d, do simulations "
        "still approach its prediction at the actual L, and how fast?",
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


QUICK = GrowingLengthProfile((0.05, 0.1), (100, 200, 400), 48, 8000)
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
                one = 0.03 + 0.003 * length(c, d) + 0.2 * (d / 400) ** 3
                arguments = (arm, c, d, few, many, seed)
                jobs.append(Job(_simulation, arguments, few * one + many * 4e-4))
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
    """Report each simulated point beside the theory at its length, and each fall with d."""
    predicted = _predicted(points)
    claims = []
    for point in points:
        if point.source != THEORY:
            claim = observed(STATEMENT, point, where=_where(point))
            here = predicted[point.curve, point.quantity, point.x]
            claims.append(dataclasses.replace(claim, theory=here.value))
    for (arm, ratio), fall in _falls(profile, points).items():
        where = f"{ARMS[arm]}, L/d = {ratio:g}, cosine: relative difference ∝ d^−p"
        power = dataclasses.replace(fall, quantity="power of d")
        claims.append(observed(STATEMENT, power, where=where, key=True))
    return claims


def _predicted(points: Sequence[Point]) -> dict[tuple[str, str, float], Point]:
    return {(p.curve, p.quantity, p.x): p for p in points if p.source == THEORY and not p.group}


def _falls(
    profile: GrowingLengthProfile, points: Sequence[Point]
) -> dict[tuple[str, float], Point]:
    """Return p of the law d^-p fitted to the relative differences of the cosine, per line."""
    predicted = _predicted(points)
    falls = {}
    for arm in ARMS:
        for ratio in profile.ratios:
            line = [p for p in select(points, curve=arm, quantity="cosine", y=ratio) if p.dimension]
            scale = np.array([predicted[arm, "cosine", p.x].value for p in line])
            d, value, error = np.array([(p.dimension, p.value, p.error) for p in line]).T
            power, spread = _fitted_power(d, value / scale - 1, error / np.abs(scale))
            falls[arm, ratio] = dataclasses.replace(line[-1], value=power, error=spread)
    return falls


def _fitted_power(d: np.ndarray, difference: np.ndarray, error: np.ndarray) -> tuple[float, float]:
    """Return p of difference = a d^-p with its standard error; nan without a fit."""

    def law(u: np.ndarray, a: float, p: float) -> np.ndarray:
        return a * u**-p

    def slopes(u: np.ndarray, a: float, p: float) -> np.ndarray:
        return np.column_stack([u**-p, -a * u**-p * np.log(u)])

    start = (difference[0], 0.5)
    with warnings.catch_warnings():
        warnings.simplefilter("error", OptimizeWarning)
        try:
            (_, power), covariance = curve_fit(
                law, d / d[0], difference, start, error, absolute_sigma=True, jac=slopes
            )
        except (RuntimeError, OptimizeWarning):
            return math.nan, math.nan
    return float(power), float(np.sqrt(covariance[1, 1]))


def _where(point: Point) -> str:
    return f"{ARMS[point.curve]}, L = {point.x:g}, {point.group}"


def _result(points: Sequence[Point], claims: Sequence[Claim]) -> str:
    longest = max(p.x for p in points if p.source != THEORY)
    powers = ", ".join(
        f"{c.measured:.2f} ± {c.standard_error:.2f} ({c.where.split(', cosine')[0]})"
        for c in claims
        if c.key
    )
    arms = " ".join(_arm_in_words(points, arm, longest) for arm in ARMS)
    return (
        "Measured less theory at the actual L, relative, in percent, d rising. Cosine: "
        f"{_differences(claims, 'cosine')}. Test error: {_differences(claims, 'test_error')}. "
        "The difference of the cosine falls like a power of d (1 at fixed length, 0 if the "
        f"theory were wrong): {powers}. {arms}"
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
        "at its own L, and the relative differences of the cosine are fitted by a law "
        "d<sup>−p</sup> at each L/d."
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
