"""Where each claim comes from: a result of the paper, or this project, and how it is known."""

from __future__ import annotations

import dataclasses

from sparsetoken.experiments.claims import Claim

__all__ = ["KINDS", "OWN", "PAPER", "SOURCES", "Source", "source_of"]

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

_OWN_DERIVED = (
    "best-schedule",
    "bayes-boundary",
    "bayes-is-the-floor",
    "oracle-error",
    "steps-set-sharpness-only",
    "bias-step-turns-it-back",
    "small-step-condition",
    "score-law",
    "feature-law",
    "infinite-data-rate",
    "vectorized-and-pooled-share-the-limit",
    "misaligned-attention-loses",
    "crossing-at-finite-load",
    "shifted-test-law",
    "covariance-learned-error",
    "shared-effects",
    "whitening",
    "interpolation-threshold",
    "interpolation-peak",
    "susceptibility-diverges",
    "zero-loss-below-capacity",
    "positive-loss-above-capacity",
    "direction-to-max-margin",
    "same-law",
    "capacity-order-not-always",
    "capacity-without-signal",
    "transition-width",
    "test-error-over-sharpness",
    "test-error-over-bias-step",
    "test-error-over-split",
    "best-split",
    "best-sharpness",
    "leave-one-out-surrogate",
    "leave-one-out-estimates-test-error",
    "finite-size",
    "reuse-of-data",
    "reuse-or-splitting",
    "joint-descent",
    "early-stopping",
    "learning-floor",
    "loss-of-training",
    "best-training",
)
_OWN_EXPERIMENT = (
    "real-bags",
    "forecast-intervals",
    "forecast-recommendation",
    "forecast-errors",
    "more-query-steps",
    "growing-length",
    "several-queries",
    "class-token",
    "two-layers",
)

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
    **dict.fromkeys(_OWN_DERIVED, Source(OWN, DERIVED)),
    **dict.fromkeys(_OWN_EXPERIMENT, Source(OWN, EXPERIMENT)),
}
"""By the name of the claim; a test holds it to the claims of all experiments."""


def source_of(claim: Claim) -> Source:
    """Return where a claim comes from; one without an entry is this project's own."""
    own = Source(OWN, EXPERIMENT if claim.open else DERIVED)
    return SOURCES.get(claim.name, own)
