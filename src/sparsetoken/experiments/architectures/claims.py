"""What is asked, what was found, and the numbers that the words need."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from sparsetoken.experiments.architectures.work import ETA_Q, RIDGE, Profile, Simulated, Trained
from sparsetoken.experiments.claims import Claim, Comparison, Comparisons
from sparsetoken.experiments.references import References
from sparsetoken.experiments.rows import Measured, Rows, one, select
from sparsetoken.experiments.rules import observed

CLAIMS = (
    Claim(
        "several-queries",
        "Where do several queries, trained end to end with their readout, stand between pooled, "
        "two-step attention and Bayes?",
        open=True,
    ),
    Claim(
        "class-token",
        "Where does self-attention with a class token stand between pooled, two-step attention "
        "and Bayes?",
        open=True,
    ),
    Claim(
        "two-layers",
        "Where do two layers of self-attention stand between pooled, two-step attention and Bayes?",
        open=True,
    ),
)
CLAIM_ON = {
    "multi-query": "several-queries",
    "class-token": "class-token",
    "two-layer": "two-layers",
}
FAMILIES = {
    "multi-query": "Several queries",
    "class-token": "Class token",
    "two-layer": "Two layers",
}


def compare_rows(profile: Profile, rows: Rows) -> list[Comparison]:
    """Report all that was trained; the best at the largest load stands for its family."""
    found = []
    for family, claim in CLAIM_ON.items():
        trained = _of_family(rows, family)
        best = min(_at_largest_load(trained), key=lambda row: row.test_error.value)
        found += [
            observed(
                claim,
                "test_error",
                row.test_error,
                curve=row.name,
                where=f"{row.name}, α = {row.load:g}",
                x=row.load,
                group=family,
                key=row is best,
            )
            for row in trained
        ]
    return found


def _of_family(rows: Rows, family: str) -> list[Trained]:
    return [row for row in select(rows, Trained) if row.network.family == family]


def _at_largest_load(rows: Sequence[Trained]) -> list[Trained]:
    return select(rows, Trained, load=max(row.load for row in rows))


def summary(profile: Profile, rows: Rows, comparisons: Comparisons) -> dict[str, Any]:
    """Return the references at the largest load, and where each network stands there."""
    load = max(profile.loads)
    known = one(rows, References, load=load)
    trained = [(title, _at_largest_load(_of_family(rows, f))) for f, title in FAMILIES.items()]
    return {
        "ridge": RIDGE,
        "eta_q": ETA_Q,
        "width": profile.networks[0].width,
        "steps": profile.recipe.block * profile.recipe.blocks,
        "references": known,
        "simulated": one(rows, Simulated, load=load),
        "families": [
            {"title": title, "standings": standings(found, known), "heads": with_more_heads(found)}
            for title, found in trained
        ],
    }


def standings(rows: Sequence[Trained], known: References) -> dict[str, list[Trained]]:
    """Return the networks by where they stand."""
    places: dict[str, list[Trained]] = {}
    for row in rows:
        places.setdefault(between(row.test_error, known), []).append(row)
    return places


def between(found: Measured, known: References) -> str:
    """Say where a measured error stands, within two standard errors."""
    two = 2 * found.error
    if found.value > known.pooled.value + two:
        return "worse than pooled"
    if found.value > known.pooled.value - two:
        return "level with pooled"
    if found.value > known.attention.value + two:
        return "between pooled and two-step attention"
    if found.value > known.attention.value - two:
        return "level with two-step attention"
    return "between two-step attention and Bayes"


def with_more_heads(rows: Sequence[Trained]) -> dict[str, Any] | None:
    """Return how the test error changes from the fewest heads to the most."""
    few, many = (sorted(rows, key=lambda row: row.network.heads)[i] for i in (0, -1))
    if few.network.heads == many.network.heads:
        return None
    a, b = few.test_error, many.test_error
    error = math.hypot(a.error, b.error)
    change = Measured(b.value - a.value, error, a.dimension, a.trials, a.engine)
    return {"few": few, "many": many, "change": change}
