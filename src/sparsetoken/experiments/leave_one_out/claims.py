"""What is claimed, and the comparisons that bear on it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sparsetoken.experiments.claims import Claim, Comparison, Comparisons
from sparsetoken.experiments.leave_one_out.rows import Estimated, Refitted, Theory
from sparsetoken.experiments.leave_one_out.work import ALPHA1, QUERY, RIDGE, Profile
from sparsetoken.experiments.rows import Measured, Rows, one, select
from sparsetoken.experiments.rules import compare, judge, observed, share
from sparsetoken.experiments.threshold import Limit, fit_power

SURROGATE, ESTIMATE = "leave-one-out-surrogate", "leave-one-out-estimates-test-error"
CLAIMS = (
    Claim(
        SURROGATE,
        "The leave-one-out scores of the proof, all from one fit, differ from those of refits by "
        "an error that vanishes as the dimension grows; for the square loss they are equal.",
    ),
    Claim(
        ESTIMATE,
        "Their share of wrong signs estimates the test error, from the training set alone.",
    ),
)
CURVED = ("logistic", "squared_hinge")
"""The losses whose leave-one-out scores are not exact."""
ROUNDING = 1e-8
"""Of a left-out score where the surrogate is exact: the tolerance of the fits."""


def compare_rows(profile: Profile, rows: Rows) -> list[Comparison]:
    """Return all comparisons."""
    found = [_exact(select(rows, Refitted, loss="square"))]
    for loss in CURVED:
        found += _shrinks(loss, select(rows, Refitted, loss=loss))
    return found + [
        _estimate(name, one(rows, Theory, loss=row.loss, alpha1=row.alpha1), row, profile)
        for row in select(rows, Estimated)
        for name in ("test_error", "auc")
    ]


def _exact(refitted: Sequence[Refitted]) -> Comparison:
    return compare(
        SURROGATE,
        "surrogate_error",
        curve="square",
        where="square loss, largest over d",
        expected=0.0,
        found=max(row.surrogate_error.value for row in refitted),
        allowance=ROUNDING,
        converged=all(row.surrogate_error.converged for row in refitted),
        engine="reduced",
        key=True,
    )


def power_of(refitted: Sequence[Refitted]) -> Limit:
    """Return the power of d that the error of the surrogate follows."""
    errors = [row.surrogate_error for row in refitted]
    dimensions = [row.dimension for row in refitted]
    return fit_power(dimensions, [e.value for e in errors], [e.error for e in errors])


def _shrinks(loss: str, refitted: Sequence[Refitted]) -> list[Comparison]:
    """Judge that the power of d is below 0 by three standard errors, and report it."""
    power = power_of(refitted)
    errors = [row.surrogate_error for row in refitted]
    converged = all(error.converged for error in errors)
    first, last = refitted[0].dimension, refitted[-1].dimension
    place: dict[str, Any] = {"curve": loss, "where": f"{_named(loss)}, d = {first} to {last}"}
    shrinks = power.value + 3 * power.error < 0
    trials, status = sum(e.trials for e in errors), "converged" if converged else "max_iterations"
    judged: dict[str, Any] = {"converged": converged, "engine": "reduced"}
    found = Measured(power.value, power.error, last, trials, status=status)
    return [
        share(SURROGATE, "error shrinks", [shrinks], **place, **judged, key=True),
        observed(SURROGATE, "power of d", found, **place),
    ]


def _estimate(name: str, theory: Theory, row: Estimated, profile: Profile) -> Comparison:
    return judge(
        ESTIMATE,
        name,
        getattr(theory, name),
        getattr(row, name),
        curve=row.loss,
        where=f"{_named(row.loss)}, α₁ = {row.alpha1:g}",
        x=row.alpha1,
        key=row.alpha1 in profile.key,
    )


def _named(loss: str) -> str:
    return f"{loss.replace('_', ' ')} loss"


def summary(profile: Profile, rows: Rows, comparisons: Comparisons) -> dict[str, Any]:
    """Return what the words need."""
    estimates = [c for c in comparisons if c.claim == ESTIMATE and c.quantity == "test_error"]
    by_loss = {loss: select(rows, Refitted, loss=loss) for loss in CURVED}
    return {
        "alpha1": ALPHA1,
        "query": QUERY,
        "ridge": RIDGE,
        "exact": max(row.surrogate_error.value for row in select(rows, Refitted, loss="square")),
        "shrinkage": [
            (_named(loss), some[0], some[-1], power_of(some)) for loss, some in by_loss.items()
        ],
        "furthest": max(estimates, key=lambda c: abs(c.measured - c.theory)),
        "spreads": [row.spread.value for row in select(rows, Estimated)],
    }
