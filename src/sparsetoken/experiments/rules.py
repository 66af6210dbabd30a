"""The rules by which a comparison is judged, stated beforehand."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from scipy import stats

from sparsetoken.experiments.claims import (
    BY_EXPERIMENT,
    COMPUTED,
    FAILS,
    HOLDS,
    NOT_CONVERGED,
    Comparison,
)
from sparsetoken.experiments.rows import Measured, Predicted

__all__ = [
    "ALLOWANCE",
    "LARGEST_Z",
    "RULE",
    "compare",
    "judge",
    "normal_score",
    "observed",
    "share",
]

ALLOWANCE = {
    "cosine": 3.0,
    "readout_cosine": 3.0,
    "test_error": 10.0,
    "training_loss": 20.0,
    "training_error": 20.0,
    "auc": 10.0,
    "threshold": 3.0,
    "separable": 0.0,
}
"""c in the allowance c/d, relative to the predicted value, by quantity.

c is a round number of the size of the largest |c| measured at d = 250 in four settings of the
learning curves: cosine 1.6 +- 0.2, test error 9 +- 4, training loss 22 +- 9; and in thresholds
with 40 features: 1.6 +- 0.4. The readout's cosine has the c of the query's, training error that
of training loss, and 1 - AUC that of test error. For a threshold, d is the number of features;
shares of the two engines have the same law at any d, so c is 0.
"""

LARGEST_Z = 4.0
"""Largest |z| at which a comparison with a simulation holds.

The report makes hundreds of such comparisons, so that |z| > 3, of chance 0.0027, is met in most
reports of a correct theory. |z| > 4 has chance 6.3e-5: with 400 comparisons, a correct theory
fails one of them in 2.5 % of reports.
"""

RULE = (
    "A claim holds when all its comparisons hold. A comparison with a simulation holds when "
    f"|z| ≤ {LARGEST_Z:g} after an allowance for finite dimension: with the difference "
    "D = measured − theory and the allowance a, usually (c/d) · |theory|, "
    "t = max(|D| − a, 0) / √(standard error² + numerical error²), with the sign of D; z is the "
    "normal quantile with the tail chance of t under Student’s law with trials − 1 degrees of "
    "freedom. The bound allows for the number of comparisons: each exceeds it by chance once in "
    f"{1 / (2 * stats.norm.sf(LARGEST_Z)):.0f} times. A comparison of "
    "two computed numbers holds when they differ by no more than the allowance and three "
    "numerical errors; its section says where that allowance comes from. "
    "A claim about order or sign is judged by the share of cases in which it is "
    "true. A computation that did not converge never holds."
)


def judge(
    claim: str,
    quantity: str,
    theory: Predicted,
    found: Measured,
    *,
    curve: str = "",
    where: str = "",
    x: float = math.nan,
    group: str = "",
    allowance: float | None = None,
    key: bool = False,
) -> Comparison:
    """Compare a simulated number with the theory at the same place.

    Parameters
    ----------
    claim, quantity, curve, where, group : str
        As in `Comparison`; the curve is the quantity if it has no other name.
    theory : Predicted
    found : Measured
    x : float
    allowance : float, optional
        Largest difference that is put down to finite dimension; that of `ALLOWANCE` by
        default.
    key : bool
    """
    if allowance is None:
        size = 1 - theory.value if quantity == "auc" else theory.value
        allowance = ALLOWANCE[quantity] / found.dimension * abs(size)
    difference = found.value - theory.value
    excess = max(abs(difference) - allowance, 0.0)
    scale = math.hypot(found.error, theory.error)

    def score(size: float) -> float:
        return math.copysign(normal_score(_ratio(size, scale), found.trials - 1), difference)

    z = score(excess)
    sound = theory.converged and found.converged
    return Comparison(
        claim=claim,
        curve=curve or quantity,
        quantity=quantity,
        where=where,
        x=x,
        theory=theory.value,
        numerical_error=theory.error,
        allowance=allowance,
        z=z,
        raw_z=score(abs(difference)),
        verdict=_verdict(sound, abs(z) <= LARGEST_Z),
        key=key,
        group=group,
        **_columns(found),
    )


def _verdict(sound: bool, true: bool) -> str:
    if not sound:
        return NOT_CONVERGED
    return HOLDS if true else FAILS


def _columns(found: Measured) -> dict[str, Any]:
    return {
        "measured": found.value,
        "standard_error": found.error,
        "dimension": found.dimension,
        "trials": found.trials,
        "engine": found.engine,
    }


def _ratio(excess: float, scale: float) -> float:
    if scale > 0 or math.isnan(scale):
        return excess / scale
    return math.inf if excess > 0 else 0.0


def normal_score(t: float, freedom: int) -> float:
    """Return the normal quantile with the same tail chance as t >= 0 of Student's law.

    It is nan for a single trial, which says nothing of its error.
    """
    if freedom < 1:
        return math.nan
    return float(stats.norm.isf(stats.t.sf(t, freedom)))


def compare(
    claim: str,
    quantity: str,
    *,
    expected: float,
    found: float,
    allowance: float,
    error: float = 0.0,
    curve: str = "",
    where: str = "",
    x: float = math.nan,
    converged: bool = True,
    engine: str = COMPUTED,
    key: bool = False,
) -> Comparison:
    """Compare a number with an expected one, where no standard error decides.

    It holds when ``|found - expected| <= allowance + 3 error``. For a claim about order
    or sign, `expected` is 1 and `found` the share of cases in which it is true.

    Parameters
    ----------
    claim, quantity, curve, where : str
        As for `judge`.
    expected, found, allowance : float
        The reason for the allowance stands beside the call.
    error : float
        Numerical error of `found`.
    x : float
    converged : bool
        Whether all that was computed for it converged.
    engine : str
        What `found` was made by, as in `Comparison`.
    key : bool
    """
    near = abs(found - expected) <= allowance + 3 * error
    return Comparison(
        claim=claim,
        curve=curve or quantity,
        quantity=quantity,
        where=where,
        x=x,
        theory=expected,
        measured=found,
        standard_error=math.nan,
        numerical_error=error,
        allowance=allowance,
        z=math.nan,
        dimension=0,
        trials=0,
        engine=engine,
        verdict=_verdict(converged and math.isfinite(found), near),
        key=key,
    )


def share(
    claim: str,
    quantity: str,
    true: Sequence[bool],
    *,
    curve: str = "",
    where: str = "",
    converged: bool = True,
    engine: str = COMPUTED,
    key: bool = False,
) -> Comparison:
    """Judge a claim about order or sign: it must be true in all cases.

    Parameters
    ----------
    claim, quantity, curve, where : str
        As for `judge`.
    true : sequence of bool
        Whether it is, case by case.
    converged, engine, key
        As for `compare`.
    """
    return compare(
        claim,
        quantity,
        curve=curve,
        where=where,
        expected=1.0,
        found=sum(true) / len(true),
        allowance=0.0,
        converged=converged,
        engine=engine,
        key=key,
    )


def observed(
    claim: str,
    quantity: str,
    found: Measured,
    *,
    curve: str = "",
    where: str = "",
    x: float = math.nan,
    group: str = "",
    key: bool = False,
) -> Comparison:
    """Report a measured number that no theorem predicts; parameters as for `judge`."""
    return Comparison(
        claim=claim,
        curve=curve or quantity,
        quantity=quantity,
        where=where,
        x=x,
        theory=math.nan,
        numerical_error=math.nan,
        allowance=math.nan,
        z=math.nan,
        verdict=BY_EXPERIMENT if found.converged else NOT_CONVERGED,
        key=key,
        group=group,
        **_columns(found),
    )
