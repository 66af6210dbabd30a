"""What is asked, what was found, and the numbers that the words need."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sparsetoken.experiments.claims import Claim, Comparison, Comparisons
from sparsetoken.experiments.query_steps.work import ALPHA0, ALPHA1, HELD, SIZES, AfterStep, Profile
from sparsetoken.experiments.references import References
from sparsetoken.experiments.rows import Rows, one, select
from sparsetoken.experiments.rules import observed

CLAIMS = (
    Claim(
        "more-query-steps",
        "Do more gradient steps on the query than two give a better classifier?",
        open=True,
    ),
)
QUANTITIES = {
    "test_error": "test_error",
    "cosine": "cosine",
    "sharpness": "sharpness",
    "held_test_error": "test_error",
    "change": "test_error − step 2",
}


def compare_rows(profile: Profile, rows: Rows) -> list[Comparison]:
    """Report all that was measured."""
    return [
        observed(
            "more-query-steps",
            quantity,
            getattr(row, column),
            curve=f"η_q = {row.eta_q:g}" + (", k held" if column == "held_test_error" else ""),
            where=f"step {row.step}, d = {profile.dimension}",
            x=float(row.step),
            key=column == "test_error" and row.step in (2, profile.last_step),
        )
        for row in select(rows, AfterStep)
        for column, quantity in QUANTITIES.items()
        if not (column == "change" and row.step == 2)
    ]


def summary(profile: Profile, rows: Rows, comparisons: Comparisons) -> dict[str, Any]:
    """Return for each step size the steps that the words name, and the best of all."""
    paths = [select(rows, AfterStep, eta_q=eta_q) for eta_q in SIZES]
    ways = [
        {"first": path[0], "best": _best(path), "aligned": _aligned(path), "last": path[-1]}
        for path in paths
    ]
    return {
        "alpha0": ALPHA0,
        "alpha1": ALPHA1,
        "held": HELD,
        "sizes": SIZES,
        "references": one(rows, References),
        "ways": ways,
        "best": _best([row for path in paths for row in path]),
        "fits_noise": all(_falls(way["aligned"], way["last"]) for way in ways),
    }


def _best(path: Sequence[AfterStep]) -> AfterStep:
    return min(path, key=lambda row: row.test_error.value)


def _aligned(path: Sequence[AfterStep]) -> AfterStep:
    return max(path, key=lambda row: row.cosine.value)


def _falls(top: AfterStep, last: AfterStep) -> bool:
    """Return whether the cosine falls beyond the errors from its highest value to the last."""
    return top.cosine.value - last.cosine.value > 3 * (top.cosine.error + last.cosine.error)
