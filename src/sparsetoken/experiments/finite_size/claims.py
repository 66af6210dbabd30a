"""What is claimed, the comparisons that bear on it, and laws of c/d and c/√d fitted to them."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

from sparsetoken.experiments.claims import Claim, Comparison, Comparisons
from sparsetoken.experiments.finite_dimension import NO_SHIFT, carried_to_infinity
from sparsetoken.experiments.finite_size.rows import Limit, Simulated
from sparsetoken.experiments.finite_size.work import ALPHA1, QUANTITIES, Profile
from sparsetoken.experiments.rows import Rows, one, select
from sparsetoken.experiments.rules import judge

CLAIMS = (
    Claim(
        "finite-size",
        "The limits are reached: what the experiment differs by shrinks as the dimension grows.",
    ),
)


def compare_rows(profile: Profile, rows: Rows) -> list[Comparison]:
    """Return all comparisons."""
    sizes = ", ".join(str(d) for d in profile.dimensions)
    return [
        judge(
            "finite-size",
            name,
            one(rows, Limit, quantity=name).found,
            carried_to_infinity([row.found for row in select(rows, Simulated, quantity=name)]),
            curve="attention",
            where=f"d = {sizes}, carried to infinity",
            shift=NO_SHIFT,
            key=True,
        )
        for name in QUANTITIES
    ]


@dataclasses.dataclass(frozen=True)
class Shrinkage:
    """A law c / d^power fitted to differences, with its misfit.

    Attributes
    ----------
    quantity : str
    power : float
    coefficient, standard_error : float
        c and its standard error.
    misfit : float
        Chi-square, with one degree of freedom less than there are dimensions.
    """

    quantity: str
    power: float
    coefficient: float
    standard_error: float
    misfit: float

    @property
    def seen(self) -> bool:
        """Whether c is more than two standard errors from 0."""
        return abs(self.coefficient) > 2 * self.standard_error


def shrinkage(rows: Rows, quantity: str, power: float) -> Shrinkage:
    """Fit measured - theory = c / d^power by weighted least squares."""
    limit = one(rows, Limit, quantity=quantity).found
    found = [row.found for row in select(rows, Simulated, quantity=quantity)]
    fitted = [
        (m.dimension**-power, m.value - limit.value, math.hypot(m.error, limit.error))
        for m in found
    ]
    information = math.fsum((u / e) ** 2 for u, _, e in fitted)
    c = math.fsum(u * difference / e**2 for u, difference, e in fitted) / information
    misfit = math.fsum(((difference - c * u) / e) ** 2 for u, difference, e in fitted)
    return Shrinkage(quantity, power, c, information**-0.5, misfit)


def summary(profile: Profile, rows: Rows, comparisons: Comparisons) -> dict[str, Any]:
    """Return what the words need: for each quantity the fits of c/d and of c/√d."""
    fits = [[shrinkage(rows, name, power) for power in (1.0, 0.5)] for name in QUANTITIES]
    return {"alpha1": ALPHA1, "fits": fits}
