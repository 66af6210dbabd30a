"""What is claimed, and the comparisons that bear on it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from sparsetoken.experiments.claims import Claim, Comparison, Comparisons
from sparsetoken.experiments.data_reuse.work import FIT, Descended, Profile, Reused, Trained
from sparsetoken.experiments.finite_dimension import DIFFERENCE
from sparsetoken.experiments.references import References
from sparsetoken.experiments.rows import Measured, Predicted, Rows, one, select
from sparsetoken.experiments.rules import judge, share

REUSE, SPLITTING = "reuse-of-data", "reuse-or-splitting"

CLAIMS = (
    Claim(
        REUSE,
        "With the same data for query and readout, D0 = D1, test error and cosine of the query "
        "have exact limits too: those of two steps and the fit as one descent on one data set.",
    ),
    Claim(
        SPLITTING,
        "Of a given number of samples, all of them used for both query and readout give a "
        "smaller test error than half of them for each.",
    ),
)
TIMES = {"reused": 1, "all twice": 2}
"""How many times n0 samples an arm sees."""


def compare_rows(profile: Profile, rows: Rows) -> list[Comparison]:
    """Return all comparisons."""
    trained = [row for row in select(rows, Trained) if row.arm in TIMES]
    found = [_judged(rows, row, name) for row in trained for name in ("test_error", "cosine")]
    twice = select(trained, Trained, arm="all twice")
    found += [
        _descended(rows, row, name)
        for row in select(rows, Descended)
        for name in ("test_error", "cosine")
    ]
    return [*found, *(_gained(rows, row) for row in twice), _always(rows, twice)]


def _reused(rows: Rows, row: Trained) -> Reused:
    return one(rows, Reused, alpha=TIMES[row.arm] * row.load)


def predicted_error(rows: Rows, arm: str, load: float) -> Predicted:
    """Return the predicted test error of an arm."""
    if arm == "fresh":
        return one(rows, References, load=load).attention
    return one(rows, Reused, alpha=TIMES[arm] * load).test_error


def _place(row: Trained) -> dict[str, Any]:
    where = f"n₀/d = n₁/d = {row.load:g}, d = {row.test_error.dimension}"
    return {"curve": row.arm, "where": where, "x": row.load}


def _judged(rows: Rows, row: Trained, name: str) -> Comparison:
    theory, found = getattr(_reused(rows, row), name), getattr(row, name)
    key = name == "test_error" and row.arm == "reused"
    return judge(REUSE, name, theory, found, **_place(row), key=key)


def _descended(rows: Rows, row: Descended, name: str) -> Comparison:
    theory, found = getattr(one(rows, Reused, alpha=row.alpha), name), getattr(row, name)
    where = f"n/d = {row.alpha:g}, d = {found.dimension}"
    return judge(REUSE, name, theory, found, curve="without tokens", where=where, x=row.alpha)


def _difference(rows: Rows, row: Trained) -> Predicted:
    """Return the predicted test error of an arm less that with fresh data."""
    reused, fresh = (predicted_error(rows, arm, row.load) for arm in (row.arm, "fresh"))
    status = reused.status if not reused.converged else fresh.status
    return Predicted(reused.value - fresh.value, math.hypot(reused.error, fresh.error), status)


def _gained(rows: Rows, row: Trained) -> Comparison:
    # A difference of two test errors is off at finite d by as much as the larger one.
    fresh = predicted_error(rows, "fresh", row.load).value
    name = "test_error − fresh"
    theory = _difference(rows, row)
    return judge(SPLITTING, name, theory, row.excess, **_place(row), shift=DIFFERENCE, size=fresh)


def _always(rows: Rows, twice: Sequence[Trained]) -> Comparison:
    found = [_difference(rows, row) for row in twice]
    true = [gap.value < -3 * gap.error for gap in found]
    return share(
        SPLITTING,
        "loads where it is smaller by three errors",
        true,
        curve="theory",
        where="load " + ", ".join(f"{row.load:g}" for row in twice),
        converged=all(gap.converged for gap in found),
        key=True,
    )


def summary(profile: Profile, rows: Rows, comparisons: Comparisons) -> dict[str, Any]:
    """Return predictions and measurements at each load."""
    return {
        "steps": FIT,
        "loads": [
            {
                "load": load,
                "references": one(rows, References, load=load),
                "arms": [_arm(rows, row) for row in select(rows, Trained, load=load)],
            }
            for load in profile.loads
        ],
        "descended": [
            (row, one(rows, Reused, alpha=row.alpha).test_error) for row in select(rows, Descended)
        ],
        "gains": [
            (row.load, _difference(rows, row), row.excess)
            for row in select(rows, Trained, arm="all twice")
        ],
    }


def _arm(rows: Rows, row: Trained) -> tuple[str, Predicted, Measured]:
    return row.arm, predicted_error(rows, row.arm, row.load), row.test_error
