"""The page of a report, and its numbers as JSON."""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pandas as pd
from markupsafe import Markup, escape
from scipy import stats

from sparsetoken.figures.page import Drawing, number, rendered
from sparsetoken.studies.claims import (
    AMENDMENT,
    EVIDENCE,
    HOLDS,
    KINDS,
    LARGEST_Z,
    RULE,
    VERDICTS,
    Finding,
    evidence_of,
)

if TYPE_CHECKING:
    from sparsetoken.studies.study import Study

OPENING = "learning-curves"
"""The study whose figure opens the page."""
RESERVED = {"filter", "found", "claims", "differences", "rule", "run"}
"""Names of the parts of the page."""
NAMES = {"cosine": "cos(q₂, ξ)", "readout_cosine": "cos(w₁, ξ)", "auc": "AUC"}
"""Of quantities, for readers."""

_JOINED = re.compile(r"([a-z]{2,})_(?=[a-z]{2,})")
_INDEX = re.compile(r"([_^])(?:\{([^}]*)\}|(\w)(?!\w))")
"""An index η_q or α*_{pool}, or an exponent d^{−1/2}."""


@dataclasses.dataclass(frozen=True, eq=False)
class Section:
    """A study on the page: its frame and findings, and its figure."""

    study: Study
    frame: pd.DataFrame
    findings: Sequence[Finding]
    drawing: Drawing

    @property
    def sound(self) -> bool:
        """Whether all of its claims hold."""
        return all(finding.verdict == HOLDS for finding in self.findings)


def page(sections: Sequence[Section], facts: Mapping[str, str]) -> str:
    """Return the page as HTML, which needs no other file and no network."""
    found = [finding for section in sections for finding in section.findings]
    every = pd.concat([finding.comparisons for finding in found], ignore_index=True)
    z, verdicts = every.z.dropna().abs(), [finding.verdict for finding in found]
    seen = {
        "sections": sections,
        "first": next((s for s in sections if s.study.name == OPENING), None),
        "hold": summary(found),
        "others": {v: verdicts.count(v) for v in VERDICTS if v != HOLDS and v in verdicts},
        "amendments": [f for f in found if f.claim.kind == AMENDMENT and f.verdict == HOLDS],
        "kinds": KINDS,
        "evidence": EVIDENCE,
        "compared": evidence_of(every),
        "rule": RULE,
        "z": z,
        "beyond": {n: ((z > n).sum(), 2 * stats.norm.sf(n) * len(z)) for n in (2, 3, LARGEST_Z)},
        "facts": facts,
    }
    filters: dict[str, Callable[..., Any]] = {"maths": maths, "subject": subject}
    filters |= {"expected": expected_text, "found": found_text, "percent": percent}
    return rendered("studies/report.html", filters, **seen)


def summary(found: Sequence[Finding]) -> str:
    """Return how many claims hold, and whose they are."""
    held = [finding.claim.kind for finding in found if finding.verdict == HOLDS]
    whose = ", ".join(f"{held.count(kind)} {kind}" for kind in KINDS if kind in held)
    return f"{len(held)} claims hold" + f": {whose}" * bool(whose)


def document_of(found: Sequence[Finding], facts: Mapping[str, str] | None = None) -> dict[str, Any]:
    """Return claims and comparisons as JSON values; what is not finite is null.

    The claim of a comparison is under the key statement, which is a contract.
    """
    statements = [
        {
            **dataclasses.asdict(finding.claim),
            "comparisons": len(finding.comparisons),
            "evidence": finding.evidence,
            "verdict": finding.verdict,
        }
        for finding in found
    ]
    rows = [
        {
            "statement" if name == "claim" else name: _json(value)
            for name, value in zip(finding.comparisons, values, strict=True)
        }
        for finding in found
        for values in finding.comparisons.itertuples(index=False)
    ]
    run = {} if facts is None else {"run": dict(facts)}
    return run | {"statements": statements, "claims": rows}


def _json(value: Any) -> Any:
    own = value.item() if hasattr(value, "item") else value
    return None if isinstance(own, float) and not math.isfinite(own) else own


def percent(value: float) -> str:
    """Return a share in percent."""
    return "–" if math.isnan(value) else f"{100 * value:.2g} %"


def expected_text(comparison: Any) -> str:
    """Return what the theory says in a comparison."""
    return f"all {comparison.cases}" if comparison.cases else number(comparison.theory)


def found_text(comparison: Any) -> str:
    """Return what was found in a comparison: a number, or how many cases are true.

    Without a standard error, of two numbers with the same digits it is how far they are apart.
    """
    c = comparison
    if c.cases:
        return f"{round(c.measured * c.cases)} of {c.cases}"
    if not math.isfinite(c.standard_error) and number(c.measured) == number(c.theory):
        gap = abs(c.measured - c.theory)
        return f"off by {number(gap, 2)}" if gap else "the same"
    return number(c.measured)


def subject(comparison: Any) -> Markup:
    """Return the curve and the quantity of a comparison, as far as they differ."""
    names = dict.fromkeys((comparison.curve, comparison.quantity))
    words = [NAMES.get(name) or _JOINED.sub(r"\1 ", name) for name in names if name]
    return maths(": ".join(words))


def maths(text: str) -> Markup:
    """Return HTML in which η_q and α*_{pool} have an index, and d^{−1/2} an exponent."""

    def shifted(match: re.Match[str]) -> str:
        tag = "sub" if match[1] == "_" else "sup"
        return f"<{tag}>{match[2] or match[3]}</{tag}>"

    return Markup(_INDEX.sub(shifted, str(escape(text))))
