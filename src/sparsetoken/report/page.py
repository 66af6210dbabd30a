"""The report as one HTML page that needs no other file and no network."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence

import jinja2

from sparsetoken.experiments.base import Experiment
from sparsetoken.experiments.claims import ALLOWANCE, RULE, VERDICTS, Claim, Statement, verdict_of
from sparsetoken.figures.picture import Picture

__all__ = ["Finding", "Section", "findings", "page"]

NAMES = {
    "cosine": "cos(q₂, ξ)",
    "readout_cosine": "cos(w₁, ξ)",
    "threshold": "capacity",
    "separable": "share separable",
    "auc": "AUC",
}

_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


@dataclasses.dataclass(frozen=True)
class Finding:
    """A statement with the comparisons that bear on it.

    Attributes
    ----------
    statement : Statement
    claims : sequence of Claim
    """

    statement: Statement
    claims: Sequence[Claim]

    @property
    def verdict(self) -> str:
        """The verdict on the statement."""
        return verdict_of(self.claims)

    @property
    def example(self) -> Claim | None:
        """The comparison shown for all: a failing one, else the key one furthest off."""

        def standing(claim: Claim) -> tuple[bool, bool, float]:
            off = abs(claim.z) if math.isfinite(claim.z) else 0.0
            return claim.verdict == self.verdict, claim.key, off

        return max(self.claims, key=standing, default=None)

    @property
    def holding(self) -> int:
        """Number of comparisons that share the verdict of a statement that stands."""
        return sum(claim.verdict in ("holds", "by experiment") for claim in self.claims)


@dataclasses.dataclass(frozen=True)
class Section:
    """One experiment on the page."""

    experiment: Experiment
    setting: str
    result: str
    pictures: Sequence[tuple[Picture, str]]
    findings: Sequence[Finding]

    @property
    def open(self) -> bool:
        """Whether all it asks is beyond the theorems."""
        return all(statement.open for statement in self.experiment.statements)

    @property
    def verdict(self) -> str:
        """The worst verdict of its findings."""
        return verdict_of(claim for finding in self.findings for claim in finding.claims)


def findings(experiment: Experiment, claims: Sequence[Claim]) -> list[Finding]:
    """Return the statements of an experiment, each with its comparisons."""
    return [
        Finding(statement, [c for c in claims if c.statement == statement.name])
        for statement in experiment.statements
    ]


def page(sections: Sequence[Section], facts: Mapping[str, str], profile: str) -> str:
    """Return the page as HTML."""
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("sparsetoken.report", "."),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    environment.filters |= {"number": number, "words": words}
    found = [finding for section in sections for finding in section.findings]
    return environment.get_template("report.html").render(
        parts=[
            (title, some)
            for title, some in (
                ("The theory, checked", [s for s in sections if not s.open]),
                ("Beyond the theorems", [s for s in sections if s.open]),
            )
            if some
        ],
        allowances=[(words(name), c) for name, c in ALLOWANCE.items() if c > 0],
        counts={v: sum(f.verdict == v for f in found) for v in VERDICTS},
        comparisons=sum(len(f.claims) for f in found),
        rule=RULE,
        facts=facts,
        profile=profile,
    )


def number(value: float, digits: int = 4) -> str:
    """Return a number with so many decimals, or as a power of ten if it is small or large."""
    if math.isnan(value):
        return "–"
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    if digits > 1 and value != 0 and not 1e-3 <= abs(value) < 1e5:
        mantissa, power = f"{value:.1e}".split("e")
        return f"{mantissa}·10{str(int(power)).translate(_RAISED)}".replace("-", "−")
    text = f"{value:.{digits}f}"
    return text.lstrip("-") if float(text) == 0 else text.replace("-", "−")


def words(quantity: str) -> str:
    """Return the name of a quantity for readers."""
    return NAMES.get(quantity, quantity.replace("_", " "))
