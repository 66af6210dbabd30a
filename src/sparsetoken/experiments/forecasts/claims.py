"""What is claimed, and the numbers that the words need."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import stats

from sparsetoken.experiments.claims import Claim, Comparison
from sparsetoken.experiments.forecasts.rows import Forecasted, LeftOut, Simulated
from sparsetoken.experiments.forecasts.work import CLASSIFIERS, Profile
from sparsetoken.experiments.rows import one, select
from sparsetoken.experiments.rules import compare, observed

INTERVALS, RECOMMENDATION, ERRORS = (
    "forecast-intervals",
    "forecast-recommendation",
    "forecast-errors",
)
NORMAL = 1.645  # standard errors to either side hold 90%
NOMINAL, LEAST_INSIDE, LEAST_RIGHT = 0.9, 0.8, 0.9
TRULY, SURELY = 0.02, 2.5  # a difference of errors that counts, and its standard errors

CLAIMS = (
    Claim(
        INTERVALS,
        "Of the 90% intervals that forecasts from pilots of bags of digits and of textures give, "
        "at least 80% hold the measured test error.",
    ),
    Claim(
        RECOMMENDATION,
        "Where measured test errors of pooling and attention differ by more than 0.02 and 2.5 "
        "standard errors, at least nine in ten forecasts from pilots of these bags name the better "
        "one.",
    ),
    Claim(ERRORS, "How far from measured test errors are forecasts from a pilot?", open=True),
)


def compare_rows(profile: Profile, rows: Sequence[Any]) -> list[Comparison]:
    """Judge what was forecast of constructed sets; report all that was measured.

    Sets that are given are not judged: their number and their luck are not known beforehand, so
    that no power of a verdict could be stated.
    """
    del profile
    constructed, _ = _by_origin(rows)
    inside, right = _inside(constructed), _right(constructed)
    found = [
        _share(INTERVALS, "share inside", NOMINAL, inside, NOMINAL - LEAST_INSIDE),
        _share(RECOMMENDATION, "share right", 1.0, right, 1 - LEAST_RIGHT),
    ]
    return found + [
        observed(
            ERRORS,
            "test_error",
            row.test_error,
            curve=row.model,
            where=f"{row.set}, {row.bags} bags",
            x=row.bags,
            group=f"{row.set} {row.model}",
            key=not row.given and row.model == "attention",
        )
        for row in select(rows, Simulated)
    ]


def _share(
    claim: str, quantity: str, expected: float, true: Sequence[bool], allowance: float
) -> Comparison:
    return compare(
        claim,
        quantity,
        expected=expected,
        found=sum(true) / len(true) if true else math.nan,
        allowance=allowance,
        where=f"{len(true)} forecasts",
        engine="tensors",
        key=True,
    )


def _pairs(rows: Sequence[Any]) -> list[tuple[Forecasted, Simulated]]:
    """Return each forecast with what was measured there, where it was."""
    measured = {(row.set, row.model, row.bags): row for row in select(rows, Simulated)}
    return [
        (row, measured[row.set, row.model, row.bags])
        for row in select(rows, Forecasted)
        if (row.set, row.model, row.bags) in measured
    ]


def _inside(rows: Sequence[Any], width: float = 1.0) -> list[bool]:
    """Return which intervals, widened by the error of the measurement, hold what was measured.

    With a width other than 1 intervals are so many times as wide.
    """
    found = []
    for row, truth in _pairs(rows):
        error = NORMAL * truth.test_error.error
        low = row.error - math.hypot(width * (row.error - row.low), error)
        high = row.error + math.hypot(width * (row.high - row.error), error)
        found.append(low <= truth.test_error.value <= high)
    return found


def _right(rows: Sequence[Any]) -> list[bool]:
    """Return, where the models differ, whether each pilot names the better one."""
    found = []
    for row, truth in _pairs(rows):
        if row.model == "pooled":
            place = {"set": row.set, "model": "attention", "bags": row.bags}
            other = one(rows, Forecasted, **place, pilot=row.pilot)
            there = one(rows, Simulated, **place).test_error
            gain = truth.test_error.value - there.value
            if abs(gain) > max(TRULY, SURELY * math.hypot(truth.test_error.error, there.error)):
                found.append((row.error > other.error) == (gain > 0))
    return found


def summary(
    profile: Profile, rows: Sequence[Any], comparisons: Sequence[Comparison]
) -> dict[str, Any]:
    """Return what was forecast and measured of each set, and the power of the verdict."""
    del comparisons
    constructed, given = _by_origin(rows)
    names = list(dict.fromkeys(row.set for row in select(rows, Simulated)))
    pilots = len({(row.set, row.pilot) for row in select(constructed, Forecasted)})
    return {
        "sets": [_of_set(rows, name) for name in names],
        "left_out": select(rows, LeftOut),
        "pilots": pilots,
        "inside": _inside(constructed),
        "half": _inside(constructed, 0.5),
        "given_inside": _inside(given),
        # Points of a pilot hang together; at worst they are all inside or all outside.
        "chance": float(stats.binom.sf(math.ceil(LEAST_INSIDE * pilots) - 1, pilots, 0.5)),
        "right": _right(constructed),
        "gaps": [
            (of, _gaps(some)) for of, some in (("constructed", constructed), ("given", given))
        ],
    }


def _by_origin(rows: Sequence[Any]) -> tuple[list[Any], list[Any]]:
    """Return the rows of constructed and of given sets."""
    some: list[Forecasted | Simulated] = [*select(rows, Forecasted), *select(rows, Simulated)]
    return [row for row in some if not row.given], [row for row in some if row.given]


def _gaps(rows: Sequence[Any]) -> dict[str, float]:
    """Return the mean absolute difference of each model; nothing where there is no row."""
    pairs = _pairs(rows)
    return {
        model: float(
            np.mean([abs(r.error - t.test_error.value) for r, t in pairs if r.model == model])
        )
        for model in CLASSIFIERS
        if pairs
    }


def _of_set(rows: Sequence[Any], name: str) -> dict[str, Any]:
    """Return its lines of a table: a model, a number of bags, forecasts and the measured error."""
    own = [row for row in rows if getattr(row, "set", "") == name]
    lines = []
    for truth in select(own, Simulated):
        some = select(own, Forecasted, model=truth.model, bags=truth.bags)
        values = {
            key: float(np.mean([getattr(row, key) for row in some]))
            for key in ("error", "low", "high")
        }
        lines.append({"truth": truth, **values})
    first = select(own, Forecasted)[0]
    return {"name": name, "given": first.given, "pilot": first.pilot_bags, "lines": lines}
