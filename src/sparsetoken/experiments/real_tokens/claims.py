"""What is asked, and the numbers that the words need."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sparsetoken.experiments.claims import Claim, Comparison
from sparsetoken.experiments.real_tokens.rows import Simulated, Theory
from sparsetoken.experiments.real_tokens.work import (
    CLASSIFIERS,
    DIGIT,
    PLACES,
    RIDGE,
    SHARPNESS,
    Profile,
)
from sparsetoken.experiments.rows import one, select
from sparsetoken.experiments.rules import observed

CLAIM = "real-bags"
LONGEST = max(length for _, length in PLACES)

CLAIMS = (
    Claim(
        CLAIM,
        "How far is the test error of the general convex readout, for the class means and "
        "covariances of real features, from that of real bags?",
        open=True,
    ),
)


def compare_rows(profile: Profile, rows: Sequence[Any]) -> list[Comparison]:
    """Report what was measured; the most bags of most tokens stand for it."""
    return [
        observed(
            CLAIM,
            "test_error",
            row.test_error,
            curve=row.classifier,
            where=f"{row.tokens}, L = {row.length}, {row.bags} bags",
            x=row.bags,
            group=f"{row.tokens} {row.length} {row.classifier}",
            key=row.bags == max(profile.bags) and row.length == LONGEST,
        )
        for row in select(rows, Simulated)
    ]


def _gap(rows: Sequence[Any], row: Simulated) -> float:
    place = {
        "tokens": row.tokens,
        "length": row.length,
        "classifier": row.classifier,
        "bags": row.bags,
    }
    return row.test_error.value - one(rows, Theory, **place).test_error.value


def summary(
    profile: Profile, rows: Sequence[Any], comparisons: Sequence[Comparison]
) -> dict[str, Any]:
    """Return the setting, the errors at the most bags, and the gaps."""
    places = [
        {"tokens": tokens, "length": length, "classifier": name, "bags": profile.bags[-1]}
        for tokens, length in PLACES
        for name in CLASSIFIERS
    ]
    last = [(one(rows, Theory, **at), one(rows, Simulated, **at)) for at in places]
    gaps = {
        name: [_gap(rows, row) for row in select(rows, Simulated, classifier=name)]
        for name in CLASSIFIERS
    }
    return {
        "digit": DIGIT,
        "lengths": [length for tokens, length in PLACES if tokens == "digits"],
        "ridge": RIDGE,
        "sharpness": SHARPNESS,
        "last": last,
        "most": profile.bags[-1],
        "mean_gap": {name: sum(map(abs, found)) / len(found) for name, found in gaps.items()},
        "largest_gap": {name: max(map(abs, found)) for name, found in gaps.items()},
    }
