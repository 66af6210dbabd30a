"""Claims of the representation experiment."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from scipy.stats import norm

from sparsetoken import theory
from sparsetoken.experiments.claims import Claim, compare, judge
from sparsetoken.experiments.points import Point, select
from sparsetoken.theory.critical import CURVES
from sparsetoken.theory.growth import best_growth

__all__ = ["LEVEL", "TUNED", "judge_points"]

LEVEL = 0.01
TUNED = "attention_tuned"  # k = sqrt(2 log L)


def judge_points(profile: object, points: Sequence[Point]) -> list[Claim]:
    """Return the claims of the experiment; they depend on the points alone."""
    critical = {
        name: select(points, curve=name, quantity="critical_strength", group="R = 1")
        for name in (*CURVES, TUNED)
    }
    return [
        *_powers("linear-needs-sqrt-length", critical, ("pooled", "vectorized"), 1e-3),
        *_attention_claims(critical),
        # Below L = 1e5 small weights still lower the exponent by a few hundredths.
        *_powers(
            "bounded-elementwise-loses", critical, ("elementwise_erf", "elementwise_sigmoid"), 0.03
        ),
        *(
            _law("elementwise-powers", critical[f"elementwise_{name}"], law)
            for name, law in (
                ("tanh", "L^(1/4)"),
                ("relu", "L^(1/4)"),
                ("linear", "L^(1/4)"),
                ("exp", "sqrt(2 log L)"),
            )
        ),
        *_floor(points),
        *_simulated(points),
    ]


def _powers(
    statement: str, critical: dict[str, list[Point]], names: Sequence[str], allowance: float
) -> list[Claim]:
    claims = []
    for name in names:
        upper = critical[name][-2:]
        slope = math.log(upper[1].value / upper[0].value) / math.log(upper[1].x / upper[0].x)
        claims.append(
            compare(
                statement,
                name,
                "exponent",
                where=f"L = {upper[0].x:g} to {upper[1].x:g}",
                expected=0.5,
                found=slope,
                allowance=allowance,
                converged=all(p.converged for p in upper),
                key=name == names[0],
            )
        )
    return claims


def _law(statement: str, points: Sequence[Point], law: str) -> Claim:
    converged = all(p.converged for p in points)
    best = "none"
    if converged:
        best = best_growth(theory.fit_growth([int(p.x) for p in points], [p.value for p in points]))
    return compare(
        statement,
        points[0].curve,
        "growth_law",
        where=f"{law} fits best; found {best}",
        expected=1.0,
        found=float(best == law),
        allowance=0.0,
        converged=converged,
    )


def _attention_claims(critical: dict[str, list[Point]]) -> list[Claim]:
    free, fixed = critical["attention"], critical["attention_fixed"]
    pairs = list(zip(free, critical["bayes"], critical[TUNED], strict=True))
    to_bayes = max(a.value / b.value for a, b, _ in pairs)
    tuned = max(c.value / a.value for a, _, c in pairs)
    # Leading order: a miss is a signal token below its threshold by the 1% point.
    margin = float(norm.isf(LEVEL))
    c = _middle(free) - margin
    hazard = float(norm.pdf(c) / norm.sf(c))
    reach = _middle(fixed) - margin
    claims = [
        _law("attention-log-length-free", free, "sqrt(2 log L)"),
        _slope("attention-log-length-free", free, 1 / hazard),
        _law("attention-fixed-sharpness", fixed, "log L"),
        # (theta - k) e^(k theta) = O(sqrt(L)), at k = 1.
        _slope("attention-fixed-sharpness", fixed, 0.5 / (1 + 1 / (reach - 1))),
    ]
    for statement, found, allowance in (
        ("attention-log-length-free", tuned, 0.02),  # "as good": within 2%
        ("bayes-boundary", to_bayes, 0.002),
    ):
        claims.append(
            compare(
                statement,
                "attention",
                "ratio",
                where="largest ratio of critical strengths over all L",
                expected=1.0,
                found=found,
                allowance=allowance,
                converged=all(p.converged for trio in pairs for p in trio),
                key=statement == "bayes-boundary",
            )
        )
    return claims


def _middle(points: Sequence[Point]) -> float:
    return (points[-1].value + points[-2].value) / 2


def _slope(statement: str, points: Sequence[Point], expected: float) -> Claim:
    low, high = points[-2:]
    return compare(
        statement,
        low.curve,
        "slope",
        where=f"dθ / d log L, L = {low.x:g} to {high.x:g}",
        expected=expected,
        found=(high.value - low.value) / math.log(high.x / low.x),
        allowance=0.1 * expected,  # the prediction is of leading order
        converged=low.converged and high.converged,
        key=True,
    )


def _floor(points: Sequence[Point]) -> list[Claim]:
    claims = []
    computed = [p for p in points if p.source == "theory"]
    for quantity in ("critical_strength", "test_error"):
        kept = [p for p in computed if p.quantity == quantity]
        bayes = {(p.group, p.x): p for p in kept if p.curve == "bayes"}
        shares = [
            bayes[p.group, p.x].value <= p.value + _slack(p, bayes[p.group, p.x])
            for p in kept
            if p.curve != "bayes" and (p.group, p.x) in bayes
        ]
        claims.append(
            compare(
                "bayes-is-the-floor",
                "bayes",
                quantity,
                where=f"share of {len(shares)} cases",
                expected=1.0,
                found=float(np.mean(shares)),
                allowance=0.0,
                converged=all(p.converged for p in kept),
                key=quantity == "test_error",
            )
        )
    return claims


def _slack(point: Point, bayes: Point) -> float:
    """Return three numerical errors, and the 1e-5 below which errors are not resolved."""
    return 3 * math.hypot(point.error, bayes.error) + 1e-5


def _simulated(points: Sequence[Point]) -> list[Claim]:
    expected = {(p.group, p.curve): p for p in points if p.source == "theory" and "L" in p.group}
    return [
        judge(
            "oracle-error",
            expected[p.group, p.curve],
            p,
            where=f"{p.group}, θ = {p.x:g}",
            allowance=0.0,  # the law is exact at every dimension
            key=p.curve == "attention",
        )
        for p in points
        if p.source == "tensors"
    ]
