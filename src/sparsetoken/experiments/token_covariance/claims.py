"""What is claimed, and the comparisons that bear on it."""

from __future__ import annotations

import math
from typing import Any

from sparsetoken.experiments.claims import Claim, Comparison, Comparisons, largest_z
from sparsetoken.experiments.rows import Measured, Rows, one, select
from sparsetoken.experiments.rules import judge, share
from sparsetoken.experiments.token_covariance.rows import Simulated, Theory
from sparsetoken.experiments.token_covariance.work import (
    LENGTH,
    QUERY,
    READOUT,
    STEPS,
    STRENGTH,
    Profile,
)

LAW, EFFECTS, WHITENING = "covariance-learned-error", "shared-effects", "whitening"

CLAIMS = (
    Claim(
        LAW,
        "The test error among tokens of a covariance, steep or flat, with an effect that the "
        "tokens of a sample share or without, is that of the general convex readout.",
    ),
    Claim(
        EFFECTS,
        "An effect that the tokens of a sample share raises the test error of mean pooling more "
        "than that of attention.",
    ),
    Claim(
        WHITENING,
        "Where the spectrum of the tokens falls, whitening them lowers the test error of attention "
        "with the query of two steps.",
    ),
)
LETTERS = {"between": "size of the shared covariance", "decay": "decay of the spectrum"}


def compare_rows(profile: Profile, rows: Rows) -> list[Comparison]:
    """Return all comparisons."""
    judged = [_judged(profile, rows, row) for row in select(rows, Simulated)]
    return [*judged, _effects(profile, rows), _whitening(profile, rows)]


def _judged(profile: Profile, rows: Rows, row: Simulated) -> Comparison:
    place = {"change": row.change, "value": row.value, "classifier": row.classifier}
    return judge(
        LAW,
        "test_error",
        one(rows, Theory, **place).test_error,
        row.test_error,
        curve=row.classifier,
        where=f"{LETTERS[row.change]} {row.value:g}, d = {row.test_error.dimension}",
        x=row.value,
        group=row.change,
        key=row.value == getattr(profile, row.change)[-1],
    )


def _errors(rows: Rows, change: str, classifier: str) -> list[Measured]:
    found = select(rows, Simulated, change=change, classifier=classifier)
    return [row.test_error for row in sorted(found, key=lambda row: row.value)]


def _clear(difference: float, *errors: float) -> bool:
    """Whether a difference is positive by three standard errors."""
    return difference > 3 * math.hypot(*errors)


def _effects(profile: Profile, rows: Rows) -> Comparison:
    pooled, attention = (_errors(rows, "between", name) for name in ("pooled", "attention"))
    true = [
        _clear(
            (p.value - pooled[0].value) - (a.value - attention[0].value),
            *(e.error for e in (p, pooled[0], a, attention[0])),
        )
        for p, a in zip(pooled[1:], attention[1:], strict=True)
    ]
    return share(
        EFFECTS,
        "larger rise",
        true,
        where=f"measured, d = {profile.dimension}, three standard errors",
        converged=all(e.converged for e in (*pooled, *attention)),
        engine="tensors",
        key=True,
    )


def _whitening(profile: Profile, rows: Rows) -> Comparison:
    """Compare at the steeper half of the spectra: the effect vanishes as they become flat."""
    plain, whitened = (_errors(rows, "decay", name) for name in ("attention", "whitened"))
    steep = len(plain) // 2
    true = [
        _clear(p.value - w.value, p.error, w.error)
        for p, w in zip(plain[steep:], whitened[steep:], strict=True)
    ]
    return share(
        WHITENING,
        "lower error",
        true,
        where=f"measured, d = {profile.dimension}, decay ≥ {profile.decay[steep]:g}",
        converged=all(e.converged for e in (*plain, *whitened)),
        engine="tensors",
        key=True,
    )


def summary(profile: Profile, rows: Rows, comparisons: Comparisons) -> dict[str, Any]:
    """Return what the words need."""

    def ends(change: str, classifier: str) -> tuple[float, float]:
        found = _errors(rows, change, classifier)
        return found[0].value, found[-1].value

    return {
        "length": LENGTH,
        "strength": STRENGTH,
        "query": QUERY,
        "steps": STEPS,
        "readout": READOUT,
        "between": {name: ends("between", name) for name in ("pooled", "attention")},
        "decay": {name: ends("decay", name) for name in ("attention", "whitened", "pooled")},
        "largest": largest_z(comparisons),
    }
