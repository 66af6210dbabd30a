"""What is claimed, and the comparisons that bear on it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sparsetoken.experiments.alignment.rows import OtherSteps, Simulated, Theory
from sparsetoken.experiments.alignment.work import Profile
from sparsetoken.experiments.claims import Claim, Comparison, largest_z
from sparsetoken.experiments.rows import one, select
from sparsetoken.experiments.rules import compare, judge

__all__ = ["CLAIMS", "compare_rows", "summary"]

CLAIMS = (
    Claim(
        "query-alignment",
        "Two gradient steps turn the query towards the signal; at a finite load α₀ = n₀/d its "
        "cosine with the signal, and that of the readout, have exact limits.",
    ),
    Claim(
        "steps-set-sharpness-only",
        "The step size η_q and the inverse temperature β do not move the cosine of the query; "
        "they set how sharp the softmax is.",
    ),
)
QUANTITIES = ("cosine", "readout_cosine")
ROUNDING = 1e-12  # of the few dozen operations that find a query


def compare_rows(profile: Profile, rows: Sequence[Any]) -> list[Comparison]:
    """Return all comparisons."""
    theory = {row.alpha0: row for row in select(rows, Theory)}
    found = [
        _judged(name, theory[row.alpha0], row, key=row.alpha0 in profile.key)
        for row in select(rows, Simulated)
        for name in QUANTITIES
    ]
    return found + _steps(one(rows, OtherSteps))


def _judged(name: str, theory: Theory, row: Simulated, key: bool) -> Comparison:
    found = getattr(row, name)
    return judge(
        "query-alignment",
        name,
        getattr(theory, name),
        found,
        where=f"α₀ = {row.alpha0:g}, d = {found.dimension}",
        x=row.alpha0,
        key=key or found.engine == "tensors",
    )


def _steps(row: OtherSteps) -> list[Comparison]:
    values = (
        ("moved cosine", 0.0, row.moved_cosine),
        ("sharpness over η_q β²", 1.0, row.sharpness_ratio),
    )
    return [
        compare(
            "steps-set-sharpness-only",
            quantity,
            curve="query",
            where=f"{row.choices} choices of η_q and β",
            expected=expected,
            found=found,
            allowance=ROUNDING,
            key=True,
        )
        for quantity, expected, found in values
    ]


def summary(
    profile: Profile, rows: Sequence[Any], comparisons: Sequence[Comparison]
) -> dict[str, Any]:
    """Return what the words need."""
    simulated = sorted(select(rows, Simulated), key=lambda row: row.alpha0)
    return {"first": simulated[0], "last": simulated[-1], "largest": largest_z(comparisons)}
