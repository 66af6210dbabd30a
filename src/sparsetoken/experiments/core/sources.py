"""The source of each claim, the paper or this project, and its status."""

from __future__ import annotations

import dataclasses

from sparsetoken.experiments.core.claims import Claim

PAPER = "arXiv 2509.25153"
OWN = "this project’s own"
KINDS = ("Proposition", "Theorem", "Corollary", "Conjecture", "Figure", OWN)
PROVED = "proved in the paper"
DERIVED, EXPERIMENT = "derived here and checked", "by experiment"


@dataclasses.dataclass(frozen=True)
class Source:
    """The result that a claim states.

    Attributes
    ----------
    name : str
        As the public descriptions of the paper call it.
    status : str
        How it is known.
    """

    name: str
    status: str

    @property
    def kinds(self) -> tuple[str, ...]:
        """Those of `KINDS` that it is."""
        return tuple(kind for kind in KINDS if kind.lower() in self.name.lower())


_REPRESENTATION = Source("Propositions 1–3", PROVED)
_ALIGNMENT = Source("Theorem on query alignment", PROVED)
_CAPACITY = Source("Theorem 3 and Conjecture 1", "conjectured in the paper, with a heuristic step")

SOURCES = {
    "linear-needs-sqrt-length": _REPRESENTATION,
    "attention-log-length-free": _REPRESENTATION,
    "attention-fixed-sharpness": Source("Propositions 1–3, with another constant", DERIVED),
    "bounded-elementwise-loses": Source("Proposition 4", PROVED),
    "elementwise-powers": Source("Proposition 4, with another exponent", DERIVED),
    "query-alignment": _ALIGNMENT,
    "alignment-rate": Source("Corollary to query alignment", PROVED),
    "anti-alignment-of-rare-positives": Source("Theorem on query alignment, sign (15)", PROVED),
    "learned-error": Source("Theorem 2, Figure 1", PROVED),
    "residual-error-falls-with-alignment": Source("Figure of the appendix", EXPERIMENT),
    "capacity": _CAPACITY,
    "capacity-order": _CAPACITY,
    "capacity-measured": _CAPACITY,
    "pooled-capacity-is-vectorized-over-length": Source("Theorem 3", PROVED),
    "forecast-intervals": Source(OWN, EXPERIMENT),
    "forecast-recommendation": Source(OWN, EXPERIMENT),
}
"""Of the claims that are the paper's or come from it, or whose status is not the usual one."""


def source_of(claim: Claim) -> Source:
    """Return where a claim comes from: the paper as `SOURCES` says, or this project."""
    own = Source(OWN, EXPERIMENT if claim.open else DERIVED)
    return SOURCES.get(claim.name, own)
