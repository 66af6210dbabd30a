"""What is claimed, and the comparisons that bear on it."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from typing import Any

from sparsetoken.experiments.claims import Claim, Comparison, Comparisons, largest_z
from sparsetoken.experiments.finite_dimension import NO_SHIFT, carried_to_infinity
from sparsetoken.experiments.misalignment.rows import Abundant, AtCosine, Crossing, Pooled, Trials
from sparsetoken.experiments.misalignment.work import ABUNDANT, LENGTH, TOLERANCE, Profile
from sparsetoken.experiments.rows import Measured, Predicted, Rows, one, select
from sparsetoken.experiments.rules import compare, judge, share

CLAIMS = (
    Claim(
        "misaligned-attention-loses",
        "With infinite data, attention whose query has a cosine below a critical value has a "
        "larger test error than mean pooling, and above it a smaller one.",
    ),
    Claim(
        "crossing-at-finite-load",
        "At a finite α₁ the test errors of attention and pooling cross too, at a cosine of "
        "their own, which the theory gives.",
    ),
    Claim(
        "residual-error-falls-with-alignment",
        "The error that infinite data leave falls with the alignment of the query, for short "
        "and for long sequences.",
    ),
)


def compare_rows(profile: Profile, rows: Rows) -> list[Comparison]:
    """Return all comparisons."""
    lost, crossed, _ = (claim.name for claim in CLAIMS)
    found = [_equal(lost, rows, math.inf), _sides(lost, rows, math.inf)]
    for alpha1 in profile.alphas:
        found += [_equal(crossed, rows, alpha1), _sides(crossed, rows, alpha1)]
        trials = select(rows, Trials, alpha1=alpha1)
        measured = {(row.model, row.cosine): row.test_error for row in trials}
        crossing = one(rows, Crossing, length=LENGTH, alpha1=alpha1).cosine
        found.append(_winners(crossed, crossing, measured, _load(alpha1)))
        found += _judged(crossed, rows, alpha1)
    found += [_falls(rows, L) for L in profile.lengths]
    limits = carried(rows)
    found += [_residual(rows, place, error) for place, error in limits.items()]
    measured = {(model, s): m for (model, L, s), m in limits.items() if L == LENGTH}
    crossing = one(rows, Crossing, length=LENGTH, alpha1=math.inf).cosine
    return [*found, _winners(lost, crossing, measured, "carried to α₁ = ∞")]


Limits = dict[tuple[str, int, float], Measured]
"""Measured test errors by model, length and cosine."""


def carried(rows: Rows) -> Limits:
    """Return the measured test errors carried to infinite data."""
    places = dict.fromkeys((r.model, r.length, r.cosine) for r in select(rows, Abundant))
    found = {}
    for model, length, cosine in places:
        some = select(rows, Abundant, model=model, length=length, cosine=cosine)
        sizes = [row.alpha1 for row in some]
        found[model, length, cosine] = carried_to_infinity([r.test_error for r in some], sizes)
    return found


def _theory(rows: Rows, model: str, length: int, alpha1: float, s: float) -> Predicted:
    """Return the predicted test error of a model, of attention at a cosine s."""
    if model == "attention":
        return one(rows, AtCosine, length=length, alpha1=alpha1, cosine=s).test_error
    return one(rows, Pooled, length=length, alpha1=alpha1).test_error


def _at(model: str, cosine: float) -> str:
    return f"s = {cosine:g}, " if model == "attention" else ""


def _residual(rows: Rows, place: tuple[str, int, float], found: Measured) -> Comparison:
    """Compare the error that infinite data leave with the theory."""
    model, length, cosine = place
    lost, _, falls = (claim.name for claim in CLAIMS)
    loads = " and ".join(f"{alpha1:g}" for alpha1 in ABUNDANT)
    return judge(
        lost if length == LENGTH else falls,
        "test_error",
        _theory(rows, model, length, math.inf, cosine),
        found,
        curve=model,
        where=f"L = {length}, {_at(model, cosine)}α₁ = {loads} carried to ∞",
        x=cosine,
        group="α₁ = ∞",
        shift=NO_SHIFT,  # with infinite data the theory is exact at every dimension
    )


def _winners(
    claim: str, crossing: Predicted, measured: Mapping[tuple[str, float], Measured], where: str
) -> Comparison:
    """Judge which model has the smaller error, measured by model and cosine."""
    pooled, right = measured["pooled", 0.0], []
    for (model, cosine), error in measured.items():
        if model == "attention":
            gap = error.value - pooled.value
            clear = abs(gap) > 3 * math.hypot(error.error, pooled.error)
            right.append(clear and (gap > 0) == (cosine < crossing.value))
    return share(
        claim,
        "share of measured cosines where the predicted model wins by 3 standard errors",
        right,
        curve="attention",
        where=f"{len(right)} cosines, {where}",
        converged=crossing.converged and all(m.converged for m in measured.values()),
        engine="reduced",
        key=True,
    )


def _load(alpha1: float) -> str:
    return "α₁ = ∞" if math.isinf(alpha1) else f"α₁ = {alpha1:g}"


def _judged(claim: str, rows: Rows, alpha1: float) -> list[Comparison]:
    """Compare the measured test errors with the theory."""
    return [
        judge(
            claim,
            "test_error",
            _theory(rows, row.model, LENGTH, alpha1, row.cosine),
            row.test_error,
            curve=row.model,
            where=f"{_at(row.model, row.cosine)}{_load(alpha1)}, d = {row.test_error.dimension}",
            x=row.cosine,
            group=_load(alpha1),
        )
        for row in select(rows, Trials, alpha1=alpha1)
    ]


def _equal(claim: str, rows: Rows, alpha1: float) -> Comparison:
    """Compare the two errors at the crossing, attention predicted there anew."""
    row = one(rows, Crossing, length=LENGTH, alpha1=alpha1)
    return compare(
        claim,
        "test_error",
        curve="attention",
        where=f"the crossing, s = {row.cosine.value:.4f}, {_load(alpha1)}",
        expected=row.pooled.value,
        found=row.attention.value,
        # The slope of the error in s is below 1.5 here: what the tolerance in s allows.
        allowance=1.5 * TOLERANCE,
        error=row.attention.error,
        x=row.cosine.value,
        converged=row.cosine.converged and row.attention.converged,
    )


def _sides(claim: str, rows: Rows, alpha1: float) -> Comparison:
    """Judge who wins on the grid by the side of the crossing."""
    crossing = one(rows, Crossing, length=LENGTH, alpha1=alpha1)
    # On the crossing itself the tolerance decides, not the order.
    clear = [
        row
        for row in select(rows, AtCosine, length=LENGTH, alpha1=alpha1)
        if abs(row.cosine - crossing.cosine.value) > 2 * TOLERANCE
    ]
    right = [
        (row.test_error.value > crossing.pooled.value) == (row.cosine < crossing.cosine.value)
        for row in clear
    ]
    return share(
        claim,
        "share of cosines where the predicted model wins",
        right,
        curve="attention",
        where=f"{len(clear)} cosines, {_load(alpha1)}",
        converged=all(row.test_error.converged for row in clear),
        key=True,
    )


def _falls(rows: Rows, length: int) -> Comparison:
    found = select(rows, AtCosine, length=length, alpha1=math.inf)
    errors = [row.test_error for row in found]
    steps = [b.value < a.value for a, b in itertools.pairwise(errors)]
    ends = f"s = {found[0].cosine:g} to {found[-1].cosine:g}"
    return share(
        "residual-error-falls-with-alignment",
        "share of steps in the cosine that lower the error",
        steps,
        curve=f"L = {length}",
        where=f"L = {length}, {len(steps)} steps from {ends}",
        converged=all(error.converged for error in errors),
        key=True,
    )


def summary(profile: Profile, rows: Rows, comparisons: Comparisons) -> dict[str, Any]:
    """Return what the words need."""
    lines = {L: select(rows, AtCosine, length=L, alpha1=math.inf) for L in profile.lengths}
    return {
        "limit": one(rows, Crossing, length=LENGTH, alpha1=math.inf),
        "crossings": [one(rows, Crossing, length=LENGTH, alpha1=a) for a in profile.alphas],
        "ends": [(L, line[0].test_error, line[-1].test_error) for L, line in lines.items()],
        "largest": largest_z(comparisons),
    }
