"""What is claimed, and the comparisons that bear on it."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np

from sparsetoken.experiments.claims import Claim, Comparison, Comparisons
from sparsetoken.experiments.finite_dimension import NO_SHIFT, SHIFTS, carried_to_infinity
from sparsetoken.experiments.rates.rows import (
    Abundant,
    Approach,
    Excess,
    Gap,
    MeasuredExcess,
    MeasuredGap,
    Rate,
)
from sparsetoken.experiments.rates.work import (
    ABUNDANT,
    FAR,
    LINEAR,
    MODELS,
    SETTINGS,
    Profile,
    weights,
)
from sparsetoken.experiments.rows import Predicted, Rows, one, select
from sparsetoken.experiments.rules import compare, judge

CLAIMS = (
    Claim(
        "alignment-rate",
        "|s_q| = 1 − C/α₀ + o(1/α₀) with the predicted C, for queries that turn to the signal "
        "and for queries that turn away.",
    ),
    Claim(
        "infinite-data-rate",
        "For the square loss as λ → 0 the test error of each model comes down to its limit "
        "of infinite data as 1/α₁.",
    ),
    Claim(
        "vectorized-and-pooled-share-the-limit",
        "With infinite data the vectorized and the pooled classifier have the same test error.",
    ),
)
SHARED = "vectorized-and-pooled-share-the-limit"
GAP, EXCESS, SLOPE = "α₀ (1 − |s|)", "α₁ (E − E∞)", "log-log slope"


def compare_rows(profile: Profile, rows: Rows) -> list[Comparison]:
    """Return all comparisons."""
    found = [c for name in SETTINGS for c in _alignment(name, rows)]
    found += [c for model in MODELS for c in _data(model, rows)]
    pooled = one(rows, Approach, model="pooled").limit
    vectorized = one(rows, Approach, model="vectorized").limit
    shared = compare(
        SHARED,
        "test_error",
        curve="vectorized",
        where="α₁ = ∞, against pooled",
        expected=pooled.value,
        found=vectorized.value,
        allowance=1e-9,  # Newton's last step, squared; both laws are exact
        converged=pooled.converged and vectorized.converged,
        key=True,
    )
    return [*found, shared, *_limits(rows)]


def _limits(rows: Rows) -> list[Comparison]:
    """Compare measured errors carried to infinite data: with each other and with the theory."""
    found = {}
    for model in LINEAR:
        some = select(rows, Abundant, model=model)
        found[model] = carried_to_infinity([r.test_error for r in some], [r.load for r in some])
    pooled, vectorized = (found[model] for model in LINEAR)
    loads = " and ".join(f"{load:g}" for load in ABUNDANT)
    place: dict[str, Any] = {"where": f"n₁ = {loads} × weights, carried to ∞", "shift": NO_SHIFT}
    other = Predicted(pooled.value, pooled.error, pooled.status)
    limit = one(rows, Approach, model="pooled").limit
    return [
        judge(SHARED, "test_error", other, vectorized, curve="vectorized, pooled", **place),
        judge(SHARED, "test_error", limit, pooled, curve="pooled", **place),
        judge(SHARED, "test_error", limit, vectorized, curve="vectorized", **place),
    ]


def _alignment(name: str, rows: Rows) -> list[Comparison]:
    known = select(rows, Gap, setting=name)
    theory = {row.alpha0: row.gap for row in known}
    last, before = known[-1], known[-2]
    scaled, scaled_before = (row.alpha0 * row.gap.value for row in (last, before))
    comparisons = [
        compare(
            "alignment-rate",
            GAP,
            curve=name,
            where=f"α₀ = {last.alpha0:g}, against C",
            expected=one(rows, Rate, setting=name).rate.value,
            found=scaled,
            # The next order in 1/alpha0 falls as 1/alpha0: from the last step of the line on,
            # no more remains than that step over (ratio of the two alpha0 - 1).
            allowance=1.1 * abs(scaled - scaled_before) / (last.alpha0 / before.alpha0 - 1) + 1e-9,
            converged=last.gap.converged,
            key=True,
        )
    ]
    for row in select(rows, MeasuredGap, setting=name):
        exact = theory[row.alpha0]
        comparisons.append(
            judge(
                "alignment-rate",
                "misalignment",
                exact,
                row.gap,
                curve=name,
                where=f"α₀ = {row.alpha0:g}",
                x=row.alpha0,
                group="alignment",
                key=row.alpha0 == 100,
            )
        )
    return comparisons


def _data(model: str, rows: Rows) -> list[Comparison]:
    known = select(rows, Excess, model=model)
    approach = one(rows, Approach, model=model)
    comparisons = [_first_order(model, known[-1], approach), _slope(model, known)]
    theory = {row.alpha1: row.excess for row in known}
    for row in select(rows, MeasuredExcess, model=model):
        exact = dataclasses.replace(theory[row.alpha1], error=approach.limit.error)
        comparisons.append(
            judge(
                "infinite-data-rate",
                "excess",
                exact,
                row.excess,
                curve=model,
                where=f"α₁ = {row.alpha1:g}",
                x=row.alpha1,
                group="data",
                # With infinite data the theory is exact at every d: only the excess feels d,
                # as test errors do.
                shift=SHIFTS["test_error"],
            )
        )
    return comparisons


def _first_order(model: str, last: Excess, approach: Approach) -> Comparison:
    return compare(
        "infinite-data-rate",
        EXCESS,
        curve=model,
        where=f"α₁ = {last.alpha1:g}, against the rate from first-order theory",
        expected=approach.rate.value,
        found=last.alpha1 * last.excess.value,
        # The next order is of relative size (weights per dimension)/alpha1 times a few; the
        # rate itself is found with other nodes, whose error is a few thousandths.
        allowance=(10 * weights(model) / last.alpha1 + 3e-3) * approach.rate.value,
        error=approach.rate.error,
        converged=last.excess.converged,
        key=True,
    )


def _slope(model: str, known: Sequence[Excess]) -> Comparison:
    far = [row for row in known if row.alpha1 >= FAR / 10]
    x, y = np.log([row.alpha1 for row in far]), np.log([row.excess.value for row in far])
    return compare(
        "infinite-data-rate",
        SLOPE,
        curve=model,
        where=f"theory, α₁ from {FAR / 10:g} to {FAR:g}",
        expected=-1.0,
        found=float(np.polyfit(x, y, 1)[0]),
        # The second order is (weights per dimension)/alpha1 at most times a few.
        allowance=10 * weights(model) / (FAR / 10),
        converged=all(row.excess.converged for row in known),
    )


def summary(profile: Profile, rows: Rows, comparisons: Comparisons) -> dict[str, Any]:
    """Return what the words need."""

    def of(quantity: str) -> list[Comparison]:
        return [c for c in comparisons if c.quantity == quantity]

    return {
        "far": FAR,
        "gaps": of(GAP),
        "excesses": of(EXCESS),
        "slopes": of(SLOPE),
        "away": [row.setting for row in select(rows, Rate) if row.away],
        "limits": {row.model: row.limit for row in select(rows, Approach)},
    }
