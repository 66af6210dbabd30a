"""The limit of a vanishing ridge: interpolation, its peak, and the largest margin."""

from __future__ import annotations

import dataclasses
import functools
import itertools
from collections.abc import Sequence

import numpy as np

from sparsetoken import theory
from sparsetoken.experiments import ridgeless_work as work
from sparsetoken.experiments.base import Experiment, Job
from sparsetoken.experiments.claims import Claim, Statement
from sparsetoken.experiments.points import Point, select
from sparsetoken.experiments.ridgeless_claims import claims_of

__all__ = ["RIDGELESS", "RidgelessProfile"]

STATEMENTS = (
    Statement(
        "interpolation-threshold",
        "Without a ridge the square loss fits every label below n1 = number of weights "
        "(α₁ = 1, or L for vectorized), and leaves a positive training loss above.",
    ),
    Statement(
        "interpolation-peak",
        "Without a ridge the test error of the square loss peaks at the threshold; a ridge "
        "takes the peak away.",
    ),
    Statement(
        "susceptibility-diverges",
        "The susceptibility χ diverges as 1/|α₁ − 1| above the threshold and as 1/λ below it.",
    ),
    Statement(
        "zero-loss-below-capacity",
        "Below capacity the training loss of hinge and logistic vanishes as λ → 0.",
    ),
    Statement(
        "positive-loss-above-capacity",
        "Above capacity the training loss of hinge and logistic stays positive as λ → 0.",
    ),
    Statement(
        "direction-to-max-margin",
        "Below capacity the readout tends to the direction of largest margin as λ → 0.",
    ),
)


RIDGED = ("attention", 1e-2)
"""The curve with a ridge that is simulated too."""


@dataclasses.dataclass(frozen=True)
class RidgelessProfile:
    """Sizes of the experiment.

    Attributes
    ----------
    loads, ridge_loads, vectorized_loads : tuple of float
        n1 over the number of weights where the square loss is simulated: without a ridge,
        with one, and without one for vectorized.
    ratios : tuple of float
        Multiples of the capacity where hinge and logistic are simulated.
    ridges : tuple of float
        Falling ridges at which the direction is followed; the simulation leaves the
        last ones out.
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


QUICK = RidgelessProfile()
PAPER = RidgelessProfile(
    features=1000,
    trials=20,
    loads=(0.1, 0.25, 0.5, 0.8, 0.9, 1.1, 1.25, 1.5, 2.0, 4.0, 8.0),
    ridge_loads=(0.25, 0.5, 0.8, 1.0, 1.25, 2.0, 4.0),
    vectorized_loads=(0.25, 0.5, 0.8, 1.25, 2.0),
    line_points=40,
    ratios=(0.25, 0.5, 0.75, 0.9, 1.1, 1.25, 1.5, 2.0, 3.0),
    margin_dimension=200,
    margin_trials=20,
)


@functools.cache
def _capacity() -> Point:
    found = theory.capacity("attention", work.MARGIN_PROBLEM, query=work.MARGIN_QUERY)
    return Point(
        "attention",
        "capacity",
        1.0,
        found.capacity,
        found.numerical_error,
        status=str(found.status.code),
    )


def _known(point: Point) -> list[Point]:
    return [point]


def _grid(count: int) -> list[float]:
    """Return loads on both sides of 1, denser there, with 1 itself left out."""
    near = np.geomspace(0.005, 0.3, count - count // 2)
    away = np.concatenate([near, np.linspace(0.4, np.log(8), count // 2)])
    return [*np.exp(-away[::-1]).tolist(), *np.exp(away).tolist()]


def _jobs(profile: RidgelessProfile, seed: int) -> list[Job]:
    jobs = [Job(work.susceptibility_limits, (model,), 1.0) for model in ("attention", "pooled")]
    for model, ridge in itertools.product(("attention", "pooled"), work.RIDGES):
        judged = profile.loads if ridge == 0 else profile.ridge_loads
        line = {*_grid(profile.line_points), *([1.0] if ridge > 0 else [])} - {*judged}
        cost = 0.1 if model == "attention" else 0.01
        for loads, tolerance in ((judged, work.JUDGED), (tuple(sorted(line)), work.LINE)):
            arguments = (model, ridge, loads, tolerance)
            jobs.append(Job(work.load_theory, arguments, cost * len(loads)))
        if ridge == 0 or (model, ridge) == RIDGED:
            jobs += [_trials(profile, seed, model, ridge, load) for load in judged]
    loads = profile.vectorized_loads
    jobs.append(Job(work.load_theory, ("vectorized", 0.0, loads, work.JUDGED), 0.1))
    jobs += [_trials(profile, seed, "vectorized", 0.0, load) for load in loads]
    above = [("attention", 0.0, load) for load in profile.loads if load > 1]
    for curve_of in [*above, *((*RIDGED, load) for load in profile.ridge_loads)]:
        sizes = (profile.features, profile.trials, seed)
        jobs.append(Job(work.susceptibility_trials, (*curve_of, *sizes), 1.0))
    return [*jobs, *_margin_jobs(profile, seed)]


def _trials(profile: RidgelessProfile, seed: int, model: str, ridge: float, load: float) -> Job:
    cost = 0.2 * profile.trials * (profile.features / 400) ** 2 * max(load, 0.5)
    arguments = (model, ridge, load, profile.features, profile.trials, seed)
    return Job(work.load_trials, arguments, cost)


def _margin_jobs(profile: RidgelessProfile, seed: int) -> list[Job]:
    known = _capacity()
    jobs, sizes = [Job(_known, (known,), 0.1)], (profile.margin_dimension, profile.margin_trials)
    evenly = np.linspace(0.25, 2.5, 2 * profile.line_points).tolist()
    line = tuple(sorted({*evenly, 0.99, 1.01, 1.03} - {1.0}))
    for loss in work.LOSSES:
        for ratios, tolerance in ((profile.ratios, work.JUDGED), (line, work.LINE)):
            arguments = (loss, tuple(ratios), known.value, tolerance)
            jobs.append(Job(work.capacity_theory, arguments, 0.2 * len(ratios)))
        for ratio in profile.ratios:
            cost = profile.margin_trials * (profile.margin_dimension / 100) ** 3 * 0.2
            jobs.append(Job(work.capacity_trials, (loss, ratio, known.value, *sizes, seed), cost))
    jobs.append(Job(work.direction_theory, (work.RATIO, known.value, profile.ridges), 4.0))
    simulated = profile.ridges[:-1]
    followed = (work.RATIO, known.value, simulated, *sizes, seed)
    return [*jobs, Job(work.direction_trials, followed, 6.0)]


def _claims(profile: RidgelessProfile, points: Sequence[Point]) -> list[Claim]:
    return claims_of(points)


def _setting(profile: RidgelessProfile) -> str:
    p, m = work.PROBLEM, work.MARGIN_PROBLEM
    return (
        f"Square loss: L = {p.length}, R = 1, θ = {p.strength:g}, π = 0.5, query with cosine "
        f"{work.QUERY.cosine:g} and sharpness k = {work.QUERY.sharpness:g}; λ = 0, 0.01 and 0.1; "
        f"{profile.features} weights (d, or L d for vectorized), {profile.trials} trials, reduced "
        "engine. At λ = 0 the fit is least squares of least norm. The measured χ is the trace of "
        "(F<sup>T</sup>F/n<sub>1</sub> + λ)<sup>−1</sup> over n<sub>1</sub>. Closer to the "
        "threshold than the loads shown, trials of this size differ too much to test anything. "
        f"Hinge and logistic: L = {m.length}, R = 1, θ = {m.strength:g}, π = 0.5, query with "
        f"cosine {work.MARGIN_QUERY.cosine:g} and k = {work.MARGIN_QUERY.sharpness:g}, "
        f"d = {profile.margin_dimension}, {profile.margin_trials} trials at λ = 10⁻⁶ against the "
        "theory at λ = 0; below capacity the allowance is a bound on what that λ can cost. The "
        f"direction is followed at α₁ = {work.RATIO:g} α*."
    )


def _result(points: Sequence[Point], claims: Sequence[Claim]) -> str:
    line = select(points, group="load", quantity="test_error", curve="attention", y=0.0)
    top = max((p for p in line if p.source == "theory"), key=lambda p: p.value)
    simulated = max((p for p in line if p.source != "theory"), key=lambda p: p.value)
    chi = next(c for c in claims if c.quantity == "(α₁ − 1) χ" and c.curve == "attention")
    (capacity,) = select(points, quantity="capacity")
    losses = "; ".join(
        f"{c.curve} {c.measured:.2g} {c.where.replace('α₁ = ', 'at ')}"
        for c in claims
        if c.key and c.statement.endswith("capacity")
    )
    way = next(c for c in claims if c.curve == "logistic" and c.quantity == "test_error")
    turned = select(points, group="direction", quantity="distance")
    return (
        f"Without a ridge the test error of attention rises to {top.value:.3f} at "
        f"α₁ = {top.x:.3g} in theory and {simulated.value:.3f} ± {simulated.error:.3f} at "
        f"α₁ = {simulated.x:.3g} in simulation. (α₁ − 1) χ is {chi.measured:.4g} near the "
        f"threshold, where its limit is {chi.theory:.4g}. With capacity {capacity.value:.3f}, "
        f"the training losses are: {losses}. The logistic test error, extrapolated to "
        f"λ = 0, is {way.measured:.5f}; the largest margin has {way.theory:.5f}. On the same data "
        f"1 − cosine between the two readouts falls from {turned[-1].value:.2g} at "
        f"λ = {turned[-1].x:g} to {turned[0].value:.2g} at λ = {turned[0].x:g}."
    )


RIDGELESS = Experiment(
    "ridgeless",
    "The ridgeless limit",
    STATEMENTS,
    {"quick": QUICK, "paper": PAPER},
    _jobs,
    _claims,
    _setting,
    _result,
    left="1000 weights, more loads on both sides of the threshold and of the capacity.",
)
