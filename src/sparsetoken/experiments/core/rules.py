"""The rules by which a comparison is judged, stated beforehand."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from scipy import stats

from sparsetoken.base.validation import InvalidInput
from sparsetoken.experiments.core.claims import (
    BY_EXPERIMENT,
    COMPUTED,
    FAILS,
    HOLDS,
    LOOK,
    NOT_CONVERGED,
    Comparison,
)
from sparsetoken.experiments.core.finite_dimension import SHIFTS, Shift, scale_of
from sparsetoken.experiments.core.rows import THEORY, Row, Rows
from sparsetoken.numerics.outliers import LEVEL, outliers

LARGEST_Z = 4.0
"""Largest |z| at which a comparison with a simulation holds.

The report makes hundreds of such comparisons, so that |z| > 3, of chance 0.0027, is met in most
reports of a correct theory. |z| > 4 has chance 6.3e-5: with 400 comparisons, a correct theory
fails one of them in 2.5 % of reports.
"""

RULE = (
    "A claim holds when all its comparisons hold. A comparison with a simulation holds when "
    f"|z| ≤ {LARGEST_Z:g}. With the difference D = measured − theory, "
    "t = (D − shift) / √(standard error² + numerical error² + shift error²). The shift is the "
    "expected finite-size effect, c/d of the theory, with c measured by simulations of other "
    "settings at several d, without the theory; its error is the spread of c between "
    "settings. Where simulations at several d are extrapolated to infinite dimension, there is no "
    "shift. z is the normal quantile with the tail chance of t under Student’s law, with the "
    "degrees of freedom of Welch and Satterthwaite. A few comparisons have a bound below which "
    "a difference does not count, such as the effect of a ridge that is not 0; their section says "
    "where it comes from. The limit of |z| allows for the number of comparisons: each exceeds it "
    f"by chance once in {1 / (2 * stats.norm.sf(LARGEST_Z)):.0f} times. A comparison of "
    "two computed numbers holds when they differ by no more than the bound and three "
    "numerical errors. "
    "A claim about order or sign is judged by the fraction of cases in which it is "
    "true. A computation that did not converge never holds. Where trials behind a comparison are "
    "outlying, its mean and its standard error say little: it neither holds nor fails, and is "
    f"there for a look. The test is Rosner’s generalized ESD at level {LEVEL:g}; values with a "
    "bound, such as errors, must be outlying on the scale of square roots as well."
)


def against_simulation(
    claim: str,
    theory: Row,
    measured: Row,
    *,
    shift: Shift | None = None,
    size: float | None = None,
    bound: float = 0.0,
    **place: Any,
) -> Comparison:
    """Compare a simulated number with the theory in the same setting.

    Parameters
    ----------
    claim : str
    theory, measured : Row
    shift : Shift, optional
        The c of finite dimension; by default that of the quantity in `SHIFTS`.
    size : float, optional
        What the shift is relative to; by default `scale_of` the theory.
    bound : float
        A difference up to this does not count; the reason stands beside the call.
    **place
        What it is of: the curve, where, x and key of `Comparison`.

    Raises
    ------
    InvalidInput
        If the quantity has no shift in `SHIFTS` and none is given.
    """
    quantity = measured.quantity
    if shift is None and quantity not in SHIFTS:
        legal = f"one of {sorted(SHIFTS)}, or with a shift"
        remedy = f"NO_SHIFT of {Shift.__module__} says that there is none."
        raise InvalidInput("quantity", legal, quantity, remedy)
    c = SHIFTS[quantity] if shift is None else shift
    per = scale_of(quantity, theory.value) if size is None else size
    per /= measured.dimension or math.inf  # a fit that failed has no dimension
    z = _score(measured, theory, c.mean * per, c.deviation * per, bound)
    reported = report_only(claim, measured, **place)
    return dataclasses.replace(
        reported,
        theory=theory.value,
        numerical_error=theory.error,
        allowance=bound,
        shift=c.mean * per,
        shift_error=c.deviation * per,
        z=z,
        raw_z=_score(measured, theory),
        verdict=_verdict(
            theory.converged and measured.converged, abs(z) <= LARGEST_Z, reported.outlying
        ),
    )


def _score(
    measured: Row, theory: Row, shift: float = 0.0, shift_error: float = 0.0, bound: float = 0.0
) -> float:
    """Return z of a difference whose mean is the shift, less a bound towards 0."""
    left = measured.value - theory.value - shift
    excess = max(abs(left) - bound, 0.0)
    scale = math.hypot(measured.error, theory.error, shift_error)
    t = excess / scale if scale else math.inf if excess > 0 else 0.0
    # Only the standard error is estimated from trials (Welch and Satterthwaite).
    freedom = (measured.trials - 1) * ((scale / measured.error) ** 4 if measured.error > 0 else 1.0)
    return math.copysign(normal_score(t, freedom), left)


def normal_score(t: float, freedom: float) -> float:
    """Return the normal quantile with the same tail probability as t >= 0 of Student's law.

    It is nan for a single trial, which says nothing of its error.
    """
    if freedom < 1:
        return math.nan
    return float(stats.norm.isf(stats.t.sf(t, freedom)))


def _verdict(sound: bool, true: bool, outlying: str, holds: str = HOLDS) -> str:
    if not sound:
        return NOT_CONVERGED
    return LOOK if outlying else holds if true else FAILS


def outlying_trials(trial_sets: Iterable[Sequence[float]]) -> str:
    """Return the outlying values among trials, and what the others are like; "" without any."""
    lines = []
    for values in trial_sets:
        if places := outliers(values):
            rest = np.delete(values, places)
            far = ", ".join(f"{values[place]:.4g}" for place in places)
            lines.append(
                f"{far} among {len(values)} trials, of which the others have mean "
                f"{rest.mean():.4g} and standard deviation {rest.std(ddof=1):.2g}"
            )
    return "; ".join(lines)


def against_value(
    claim: str,
    quantity: str,
    value: float,
    rows: Iterable[Row] = (),
    where: str = "",
    *,
    expected: float,
    allowance: float,
    error: float = 0.0,
    **place: Any,
) -> Comparison:
    """Compare a number with an expected one, where no standard error decides.

    It holds when ``|value - expected| <= allowance + 3 error``. For a claim about order
    or sign, `expected` is 1 and `value` the share of cases in which it is true.

    Parameters
    ----------
    claim, quantity : str
    value : float
    rows : iterable of Row
        What it was found from: they know what measured it, and whether they converged.
    where : str
    expected, allowance : float
        The reason for the allowance stands beside the call.
    error : float
        Numerical error of `value`.
    **place
        The others as of `against_simulation`.
    """
    used, near = Rows(rows), abs(value - expected) <= allowance + 3 * error
    outlying = outlying_trials(used.trial_sets)
    return Comparison(
        claim=claim,
        quantity=quantity,
        where=where,
        theory=expected,
        measured=value,
        numerical_error=error,
        allowance=allowance,
        engine=next((row.engine for row in used if row.engine != THEORY), COMPUTED),
        verdict=_verdict(used.converged and math.isfinite(value), near, outlying),
        outlying=outlying,
        **place,
    )


def fraction_true(
    claim: str,
    quantity: str,
    true: Sequence[bool],
    rows: Iterable[Row] = (),
    where: str = "",
    **place: Any,
) -> Comparison:
    """Judge a claim about order or sign: it must be true in all cases.

    Parameters
    ----------
    claim, quantity : str
    true : sequence of bool
        Whether it is, case by case.
    rows, where, **place
        As of `against_value`.
    """
    share = sum(true) / len(true) if true else math.nan
    place |= {"expected": 1.0, "allowance": 0.0}
    comparison = against_value(claim, quantity, share, rows, where, **place)
    return dataclasses.replace(comparison, cases=len(true))


def report_only(claim: str, measured: Row, **place: Any) -> Comparison:
    """Report a measured number that no theorem predicts; parameters as of `against_simulation`."""
    outlying = outlying_trials(measured.trial_sets)
    return Comparison(
        claim=claim,
        quantity=measured.quantity,
        measured=measured.value,
        standard_error=measured.error,
        dimension=measured.dimension,
        trials=measured.trials,
        engine=measured.engine,
        verdict=_verdict(measured.converged, True, outlying, BY_EXPERIMENT),
        outlying=outlying,
        **place,
    )


def placed(row: Row, curve: str, where: str, x: str = "") -> dict[str, Any]:
    """Return curve, where and x of a comparison.

    Parameters
    ----------
    row : Row
    curve, where : str
        Formats of its fields and coordinates, such as ``d = {dimension}``.
    x : str
        One of its coordinates; by default there is none.
    """
    place = {"curve": curve.format_map(row), "where": where.format_map(row)}
    return {**place, "x": row[x]} if x else place


def compare(
    claim: str, known: Rows, row: Row, curve: str, where: str, x: str = "", **options: Any
) -> Comparison:
    """Compare a simulated row with the row beside it: `against_simulation` at `placed`."""
    place = placed(row, curve, where, x)
    return against_simulation(claim, known.beside(row), row, **place, **options)
