"""What is asked, and the numbers that the words need."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sparsetoken.experiments.claims import Claim, Comparison
from sparsetoken.experiments.digit_bags.rows import Simulated, Theory
from sparsetoken.experiments.digit_bags.work import (
    CLASSIFIERS,
    DIGIT,
    LENGTHS,
    RIDGE,
    SHARPNESS,
    Profile,
)
from sparsetoken.experiments.rows import one, select
from sparsetoken.experiments.rules import observed

__all__ = ["CLAIMS", "compare_rows", "summary"]

CLAIM = "real-bags"

CLAIMS = (
    Claim(
        CLAIM,
        "How far is the test error of the general convex readout, for the class means and "
        "covariances of real features, from that of real bags?",
        open=True,
    ),
)


def compare_rows(profile: Profile, rows: Sequence[Any]) -> list[Comparison]:
    """Report what was measured; the most bags of each length stand for it."""
    return [
        observed(
            CLAIM,
            "test_error",
            row.test_error,
            curve=row.classifier,
            where=f"L = {row.length}, {row.bags} bags",
            x=row.bags,
            group=f"{row.length} {row.classifier}",
            key=row.bags == max(profile.bags) and row.length == max(LENGTHS),
        )
        for row in select(rows, Simulated)
    ]


def _gap(rows: Sequence[Any], row: Simulated) -> float:
    place = {"length": row.length, "classifier": row.classifier, "bags": row.bags}
    return row.test_error.value - one(rows, Theory, **place).test_error.value


def summary(
    profile: Profile, rows: Sequence[Any], comparisons: Sequence[Comparison]
) -> dict[str, Any]:
    """Return the setting, the errors at the most bags, and the gaps."""
    places = [
        (length, classifier, {"length": length, "classifier": classifier, "bags": profile.bags[-1]})
        for length in LENGTHS
        for classifier in CLASSIFIERS
    ]
    last = [
        (length, name, one(rows, Theory, **at).test_error, one(rows, Simulated, **at).test_error)
        for length, name, at in places
    ]
    gaps = {
        name: [_gap(rows, row) for row in select(rows, Simulated, classifier=name)]
        for name in CLASSIFIERS
    }
    return {
        "digit": DIGIT,
        "lengths": LENGTHS,
        "ridge": RIDGE,
        "sharpness": SHARPNESS,
        "last": last,
        "most": profile.bags[-1],
        "mean_gap": {name: sum(map(abs, found)) / len(found) for name, found in gaps.items()},
        "largest_gap": {name: max(map(abs, found)) for name, found in gaps.items()},
    }
