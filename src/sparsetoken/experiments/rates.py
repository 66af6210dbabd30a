"""Two rates: of the query's alignment in alpha0, and of the test error in alpha1."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Sequence

import numpy as np

from sparsetoken.experiments import rates_work as work
from sparsetoken.experiments.base import Experiment, Job
from sparsetoken.experiments.claims import ALLOWANCE, Claim, Statement, compare, judge
from sparsetoken.experiments.points import Point, curve, select

__all__ = ["RATES", "RatesProfile"]

STATEMENTS = (
    Statement(
        "alignment-rate",
        "|s_q| = 1 − C/α₀ + o(1/α₀) with the predicted C, for queries that turn to the signal "
        "and for queries that turn away.",
    ),
    Statement(
        "infinite-data-rate",
        "For the square loss as λ → 0 the test error of each model comes down to its limit "
        "of infinite data as 1/α₁.",
    ),
    Statement(
        "vectorized-and-pooled-share-the-limit",
        "With infinite data the vectorized and the pooled classifier have the same test error.",
    ),
)


@dataclasses.dataclass(frozen=True)
class RatesProfile:
    """Sizes of the experiment.

    Attributes
    ----------
    alpha0s : tuple of float
        Loads n0/d that are simulated.
    loads, vectorized_loads : tuple of float
        Loads n1/d that are simulated.
    dimension, trials : int
        For the query.
    features, fits : int
        Number of weights and of trials for the test error.
    """

    alpha0s: tuple[float, ...] = (10.0, 30.0, 100.0, 300.0)
    dimension: int = 1000
    trials: int = 30
    loads: tuple[float, ...] = (5.0, 10.0, 20.0)
    vectorized_loads: tuple[float, ...] = (25.0, 50.0, 100.0)
    features: int = 200
    fits: int = 100
    line_points: int = 17


QUICK = RatesProfile()
PAPER = RatesProfile(
    alpha0s=(10.0, 30.0, 100.0, 300.0, 1000.0),
    trials=100,
    loads=(5.0, 10.0, 20.0, 40.0),
    vectorized_loads=(25.0, 50.0, 100.0, 200.0),
    features=400,
    fits=200,
)


def _jobs(profile: RatesProfile, seed: int) -> list[Job]:
    grid = tuple(
        sorted({*np.geomspace(1, work.FAR, profile.line_points).tolist(), *profile.alpha0s})
    )
    jobs = [Job(work.alignment, (name, grid), 0.5) for name in work.SETTINGS]
    for name, alpha0 in itertools.product(work.SETTINGS, profile.alpha0s):
        arguments = (name, alpha0, profile.dimension, profile.trials, seed)
        cost = profile.trials * alpha0 * profile.dimension * 6e-7
        jobs.append(Job(work.alignment_trials, arguments, cost))
    for model in work.MODELS:
        loads = profile.vectorized_loads if model == "vectorized" else profile.loads
        start = 2.0 * work.weights(model)
        line = {*np.geomspace(start, work.FAR, profile.line_points).tolist(), *loads}
        cost = 5.0 if model == "attention" else 0.3
        jobs.append(Job(work.errors_theory, (model, tuple(sorted(line))), cost))
        for load in loads:
            sizes = (profile.features, profile.fits, seed)
            jobs.append(Job(work.error_trials, (model, load, *sizes), profile.fits * 0.02))
    return jobs


def _claims(profile: RatesProfile, points: Sequence[Point]) -> list[Claim]:
    claims = []
    for name in work.SETTINGS:
        claims += _alignment_claims(name, points)
    for model in work.MODELS:
        claims += _data_claims(model, points)
    limits = {m: select(points, group="data", quantity="limit", curve=m)[0] for m in work.MODELS}
    pooled, vectorized = limits["pooled"], limits["vectorized"]
    shared = compare(
        "vectorized-and-pooled-share-the-limit",
        "vectorized",
        "test_error",
        where="α₁ = ∞, against pooled",
        expected=pooled.value,
        found=vectorized.value,
        allowance=1e-9,  # Newton's last step, squared; both laws are exact
        converged=pooled.converged and vectorized.converged,
        key=True,
    )
    return [*claims, shared]


def _alignment_claims(name: str, points: Sequence[Point]) -> list[Claim]:
    statement = "alignment-rate"
    (rate,) = select(points, group="alignment", quantity="rate", curve=name)
    known, found = curve(points, group="alignment", quantity="misalignment", curve=name)
    theories = {p.x: p for p in known}
    last, before = known[-1], known[-2]
    claims = [
        compare(
            statement,
            name,
            "α₀ (1 − |s|)",
            where=f"α₀ = {last.x:g}, against C",
            expected=rate.value,
            found=last.x * last.value,
            # The next order in 1/alpha0 falls as 1/alpha0: from the last step of the line on,
            # no more remains than that step over (ratio of the two loads - 1).
            allowance=1.1
            * abs(last.x * last.value - before.x * before.value)
            / (last.x / before.x - 1)
            + 1e-9,
            converged=last.converged,
            key=True,
        )
    ]
    for point in found:
        allowance = work.MISALIGNMENT / point.dimension * theories[point.x].value
        where = f"α₀ = {point.x:g}"
        key = point.x == 100
        claims.append(
            judge(statement, theories[point.x], point, where=where, allowance=allowance, key=key)
        )
    return claims


def _data_claims(model: str, points: Sequence[Point]) -> list[Claim]:
    statement = "infinite-data-rate"
    (rate,) = select(points, group="data", quantity="rate", curve=model)
    (limit,) = select(points, group="data", quantity="limit", curve=model)
    known, found = curve(points, group="data", quantity="excess", curve=model)
    theories = {p.x: p for p in known}
    last = known[-1]
    claims = [
        compare(
            statement,
            model,
            "α₁ (E − E∞)",
            where=f"α₁ = {last.x:g}, against the rate from first-order theory",
            expected=rate.value,
            found=last.x * last.value,
            # The next order is of relative size (weights per dimension)/alpha1 times a few; the
            # rate itself is found with other nodes, whose error is a few thousandths.
            allowance=(10 * work.weights(model) / last.x + 3e-3) * rate.value,
            error=rate.error,
            converged=last.converged,
            key=True,
        ),
        compare(
            statement,
            model,
            "log-log slope",
            where=f"theory, α₁ from {work.FAR / 10:g} to {work.FAR:g}",
            expected=-1.0,
            found=_slope([p for p in known if p.x >= work.FAR / 10]),
            # The second order is (weights per dimension)/alpha1 at most times a few.
            allowance=10 * work.weights(model) / (work.FAR / 10),
            converged=all(p.converged for p in known),
        ),
    ]
    for point in found:
        theory_point = dataclasses.replace(theories[point.x], error=limit.error)
        # With infinite data the theory is exact at every d: only the excess feels d, with the
        # c = 10 of test errors.
        allowance = ALLOWANCE["test_error"] / point.dimension * theory_point.value
        where = f"α₁ = {point.x:g}"
        claims.append(judge(statement, theory_point, point, where=where, allowance=allowance))
    return claims


def _slope(points: Sequence[Point]) -> float:
    x, y = np.log([p.x for p in points]), np.log([p.value for p in points])
    return float(np.polyfit(x, y, 1)[0])


def _setting(profile: RatesProfile) -> str:
    return (
        "Alignment, reduced engine, "
        f"d = {profile.dimension}, {profile.trials} trials: balanced (L = 10, R = 3, θ = 6, "
        "π = 0.5, logistic), rare positives (the same with π = 0.2) and anti-aligned (L = 20, "
        "R = 2, θ = 3, π = 0.2, square loss), steps η<sub>w</sub> = η<sub>b</sub> = 0.5, and 0.1 "
        "for the square loss. 1 − |s<sub>q</sub>| is judged itself, with a relative allowance of "
        f"{work.MISALIGNMENT:g}/d. Infinite data: square loss, λ = 0, L = 5, R = 2, θ = 2, "
        "π = 0.3, "
        "query with cosine 0.5 and k = 1.5; theory on one set of nodes for all loads, "
        f"simulation with {profile.features} weights (d, or L d for vectorized) and "
        f"{profile.fits} trials, from which the predicted limit is taken away."
    )


def _result(points: Sequence[Point], claims: Sequence[Claim]) -> str:
    def row(quantity: str) -> str:
        return ", ".join(
            f"{c.curve} {c.measured:.5g} ({c.theory:.5g} from first-order theory)"
            for c in claims
            if c.quantity == quantity
        )

    signs = {p.curve: p.y for p in select(points, group="alignment", quantity="rate")}
    away = [name for name, sign in signs.items() if sign < 0]
    slopes = [f"{c.measured:.4f}" for c in claims if c.quantity == "log-log slope"]
    (shared,) = (c for c in claims if c.statement == "vectorized-and-pooled-share-the-limit")
    return (
        f"α₀ (1 − |s|) at α₀ = {work.FAR:g}: {row('α₀ (1 − |s|)')}; the cosine is negative for "
        f"{', '.join(away)}. α₁ (E − E∞) at α₁ = {work.FAR:g}: {row('α₁ (E − E∞)')}; slopes "
        f"{', '.join(slopes)} on logarithmic axes. The limits of vectorized and pooled are "
        f"{shared.measured:.6f} and {shared.theory:.6f}."
    )


RATES = Experiment(
    "rates",
    "Rates of alignment and of infinite data",
    STATEMENTS,
    {"quick": QUICK, "paper": PAPER},
    _jobs,
    _claims,
    _setting,
    _result,
    left="α₀ up to 1000 with 100 trials, and 400 weights with 200 trials.",
)
