"""Claims: a predicted value, a measured one, and a verdict by a rule stated beforehand."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Sequence

from scipy import stats

from sparsetoken.experiments.points import THEORY, Point

__all__ = ["ALLOWANCE", "RULE", "Claim", "judge", "judge_all", "normal_score"]

HOLDS, FAILS, NOT_CONVERGED = "holds", "fails", "not converged"

ALLOWANCE = {
    "cosine": 3.0,
    "readout_cosine": 3.0,
    "test_error": 10.0,
    "training_loss": 20.0,
    "threshold": 3.0,
    "separable": 0.0,
}
"""c in the allowance c/d, relative to the predicted value, by quantity.

c is a round number of the size of the largest |c| measured at d = 250 in four settings of the
learning curves: cosine 1.6 +- 0.2, test error 9 +- 4, training loss 22 +- 9; and in thresholds
with 40 features: 1.6 +- 0.4. The readout's cosine has the c of the query's. For a threshold, d
is the number of features; shares of the two engines have the same law at any d, so c is 0.
"""

RULE = (
    "A claim holds when |z| ≤ 3 after an allowance for finite dimension. With the difference "
    "D = measured − theory and the allowance a = (c/d) · |theory|, "
    "t = max(|D| − a, 0) / √(standard error² + numerical error²), with the sign of D; z is the "
    "normal quantile with the tail chance of t under Student’s law with trials − 1 degrees of "
    "freedom. A computation that did not converge never holds."
)


@dataclasses.dataclass(frozen=True)
class Claim:
    """One comparison of theory and simulation.

    Attributes
    ----------
    experiment, group, curve, quantity : str
    x : float
        Where on the curve.
    theory, measured, standard_error, numerical_error, allowance, z : float
    dimension, trials : int
    engine : str
        reduced or tensors.
    verdict : str
        holds, fails or not converged.
    key : bool
        Whether the table that opens the report shows it.
    """

    experiment: str
    group: str
    curve: str
    quantity: str
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


def judge(experiment: str, theory: Point, measured: Point, *, key: bool = False) -> Claim:
    """Compare one simulated point with the theory at the same place."""
    allowance = ALLOWANCE[measured.quantity] / measured.dimension * abs(theory.value)
    difference = measured.value - theory.value
    excess = max(abs(difference) - allowance, 0.0)
    t = _ratio(excess, math.hypot(measured.error, theory.error))
    z = math.copysign(normal_score(t, measured.trials - 1), difference)
    if not (theory.converged and measured.converged):
        verdict = NOT_CONVERGED
    else:
        verdict = HOLDS if abs(z) <= 3 else FAILS
    return Claim(
        experiment=experiment,
        group=measured.group,
        curve=measured.curve,
        quantity=measured.quantity,
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


def judge_all(experiment: str, points: Iterable[Point], key_x: Sequence[float] = ()) -> list[Claim]:
    """Judge each simulated point that has a theory at the same place.

    Points at one of `key_x`, and all points made with real tensors, are key claims.
    """
    points = list(points)
    theory = {(p.group, p.curve, p.quantity, p.x): p for p in points if p.source == THEORY}
    claims = []
    for point in points:
        place = (point.group, point.curve, point.quantity, point.x)
        if point.source != THEORY and place in theory:
            key = point.source == "tensors" or point.x in key_x
            claims.append(judge(experiment, theory[place], point, key=key))
    return claims
