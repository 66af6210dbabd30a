"""Claims: what is said, what was found, and a verdict by a rule stated beforehand."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterable, Sequence

from scipy import stats

from sparsetoken.experiments.points import THEORY, Point

__all__ = [
    "ALLOWANCE",
    "BY_EXPERIMENT",
    "FAILS",
    "HOLDS",
    "NOT_CONVERGED",
    "RULE",
    "VERDICTS",
    "Claim",
    "Statement",
    "compare",
    "judge",
    "judge_all",
    "normal_score",
    "observed",
    "verdict_of",
]

HOLDS, FAILS = "holds", "fails"
NOT_CONVERGED, BY_EXPERIMENT = "not converged", "by experiment"
VERDICTS = (HOLDS, FAILS, NOT_CONVERGED, BY_EXPERIMENT)

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

RULE = (
    "A claim holds when all its comparisons hold. A comparison with a simulation holds when "
    "|z| ≤ 3 after an allowance for finite dimension: with the difference "
    "D = measured − theory and the allowance a, usually (c/d) · |theory|, "
    "t = max(|D| − a, 0) / √(standard error² + numerical error²), with the sign of D; z is the "
    "normal quantile with the tail chance of t under Student’s law with trials − 1 degrees of "
    "freedom. A comparison of two computed numbers holds when they differ by no more than the "
    "allowance and three numerical errors; its section says where that allowance comes from. "
    "A claim about order or sign is judged by the share of cases in which it is "
    "true. A computation that did not converge never holds."
)


@dataclasses.dataclass(frozen=True)
class Statement:
    """A claim of the theory, or a question it leaves open.

    Attributes
    ----------
    name : str
        A word for tables and scripts, such as alignment-rate.
    text : str
        One sentence.
    open : bool
        Whether it is beyond the theorems, and answered by experiment only.
    """

    name: str
    text: str
    open: bool = False


@dataclasses.dataclass(frozen=True)
class Claim:
    """One comparison that supports a statement or speaks against it.

    Attributes
    ----------
    statement : str
        Name of the statement.
    curve, quantity : str
    where : str
        The place, for readers.
    x : float
        Where on the curve.
    theory, measured, standard_error, numerical_error, allowance, z : float
        nan where there is none.
    dimension, trials : int
        Of a simulation, else 0.
    engine : str
        reduced or tensors; theory where two computed numbers are compared.
    verdict : str
        holds, fails, not converged or by experiment.
    key : bool
        Whether it stands for its statement in the table that opens the report.
    group, experiment : str
    """

    statement: str
    curve: str
    quantity: str
    where: str
    x: float
    theory: float
    measured: float
    standard_error: float
    numerical_error: float
    allowance: float
    z: float
    dimension: int
    trials: int
    engine: str
    verdict: str
    key: bool = False
    group: str = ""
    experiment: str = ""


def judge(
    statement: str,
    theory: Point,
    measured: Point,
    *,
    where: str = "",
    allowance: float | None = None,
    key: bool = False,
) -> Claim:
    """Compare one simulated point with the theory at the same place.

    Parameters
    ----------
    statement, where : str
        As in `Claim`.
    theory, measured : Point
    allowance : float, optional
        Largest difference that is put down to finite dimension; that of `ALLOWANCE` by
        default.
    key : bool
    """
    if allowance is None:
        size = 1 - theory.value if measured.quantity == "auc" else theory.value
        allowance = ALLOWANCE[measured.quantity] / measured.dimension * abs(size)
    difference = measured.value - theory.value
    excess = max(abs(difference) - allowance, 0.0)
    t = _ratio(excess, math.hypot(measured.error, theory.error))
    z = math.copysign(normal_score(t, measured.trials - 1), difference)
    if not (theory.converged and measured.converged):
        verdict = NOT_CONVERGED
    else:
        verdict = HOLDS if abs(z) <= 3 else FAILS
    return Claim(
        statement=statement,
        curve=measured.curve,
        quantity=measured.quantity,
        where=where,
        x=measured.x,
        theory=theory.value,
        measured=measured.value,
        standard_error=measured.error,
        numerical_error=theory.error,
        allowance=allowance,
        z=z,
        dimension=measured.dimension,
        trials=measured.trials,
        engine=measured.source,
        verdict=verdict,
        key=key,
        group=measured.group,
    )


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


def judge_all(
    statement: str,
    points: Iterable[Point],
    *,
    where: Callable[[Point], str] = lambda point: "",
    key_x: Sequence[float] = (),
) -> list[Claim]:
    """Judge each simulated point that has a theory at the same place.

    Points at one of `key_x`, and all points made with real tensors, are key claims.
    """
    points = list(points)
    theory = {_place(p): p for p in points if p.source == THEORY}
    return [
        judge(
            statement,
            theory[_place(point)],
            point,
            where=where(point),
            key=point.source == "tensors" or point.x in key_x,
        )
        for point in points
        if point.source != THEORY and _place(point) in theory
    ]


def _place(point: Point) -> tuple[str, str, str, float, float]:
    return point.group, point.curve, point.quantity, point.x, point.y


def compare(
    statement: str,
    curve: str,
    quantity: str,
    *,
    where: str,
    expected: float,
    found: float,
    allowance: float,
    error: float = 0.0,
    x: float = math.nan,
    converged: bool = True,
    key: bool = False,
) -> Claim:
    """Compare a computed number with an expected one, where nothing is simulated.

    It holds when ``|found - expected| <= allowance + 3 error``. For a claim about order
    or sign, `expected` is 1 and `found` the share of cases in which it is true.

    Parameters
    ----------
    statement, curve, quantity, where : str
        As in `Claim`.
    expected, found, allowance : float
        The reason for the allowance stands beside the call.
    error : float
        Numerical error of `found`.
    x : float
    converged : bool
        Whether all that was computed for it converged.
    key : bool
    """
    near = abs(found - expected) <= allowance + 3 * error
    verdict = HOLDS if near else FAILS
    return Claim(
        statement=statement,
        curve=curve,
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
        engine=THEORY,
        verdict=verdict if converged and math.isfinite(found) else NOT_CONVERGED,
        key=key,
    )


def observed(statement: str, point: Point, *, where: str, key: bool = False) -> Claim:
    """Report a measured point that no theorem predicts.

    Parameters
    ----------
    statement : str
    point : Point
        Its value is nan where the measurement did not converge.
    where : str
        As in `Claim`.
    key : bool
    """
    return Claim(
        statement=statement,
        curve=point.curve,
        quantity=point.quantity,
        where=where,
        x=point.x,
        group=point.group,
        theory=math.nan,
        measured=point.value,
        standard_error=point.error,
        numerical_error=math.nan,
        allowance=math.nan,
        z=math.nan,
        dimension=point.dimension,
        trials=point.trials,
        engine=point.source,
        verdict=BY_EXPERIMENT if math.isfinite(point.value) else NOT_CONVERGED,
        key=key,
    )


def verdict_of(claims: Iterable[Claim]) -> str:
    """Return the verdict on a statement: that of its worst comparison.

    A statement without comparisons is not converged: nothing speaks for it.
    """
    found = {claim.verdict for claim in claims}
    for verdict in (FAILS, NOT_CONVERGED, HOLDS, BY_EXPERIMENT):
        if verdict in found:
            return verdict
    return NOT_CONVERGED
