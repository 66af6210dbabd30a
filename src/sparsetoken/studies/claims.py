"""Claims, the numbers that are compared, and the rule that judges them, stated beforehand."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

HOLDS, FAILS = "holds", "fails"
NOT_CONVERGED = "not converged"
VERDICTS = (FAILS, NOT_CONVERGED, HOLDS)
"""The worst first: a claim has that of its worst comparison."""

THEORY, REDUCED, TENSORS = "theory", "reduced", "tensors"
COMPUTED = "computed"
EVIDENCE = {
    TENSORS: "against simulated tokens",
    REDUCED: "against simulated features",
    COMPUTED: "computed against computed",
}
"""The kinds of evidence, the strongest first, and their names for readers."""

PAPER, AMENDMENT, OWN = "of the paper", "amendments of it", "of this project"
KINDS = (PAPER, AMENDMENT, OWN)
"""Whose a claim is."""
PROVED, DERIVED, MEASURED = "proved in the paper", "derived here and checked", "by experiment"

LARGEST_Z = 4.0
"""Largest |z| at which a comparison with a simulation holds.

The report makes hundreds of such comparisons, so that |z| > 3, of chance 0.0027, is met in most
reports of a correct theory. |z| > 4 has chance 6.3e-5: with 400 comparisons, a correct theory
fails one of them in 2.5 % of reports.
"""

SMALL = 1e-4
"""Two numbers below it are not compared with each other: a wrong factor would pass."""

RULE = (
    "A claim holds when all its comparisons hold. A comparison with a simulation holds when |z| "
    f"≤ {LARGEST_Z:g}, where t = (measured − theory) / √(standard error² + numerical error²), and"
    " z is the normal quantile with the tail chance of t under Student’s law, with the degrees "
    "of freedom of Welch and Satterthwaite. What depends on the dimension is simulated at d/4 "
    "and at d with independent samples, and extrapolated linearly in 1/d: (4 m(d) − m(d/4))/3 is"
    " compared with the limit; from d/2 and d it would have nearly three times the variance. A "
    "few comparisons have an allowance below which a difference does not count, such as what "
    "rounding or a small ridge can change. A correct theory exceeds the limit of |z| in one of "
    f"{1 / (2 * stats.norm.sf(LARGEST_Z)):.0f} comparisons. Where theory and simulation are both "
    f"below {SMALL:g}, a wrong factor would pass, and the comparison is left out. A comparison of"
    " two computed numbers holds when they differ by no more than the allowance and three "
    "numerical errors. A claim about order or sign must be true in all cases. A computation that"
    " did not converge never holds."
)

COLUMNS = {
    "claim": "", "panel": "", "curve": "", "x": math.nan, "y": math.nan,
    "quantity": "", "where": "",
    "theory": math.nan, "numerical_error": math.nan,
    "measured": math.nan, "standard_error": math.nan, "allowance": 0.0, "cases": 0,
    "engine": THEORY, "dimension": 0, "trials": 0, "converged": True, "key": False,
}  # fmt: skip
"""Those of the frame of a study before it is judged, and their values where there is none."""


@dataclasses.dataclass(frozen=True)
class Claim:
    """A claim of the theory.

    Attributes
    ----------
    name : str
        A word for tables and scripts, such as alignment-rate.
    text : str
        One sentence; that of an amendment says what the paper has instead. An index is written
        η_q or α*_{pool}, an exponent d^{−1/2}.
    source, status : str
        The result that it states, as the paper calls it, and how it is known.
    kind : str
        Whose it is: `PAPER`, `AMENDMENT` or `OWN`.
    """

    name: str
    text: str
    source: str = "this project"
    status: str = DERIVED
    kind: str = OWN


@dataclasses.dataclass(frozen=True)
class Number:
    """A number with its error, and what it was found from.

    Attributes
    ----------
    value : float
    error : float
        Numerical error of what is computed, standard error of a mean over trials.
    engine : str
        theory, or what measured it: reduced, or tensors for real tokens.
    dimension, trials : int
        Of a simulation, else 0: the largest dimension, the fewest trials. A number that trials
        show, but that is no mean over them, has no trials: it has no z.
    converged : bool
    """

    value: float
    error: float = 0.0
    engine: str = THEORY
    dimension: int = 0
    trials: int = 0
    converged: bool = True

    def __sub__(self, other: Number) -> Number:
        """Return a difference of two numbers with independent errors."""
        found = self if self.engine != THEORY else other
        return dataclasses.replace(
            found,
            value=self.value - other.value,
            error=math.hypot(self.error, other.error),
            converged=self.converged and other.converged,
        )

    def times(self, factor: float) -> Number:
        """Return a multiple."""
        return dataclasses.replace(self, value=factor * self.value, error=abs(factor) * self.error)


def predicted(result: Any, quantity: str) -> Number:
    """Return a quantity of a result of the theory at one point, with its stated error.

    A result without errors of each quantity states that of its first.
    """
    columns = result.columns()
    if hasattr(result, "errors"):
        error = result.errors.columns().get(quantity, 0.0)
    else:
        error = columns.get("numerical_error", 0.0) if quantity == next(iter(columns)) else 0.0
    sound = np.isfinite(columns[quantity]) and result.converged
    return Number(float(columns[quantity]), float(error), converged=bool(sound))


def averaged(
    values: Any, *, dimension: int, engine: str = REDUCED, converged: bool = True
) -> Number:
    """Return the mean of one value for each trial; a single trial has the error nan."""
    values = np.asarray(values, float)
    n, mean = len(values), float(values.mean())
    error = float(values.std(ddof=1) / math.sqrt(n)) if n > 1 else math.nan
    return Number(mean, error, engine, dimension, n, bool(converged and math.isfinite(mean)))


def to_infinity(numbers: Sequence[Number], sizes: Sequence[float] | None = None) -> Number:
    """Return the limit of infinite size by a line in 1/size through independent means.

    Of two means at d/4 and d that is (4 m(d) - m(d/4))/3; more are weighted by their errors. The
    sizes are by default the dimensions. A single number is returned as it is.
    """
    if len(numbers) == 1:
        return numbers[0]
    values, errors = np.array([(n.value, n.error) for n in numbers]).T
    u = 1 / np.array([n.dimension for n in numbers] if sizes is None else sizes, float)
    weights = 1 / errors if (errors > 0).all() else np.ones(len(u))
    share = np.linalg.pinv(np.stack([weights, weights * u], axis=1))[0] * weights
    return dataclasses.replace(
        max(numbers, key=lambda n: n.dimension),
        value=float(share @ values),
        error=float(np.linalg.norm(share * errors)),
        trials=min(n.trials for n in numbers),
        converged=all(n.converged for n in numbers),
    )


def row(
    theory: Number | float | None = None, found: Number | None = None, **columns: Any
) -> dict[str, Any]:
    """Return a row of a frame: a number of the theory, a measured one, or both.

    Parameters
    ----------
    theory : Number or float, optional
        A row with no more than that is a place of a line, or a cell of a map.
    found : Number, optional
        What was measured, or computed in another way. A row with that is a point, or a disc.
    **columns
        Others of `COLUMNS`: the claim, where the row is for or against one; panel, curve, x (and
        y, of a map), where it is drawn; quantity and where, for readers; the allowance, whose
        reason stands beside the call; key, where it may stand for its claim in the first table.
    """
    if not isinstance(theory, Number):
        theory = Number(math.nan if theory is None else theory, 0.0)
    full = COLUMNS | {"theory": theory.value, "numerical_error": theory.error}
    full["converged"] = theory.converged
    if found is not None:
        computed = found.engine == THEORY
        full |= {"measured": found.value, "dimension": found.dimension, "trials": found.trials}
        full["engine"] = COMPUTED if computed else found.engine
        full["converged"] = theory.converged and found.converged and math.isfinite(found.value)
        if computed:
            full["numerical_error"] = math.hypot(theory.error, found.error)
        elif found.trials:
            full["standard_error"] = found.error
    if unknown := set(columns) - set(COLUMNS):
        raise TypeError(f"no columns {sorted(unknown)} of {list(COLUMNS)}")
    return full | columns


def line(x: Any, results: Iterable[Any], quantity: str, **columns: Any) -> list[dict[str, Any]]:
    """Return the rows of a line of the theory: a quantity of the result at each x."""
    return [
        row(predicted(one, quantity), x=float(at), **columns)
        for at, one in zip(x, results, strict=True)
    ]


def all_true(true: Iterable[Any], used: Iterable[Number], **columns: Any) -> dict[str, Any]:
    """Return the row of a claim about order or sign, which must be true in all cases.

    Parameters
    ----------
    true : iterable of bool
        Whether it is, case by case; there is one at least.
    used : iterable of Number
        What it was found from.
    **columns
        As of `row`.
    """
    true, used = [bool(one) for one in true], list(used)
    engine = next((n.engine for n in used if n.engine != THEORY), THEORY)
    share = sum(true) / len(true) if true else math.nan
    found = Number(share, engine=engine, converged=all(n.converged for n in used))
    return row(1.0, found, cases=len(true), **columns)


def judged(rows: Iterable[dict[str, Any]]) -> pd.DataFrame:
    """Return the frame of rows with their z, and the verdict where they have a claim; see `RULE`.

    A row in which two numbers next to 0 would be compared keeps its place and loses its claim.
    """
    frame = pd.DataFrame(list(rows), columns=list(COLUMNS))
    frame["z"] = _z_of(frame)
    off, simulated = (frame.measured - frame.theory).abs(), frame.trials > 0
    near = off <= frame.allowance + 3 * frame.numerical_error
    holds = np.where(simulated, frame.z.abs() <= LARGEST_Z, near)
    small = simulated & (frame.theory.abs() < SMALL) & (frame.measured.abs() < SMALL)
    frame.loc[small, "claim"] = ""
    sound = frame.converged.astype(bool)
    frame["verdict"] = np.select(
        [frame.claim == "", ~sound, holds], ["", NOT_CONVERGED, HOLDS], FAILS
    )
    return frame


def _z_of(frame: pd.DataFrame) -> np.ndarray:
    """Return z, nan without trials, and of a single one, which says nothing of its error."""
    left = (frame.measured - frame.theory).to_numpy(float)
    error = frame.standard_error.fillna(0.0).to_numpy(float)
    scale = np.hypot(error, frame.numerical_error.to_numpy(float))
    excess = np.maximum(np.abs(left) - frame.allowance.to_numpy(float), 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        t = np.where(scale > 0, excess / scale, np.where(excess > 0, np.inf, excess))
        # Only the standard error is estimated from trials (Welch and Satterthwaite).
        freedom = (frame.trials.to_numpy(float) - 1) * np.where(error > 0, (scale / error) ** 4, 1)
    z = np.copysign(stats.norm.isf(stats.t.sf(t, np.maximum(freedom, 1))), left)
    return np.where(freedom >= 1, z, np.nan)


@dataclasses.dataclass(frozen=True, eq=False)
class Finding:
    """A claim with the rows that bear on it."""

    claim: Claim
    comparisons: pd.DataFrame

    @property
    def verdict(self) -> str:
        """That of the worst comparison; not converged without any, as nothing speaks for it."""
        found = set(self.comparisons.verdict)
        return next((verdict for verdict in VERDICTS if verdict in found), NOT_CONVERGED)

    @property
    def example(self) -> Any:
        """The comparison shown for all: a failing one, else the key one furthest off."""
        c = self.comparisons
        order = [c.verdict == self.verdict, c.key, c.z.abs().fillna(0.0)]
        places = np.lexsort([np.asarray(column, float) for column in reversed(order)])
        return c.iloc[places[-1]] if len(c) else None

    @property
    def evidence(self) -> dict[str, int]:
        """Number of comparisons of each kind of `EVIDENCE` that it has."""
        return evidence_of(self.comparisons)

    @property
    def detectable(self) -> float:
        """The relative error of a formula at which a comparison fails: the median.

        It is that at which |z| reaches its limit; nan without a comparison with a simulation.
        """
        c = self.comparisons[self.comparisons.z.notna() & (self.comparisons.theory != 0)]
        least = c.allowance + LARGEST_Z * np.hypot(c.standard_error, c.numerical_error)
        return float((least / c.theory.abs()).median())


def findings(claims: Iterable[Claim], frame: pd.DataFrame) -> list[Finding]:
    """Return each claim with its rows."""
    return [Finding(claim, frame[frame.claim == claim.name]) for claim in claims]


def evidence_of(comparisons: pd.DataFrame) -> dict[str, int]:
    """Return the number of comparisons of each kind of `EVIDENCE` that is there."""
    found = {kind: int((comparisons.engine == kind).sum()) for kind in EVIDENCE}
    return {kind: count for kind, count in found.items() if count}
