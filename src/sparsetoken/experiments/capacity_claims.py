"""What the capacity curves say, and how it is judged."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence

import numpy as np
from scipy.stats import binom

from sparsetoken.experiments.capacity_places import BASE, PLACES, fits, measured
from sparsetoken.experiments.claims import Claim, Statement, compare, judge
from sparsetoken.experiments.points import Point, select
from sparsetoken.experiments.threshold import Limit, fit_power

__all__ = ["STATEMENTS", "claims_of", "threshold_gap", "width_power"]

STATEMENTS = (
    Statement(
        "pooled-capacity-is-vectorized-over-length",
        "Pooling divides the capacity by the number of tokens: α*<sub>pool</sub> = "
        "α*<sub>vec</sub> / L.",
    ),
    Statement(
        "capacity-order",
        "With a well aligned query and a signal that is not strong, α*<sub>vec</sub> > "
        "α*<sub>attention</sub> > α*<sub>pool</sub>.",
    ),
    Statement(
        "capacity-order-not-always",
        "The order breaks: below a cosine attention falls under pooled, and above a strength "
        "it passes vectorized.",
    ),
    Statement(
        "capacity-without-signal",
        "Without signal and with even labels α* = 2 for pooled and attention and 2 L for "
        "vectorized, and separable sets are as frequent as Cover counts them.",
    ),
    Statement("transition-width", "The transition narrows as d<sup>−1/2</sup>."),
    Statement("capacity-measured", "Measured thresholds, carried to infinite dimension, are α*."),
)


def claims_of(points: Sequence[Point]) -> list[Claim]:
    """Return all claims of the capacity curves."""
    return [
        *_over_length(points),
        *_order(points),
        *_not_always(points),
        *_without_signal(points),
        _narrowing(points),
        *_measured_claims(points),
    ]


def _by_model(points: Sequence[Point], panel: str) -> dict[float, dict[str, Point]]:
    rows: dict[float, dict[str, Point]] = {}
    for p in select(points, quantity="capacity", group=panel):
        rows.setdefault(p.x, {})[p.curve] = p
    return rows


def _over_length(points: Sequence[Point]) -> list[Claim]:
    name = STATEMENTS[0].name
    rows = _by_model(points, "length")
    ratios = [L * row["pooled"].value / row["vectorized"].value for L, row in rows.items()]
    # Both are Newton minima of laws of two nodes: rounding only.
    claims = [
        compare(
            name,
            "pooled",
            "capacity",
            where=f"L from {min(rows):g} to {max(rows):g}, the furthest from 1",
            expected=1.0,
            found=max(ratios, key=lambda ratio: abs(ratio - 1)),
            allowance=1e-8,
            key=True,
        )
    ]
    for place in (p for p in PLACES.values() if {"pooled", "vectorized"} <= set(p.models)):
        pooled, vectorized = (measured(points, place.name, m) for m in ("pooled", "vectorized"))
        L = place.length
        expected = dataclasses.replace(pooled, value=L * pooled.value, error=L * pooled.error)
        where = f"{place.text}: measured L α*<sub>pool</sub> and α*<sub>vec</sub>"
        # Both are carried to infinite dimension.
        claims.append(judge(name, expected, vectorized, where=where, allowance=0.0))
    return claims


def _order(points: Sequence[Point]) -> list[Claim]:
    rows = [row for L, row in _by_model(points, "length").items() if 4 <= L <= 10]
    true = [row["vectorized"].value > row["attention"].value > row["pooled"].value for row in rows]
    both = (("vectorized", "attention"), ("attention", "pooled"))
    pairs = [(place, *pair) for place in ("base", "strong", "two tokens") for pair in both]
    pairs.append(("eight tokens", "attention", "pooled"))
    gaps = [threshold_gap(points, (place, up), (place, low)) for place, up, low in pairs]
    return [
        _share("capacity-order", "theory, θ = 2, s = 0.8, L from 4 to 10", true),
        _measured_order("capacity-order", "measured, at all places", gaps),
    ]


def _not_always(points: Sequence[Point]) -> list[Claim]:
    name = "capacity-order-not-always"
    (low,) = select(points, quantity="crossing", group="cosine")
    (high,) = select(points, quantity="crossing", group="strength")
    cosines, strengths = _by_model(points, "cosine"), _by_model(points, "strength")
    below = [
        (row["attention"].value < row["pooled"].value) == (s < low.x) for s, row in cosines.items()
    ]
    beyond = [
        (row["attention"].value > row["vectorized"].value) == (t > high.x)
        for t, row in strengths.items()
    ]
    gaps = [
        threshold_gap(points, ("base", "pooled"), ("turned away", "attention")),
        threshold_gap(points, ("very strong", "attention"), ("very strong", "vectorized")),
    ]
    return [
        _share(name, f"theory, attention under pooled exactly below s = {low.x:.3f}", below),
        _share(name, f"theory, attention over vectorized exactly above θ = {high.x:.2f}", beyond),
        _measured_order(name, "measured at s = −0.6, and at θ = 5", gaps),
    ]


def _share(statement: str, where: str, true: Sequence[bool], **more: bool) -> Claim:
    share = sum(true) / len(true)
    return compare(
        statement, "all", "order", where=where, expected=1.0, found=share, allowance=0.0, **more
    )


def _measured_order(statement: str, where: str, gaps: Sequence[float]) -> Claim:
    """Judge the share of differences that are more than three standard errors above 0."""
    known = all(math.isfinite(gap) for gap in gaps)
    return _share(statement, where, [gap > 3 for gap in gaps], converged=known, key=True)


def threshold_gap(points: Sequence[Point], upper: tuple[str, str], lower: tuple[str, str]) -> float:
    """Return a difference of measured thresholds at the most features, in standard errors.

    The thresholds are given as (place, model); nan if one is not known.
    """
    above, below = fits(points, *upper), fits(points, *lower)
    if not set(above) & set(below):
        return math.nan
    m = max(set(above) & set(below))
    error = math.hypot(above[m].standard_error, below[m].standard_error)
    return (above[m].middle - below[m].middle) / error


def _without_signal(points: Sequence[Point]) -> list[Claim]:
    name = "capacity-without-signal"
    claims = []
    for model, row in _by_model(points, "strength")[0.0].items():
        expected = 2.0 * (BASE.length if model == "vectorized" else 1)
        claims.append(
            # The residual of Newton's method, and rounding: its gradient stops at 1e-9 or so.
            compare(
                name,
                model,
                "capacity",
                where="theory, θ = 0",
                expected=expected,
                found=row.value,
                allowance=1e-5,
                error=row.error,
                converged=row.converged,
            )
        )
    for model in PLACES["no signal"].models:
        claims.append(_cover(name, select(points, group="no signal", curve=model)))
    return claims


def _cover(statement: str, points: Sequence[Point]) -> Claim:
    """Compare the mean share with Cover's count, exact in every dimension.

    n points in general position with random labels are separable by m weights and a bias
    with chance P(Binomial(n - 1, 1/2) <= m).
    """
    counted = [p for p in points if p.quantity == "separable"]
    chances = [float(binom.cdf(int(p.y), round(p.x * p.dimension) - 1, 0.5)) for p in counted]
    sets = [p.trials for p in counted]
    variance = sum(c * (1 - c) * n for c, n in zip(chances, sets, strict=True))
    total = sum(sets)
    expected = sum(c * n for c, n in zip(chances, sets, strict=True)) / total
    found = sum(p.value * p.trials for p in counted) / total
    mean = dataclasses.replace(
        counted[-1], x=0.0, value=found, error=math.sqrt(variance) / total, trials=total
    )
    exact = dataclasses.replace(mean, value=expected, error=0.0, source="theory")
    where = "share of all training sets, Cover’s count"
    return judge(statement, exact, mean, where=where, key=mean.curve == "attention")


def _narrowing(points: Sequence[Point]) -> Claim:
    counted, power = select(points, quantity="separable"), width_power(points)
    trials, largest = sum(p.trials for p in counted), int(max(p.y for p in counted))
    found = Point("all", "power", 0.0, power.value, power.error, "reduced", "", largest, trials)
    half = Point("all", "power", 0.0, -0.5)
    # A width c m^(-1/2) (1 + a/m) with |a| = 2 moves the power between 32 and 128 by 0.03.
    return judge(
        "transition-width",
        half,
        found,
        where="power of the number of features, all places",
        allowance=0.03,
        key=True,
    )


def width_power(points: Sequence[Point]) -> Limit:
    """Return the mean over places of the power that each finds, weighted by precision."""
    powers = []
    for place in PLACES.values():
        for model in place.models:
            found = {m: f for m, f in fits(points, place.name, model).items() if f.converged}
            if len(found) > 1:
                widths = [f.width for f in found.values()]
                errors = [f.width_error for f in found.values()]
                powers.append(fit_power(list(found), widths, errors))
    weights = np.array([p.error**-2 for p in powers])
    mean = float(weights @ [p.value for p in powers] / weights.sum())
    return Limit(mean, float(weights.sum() ** -0.5))


def _measured_claims(points: Sequence[Point]) -> list[Claim]:
    claims = []
    for place in PLACES.values():
        for model in place.models:
            (theory_point,) = select(points, quantity="threshold", group=place.name, curve=model)
            found = measured(points, place.name, model)
            # Carried to infinite dimension, so nothing is allowed for a finite one.
            claim = judge(
                "capacity-measured",
                theory_point,
                found,
                where=place.text,
                allowance=0.0,
                key=place is BASE,
            )
            claims.append(claim)
    return claims
