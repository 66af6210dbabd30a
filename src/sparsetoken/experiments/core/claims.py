"""Claims of the theory, their comparisons, their verdicts, and their sources."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Sequence

HOLDS, FAILS = "holds", "fails"
NOT_CONVERGED, BY_EXPERIMENT = "not converged", "by experiment"
LOOK = "look"
"""Trials behind a comparison are outlying, so that it neither holds nor fails."""
VERDICTS = (HOLDS, FAILS, LOOK, NOT_CONVERGED, BY_EXPERIMENT)
COMPUTED = "computed"
EVIDENCE = {
    "tensors": "against real tensors",
    "reduced": "against the reduced engine",
    COMPUTED: "computed against computed",
    "measured": "measured only",
}
"""The kinds of evidence, the strongest first, and their names for readers."""
OWN, DERIVED, MEASURED = "this project’s own", "derived here and checked", "by experiment"
"""The source of claims whose page names no other, and how claims and questions are known."""


@dataclasses.dataclass(frozen=True)
class Claim:
    """A claim of the theory, or an open question.

    Attributes
    ----------
    name : str
        A word for tables and scripts, such as alignment-rate.
    text : str
        One sentence. An index is written η_q or α*_{pool}, an exponent d^{−1/2}.
    open : bool
        Whether it is beyond the theorems, and answered by experiment only.
    source, status : str
        The result that it states, as the paper calls it, and how it is known.
    """

    name: str
    text: str
    open: bool = False
    source: str = OWN
    status: str = DERIVED


@dataclasses.dataclass(frozen=True)
class Comparison:
    """One comparison for or against a claim.

    Attributes
    ----------
    claim : str
        Name of the claim.
    quantity, curve : str
        The quantity, and the model or another name of what is compared; by default the quantity.
    where : str
        The place, for readers; indices as in `Claim.text`.
    x : float
        Where on the curve.
    theory, measured, standard_error, numerical_error, allowance, z : float
        nan where there is none. The allowance is a bound below which a difference does not count.
    dimension, trials : int
        Of a simulation, else 0.
    engine : str
        What measured it: reduced or tensors; computed where nothing was simulated.
    verdict : str
        holds, fails, look, not converged or by experiment.
    key : bool
        Whether it stands for its claim in the table that opens the report.
    experiment : str
    raw_z : float
        z without a shift of finite dimension, and without an allowance; nan where z is.
    shift, shift_error : float
        What finite dimension is expected to add, and the standard deviation of that.
    cases : int
        Of a claim about order or sign: the number of cases, of which `measured` is the share that
        is true. Else 0.
    outlying : str
        The outlying trials that are to be looked at, in a line; else empty.
    """

    claim: str
    quantity: str
    curve: str = ""
    where: str = ""
    x: float = math.nan
    theory: float = math.nan
    measured: float = math.nan
    standard_error: float = math.nan
    numerical_error: float = math.nan
    allowance: float = math.nan
    z: float = math.nan
    dimension: int = 0
    trials: int = 0
    engine: str = COMPUTED
    verdict: str = NOT_CONVERGED
    key: bool = False
    experiment: str = ""
    raw_z: float = math.nan
    shift: float = 0.0
    shift_error: float = 0.0
    cases: int = 0
    outlying: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "curve", self.curve or self.quantity)

    @property
    def gap(self) -> float:
        """How far the measured number is from the theory."""
        return abs(self.measured - self.theory)

    @property
    def evidence(self) -> str:
        """A key of `EVIDENCE`: the engine, or measured if no theory was there to judge it."""
        return self.engine if math.isfinite(self.allowance) else "measured"


@dataclasses.dataclass(frozen=True)
class Finding:
    """A claim with the comparisons that bear on it."""

    claim: Claim
    comparisons: Sequence[Comparison]

    @property
    def verdict(self) -> str:
        """The verdict on the claim."""
        return verdict_of(self.comparisons)

    @property
    def example(self) -> Comparison | None:
        """The comparison shown for all: a failing one, else the key one furthest off."""

        def standing(comparison: Comparison) -> tuple[bool, bool, float]:
            off = abs(comparison.z) if math.isfinite(comparison.z) else 0.0
            return comparison.verdict == self.verdict, comparison.key, off

        return max(self.comparisons, key=standing, default=None)

    @property
    def evidence(self) -> dict[str, int]:
        """Number of comparisons of each kind of `EVIDENCE` that it has."""
        return {kind: n for kind, n in evidence_of(self.comparisons).items() if n}

    @property
    def best_evidence(self) -> str:
        """The strongest kind of evidence that it has, measured if there is none."""
        return next(iter(self.evidence), "measured")


def findings(claims: Iterable[Claim], comparisons: Sequence[Comparison]) -> list[Finding]:
    """Return each claim with its comparisons."""
    return [Finding(claim, [c for c in comparisons if c.claim == claim.name]) for claim in claims]


def evidence_of(comparisons: Iterable[Comparison]) -> dict[str, int]:
    """Return the number of comparisons of each kind of `EVIDENCE`."""
    kinds = [comparison.evidence for comparison in comparisons]
    return {kind: kinds.count(kind) for kind in EVIDENCE}


def verdict_of(comparisons: Iterable[Comparison]) -> str:
    """Return the verdict on a claim: that of its worst comparison.

    A claim without comparisons is not converged: nothing speaks for it.
    """
    verdicts = {comparison.verdict for comparison in comparisons}
    for verdict in (FAILS, NOT_CONVERGED, LOOK, HOLDS, BY_EXPERIMENT):
        if verdict in verdicts:
            return verdict
    return NOT_CONVERGED


def largest_z(comparisons: Iterable[Comparison]) -> float:
    """Return the largest |z| of the comparisons with a simulation, 0 if there is none."""
    return max((abs(c.z) for c in comparisons if math.isfinite(c.z)), default=0.0)
