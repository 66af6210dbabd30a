"""What is asked, what was found, and the numbers that the words need."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sparsetoken.experiments.claims import Claim, Comparison
from sparsetoken.experiments.data_reuse.work import Profile, Trained
from sparsetoken.experiments.references import References
from sparsetoken.experiments.rows import one, select
from sparsetoken.experiments.rules import observed

__all__ = ["CLAIMS", "compare_rows", "summary"]

CLAIMS = (
    Claim(
        "reuse-of-data",
        "The theory needs fresh data for the readout; does the same data for both, D0 = D1, "
        "give a worse classifier?",
        open=True,
    ),
)
QUANTITIES = {"test_error": "test_error", "cosine": "cosine", "excess": "test_error − fresh"}


def compare_rows(profile: Profile, rows: Sequence[Any]) -> list[Comparison]:
    """Report all that was measured."""
    return [
        observed(
            "reuse-of-data",
            quantity,
            getattr(row, column),
            curve=row.arm,
            where=f"n₀/d = n₁/d = {row.load:g}, d = {profile.dimension}",
            x=row.load,
            key=column == "excess" and row.arm == "reused",
        )
        for row in select(rows, Trained)
        for column, quantity in QUANTITIES.items()
        if not (column == "excess" and row.arm == "fresh")
    ]


def summary(
    profile: Profile, rows: Sequence[Any], comparisons: Sequence[Comparison]
) -> dict[str, Any]:
    """Return the rows that the words name, and how often the differences are clear."""
    reused, twice = (select(rows, Trained, arm=arm) for arm in ("reused", "all twice"))
    last = reused[-1].load
    return {
        "reused": reused,
        "references": one(rows, References, load=last),
        "ends": select(rows, Trained, load=last),
        "worse": sum(row.excess.value > 3 * row.excess.error for row in reused),
        "better": sum(row.excess.value < -3 * row.excess.error for row in twice),
    }
