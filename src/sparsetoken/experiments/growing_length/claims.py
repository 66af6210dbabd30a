"""What is asked, what was found, and the numbers that the words need."""

from __future__ import annotations

import dataclasses
import math
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.optimize import OptimizeWarning, curve_fit

from sparsetoken.experiments.claims import Claim, Comparison, Comparisons
from sparsetoken.experiments.growing_length.work import (
    ALPHA1,
    ARMS,
    STRENGTH,
    LongCosine,
    Place,
    Profile,
)
from sparsetoken.experiments.rows import Measured, Predicted, Rows, select
from sparsetoken.experiments.rules import observed

CLAIMS = (
    Claim(
        "growing-length",
        "The theory holds L fixed as d grows; when L grows with d at fixed L/d, do simulations "
        "still approach its prediction at the actual L, and how fast?",
        open=True,
    ),
)


def compare_rows(profile: Profile, rows: Rows) -> list[Comparison]:
    """Report each simulation beside the theory at its length, and each fall with d."""
    found = [c for row in select(rows, Place) for c in _beside_theory(row)]
    return found + [_fall(line) for line in _lines(profile, rows)]


def _lines(profile: Profile, rows: Rows) -> list[list[Place]]:
    return [select(rows, Place, arm=arm, ratio=ratio) for arm in ARMS for ratio in profile.ratios]


def _beside_theory(row: Place) -> list[Comparison]:
    pairs = (
        ("test_error", row.references.attention, row.test_error),
        ("cosine", row.predicted_cosine, row.cosine),
    )
    where = f"{ARMS[row.arm]}, L = {row.length}, {_group(row)}"
    return [
        dataclasses.replace(_observed(row, quantity, found, where), theory=expected.value)
        for quantity, expected, found in pairs
    ]


def _fall(line: Sequence[Place]) -> Comparison:
    """Report p of the law d^-p fitted to the relative differences of the cosine."""
    last = line[-1]
    power, error = _fitted_power(line)
    found = dataclasses.replace(last.cosine, value=power, error=error)
    where = f"{ARMS[last.arm]}, L/d = {last.ratio:g}, cosine: relative difference ∝ d^{{−p}}"
    return _observed(last, "power of d", found, where, key=True)


def _observed(
    row: Place, quantity: str, found: Measured, where: str, key: bool = False
) -> Comparison:
    place: dict[str, Any] = {"curve": row.arm, "x": float(row.length), "group": _group(row)}
    return observed("growing-length", quantity, found, where=where, key=key, **place)


def _group(row: Place) -> str:
    return f"L/d = {row.ratio:g}, d = {row.dimension}"


def relative(found: Measured, expected: Predicted) -> Measured:
    """Return measured / theory - 1."""
    off, error = found.value / expected.value - 1, found.error / abs(expected.value)
    return dataclasses.replace(found, value=off, error=error)


def _fitted_power(line: Sequence[Place]) -> tuple[float, float]:
    """Return p of difference = a d^-p with its standard error; nan without a fit."""

    def law(u: np.ndarray, a: float, p: float) -> np.ndarray:
        return a * u**-p

    def slopes(u: np.ndarray, a: float, p: float) -> np.ndarray:
        return np.column_stack([u**-p, -a * u**-p * np.log(u)])

    u = np.array([row.dimension / line[0].dimension for row in line])
    off = [relative(row.cosine, row.predicted_cosine) for row in line]
    value, error = np.array([(v.value, v.error) for v in off]).T
    with warnings.catch_warnings():
        warnings.simplefilter("error", OptimizeWarning)
        try:
            (_, power), covariance = curve_fit(
                law, u, value, (value[0], 0.5), error, absolute_sigma=True, jac=slopes
            )
        except (RuntimeError, OptimizeWarning):
            return math.nan, math.nan
    return float(power), float(np.sqrt(covariance[1, 1]))


def summary(profile: Profile, rows: Rows, comparisons: Comparisons) -> dict[str, Any]:
    """Return the differences and their powers on each line, and each arm at its longest."""
    lines = _lines(profile, rows)
    return {
        "alpha1": ALPHA1,
        "strength": STRENGTH,
        "arms": ARMS,
        "cosines": [[relative(r.cosine, r.predicted_cosine) for r in line] for line in lines],
        "errors": [
            [relative(r.test_error, r.references.attention) for r in line] for line in lines
        ],
        "lines": [line[0] for line in lines],
        "powers": [c for c in comparisons if c.quantity == "power of d"],
        "longest": [_longest(select(rows, Place, arm=arm)) for arm in ARMS],
        "trends": {arm: select(rows, LongCosine, arm=arm)[::6] for arm in ARMS},
    }


def _longest(rows: Sequence[Place]) -> Place:
    return max(rows, key=lambda row: (row.length, row.dimension))
