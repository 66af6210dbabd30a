"""What is asked, what was found, and the numbers that the words need."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sparsetoken.beyond.joint import STARTS
from sparsetoken.experiments.claims import Claim, Comparison
from sparsetoken.experiments.joint_training.work import RATE, AfterSteps, Profile
from sparsetoken.experiments.references import References
from sparsetoken.experiments.rows import select
from sparsetoken.experiments.rules import observed

__all__ = ["CLAIMS", "compare_rows", "summary"]

CLAIMS = (
    Claim(
        "joint-training",
        "Does gradient descent on query, readout and bias together beat the four stages on the "
        "same data?",
        open=True,
    ),
)
QUANTITIES = ("test_error", "cosine", "sharpness", "objective", "gradient_norm")


def compare_rows(profile: Profile, rows: Sequence[Any]) -> list[Comparison]:
    """Report all that was measured."""
    return [
        observed(
            "joint-training",
            quantity,
            getattr(row, quantity),
            curve=row.start,
            where=f"n₀/d = n₁/d = {row.load:g}, after {row.steps} steps, d = {profile.dimension}",
            x=float(row.steps),
            group=f"n₀/d = n₁/d = {row.load:g}",
            key=quantity == "test_error" and row.steps == profile.steps[-1],
        )
        for row in select(rows, AfterSteps)
        for quantity in QUANTITIES
    ]


def summary(
    profile: Profile, rows: Sequence[Any], comparisons: Sequence[Comparison]
) -> dict[str, Any]:
    """Return the best and the last step of each descent, and how they stand to two steps."""
    loads = [(known, _descents(rows, known.load)) for known in select(rows, References)]
    cases = [(known.attention.value, case) for known, cases in loads for case in cases]
    return {
        "rate": RATE,
        "loads": loads,
        "cases": len(cases),
        "above": sum(_excess(case["last"], level) > 3 for level, case in cases),
        "below": sum(_excess(case["best"], level) < -3 for level, case in cases),
    }


def _descents(rows: Sequence[Any], load: float) -> list[dict[str, AfterSteps]]:
    paths = [select(rows, AfterSteps, load=load, start=start) for start in STARTS]
    return [
        {"best": min(path, key=lambda row: row.test_error.value), "last": path[-1]}
        for path in paths
    ]


def _excess(row: AfterSteps, level: float) -> float:
    """Return by how many standard errors a test error is above a level."""
    return (row.test_error.value - level) / row.test_error.error
