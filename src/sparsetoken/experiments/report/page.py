"""The report as one HTML page that needs no other file and no network."""

from __future__ import annotations

import base64
import dataclasses
import io
import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from markupsafe import Markup

from sparsetoken.experiments.core.calibration import by_quantity, scatter_of
from sparsetoken.experiments.core.claims import (
    EVIDENCE,
    OWN,
    VERDICTS,
    Finding,
    evidence_of,
    findings,
    verdict_of,
)
from sparsetoken.experiments.core.experiment import Experiment
from sparsetoken.experiments.core.rows import THEORY, Rows
from sparsetoken.experiments.core.rules import RULE
from sparsetoken.experiments.core.words import (
    environment,
    words_of,
)
from sparsetoken.figures import style
from sparsetoken.figures.curves import Plot, Plotted

SCATTER = "z_values"
Z_TITLE = "Histogram of z over all comparisons with a simulation, beside the standard normal law."
DPI, QUALITY = 130, 50  # of images
KINDS = ("Proposition", "Theorem", "Corollary", "Conjecture", "Figure", OWN)
"""Of sources, by which the table of claims is filtered."""
OPENING = "learning-curves"
"""The experiment whose first figure opens the page."""


@dataclasses.dataclass(frozen=True)
class Section:
    """One experiment on the page: its findings, the parts of its words, and its pictures."""

    experiment: Experiment
    findings: Sequence[Finding]
    words: Mapping[str, Markup]
    pictures: Mapping[str, Picture]

    @property
    def headline(self) -> Finding | None:
        """The claim of its headline, with its comparisons; None if it has none."""
        return next((f for f in self.findings if f"Headline: {f.claim.name}" in self.words), None)

    @property
    def verdict(self) -> str:
        """The worst verdict of its findings."""
        return verdict_of(c for finding in self.findings for c in finding.comparisons)


@dataclasses.dataclass(frozen=True)
class Picture:
    """A figure as a WebP image, its size in points, and the rows that it shows.

    The title says what it shows to those who do not see it.
    """

    image: bytes
    width: float
    height: float
    title: str
    shown: Sequence[Plotted]

    @property
    def address(self) -> str:
        """The image as the address of an image of the page."""
        return "data:image/webp;base64," + base64.b64encode(self.image).decode()


def picture(draw: Callable[[Any], Plot], rows: Any, title: str) -> Picture:
    """Draw a figure, with a title as its text alternative."""
    with style.styled():
        figure, shown = draw(rows)
        buffer = io.BytesIO()
        figure.savefig(buffer, format="webp", dpi=DPI, pil_kwargs={"quality": QUALITY})
        width, height = (float(inches) * 72 for inches in figure.get_size_inches())
    return Picture(buffer.getvalue(), width, height, title, shown)


def section(experiment: Experiment, profile: str, rows: Rows) -> Section:
    """Judge the rows of an experiment, draw its pictures and write its words."""
    sizes = experiment.sizes[profile]
    comparisons = experiment.compared(sizes, rows)
    said = words_of(experiment, sizes, rows, comparisons)
    drawn = {
        name: picture(draw, rows, _title(said[f"Figure: {name}"]))
        for name, draw in experiment.figures.items()
    }
    return Section(experiment, findings(experiment.claims, comparisons), said, drawn)


def _title(caption: Markup) -> str:
    """Return the first sentence of a caption as plain text."""
    text = " ".join(caption.striptags().split())
    return re.split(r"(?<=[a-z0-9)])\. (?=[A-Z])", text)[0].rstrip(".") + "."


def page(
    sections: Sequence[Section], scatter: Picture, facts: Mapping[str, str], profile: str
) -> str:
    """Return the page as HTML, with what is to be known of the run."""
    found = [finding for s in sections for finding in s.findings]
    comparisons = [c for finding in found for c in finding.comparisons]
    open_ones = [s for s in sections if s.experiment.open]
    parts = {
        "The theory, checked": [s for s in sections if not s.experiment.open],
        "Beyond the theorems": open_ones,
    }
    cards = [s for s in sections if s.headline and s.pictures]
    first = next((s for s in cards if s.experiment.name == OPENING), None)
    topped = [s for s in (*cards, *open_ones[-1:]) if s.pictures]
    tops = {s.experiment.name: next(iter(s.pictures)) for s in topped}
    shown = {*tops.values()}
    if first:  # its first picture is figure 1, and another one stands in its card
        tops[OPENING] = [*first.pictures, *first.pictures][1]
        shown.add(tops[OPENING])
    seen = {
        "parts": [(title, some) for title, some in parts.items() if some],
        "cards": cards,
        "first": first,
        "tops": tops,
        "open_ones": open_ones,
        "shown": shown,
        "evidence": EVIDENCE,
        "rule": RULE,
        "kinds": KINDS,
        "findings": found,
        "verdicts": VERDICTS,
        "compared": evidence_of(comparisons),
        "beside_theory": beside_theory,
        "short": SHORT,
        "scatter": scatter,
        "spread": scatter_of(comparisons),
        "quantities": by_quantity(comparisons),
    }
    template = environment(".", True).get_template("experiments/report/report.html")
    return template.render(facts=facts, profile=profile, **seen)


SHORT = {
    "tensors": "real tensors",
    "reduced": "reduced engine",
    "computed": "computed",
    "measured": "measured only",
}
"""Kinds of evidence in the cells of tables."""


def beside_theory(shown: Sequence[Plotted]) -> list[tuple[Plotted | None, Plotted | None]]:
    """Return what a figure shows of measurements, each after the theory at its place, if any.

    Where nothing was measured it is all of the theory.
    """
    known = {_place(one): one for one in shown if one.row.engine == THEORY}
    measured = [one for one in shown if one.row.engine != THEORY]
    return [(known.get(_place(one)), one) for one in measured] or [(one, None) for one in shown]


def _place(one: Plotted) -> tuple[Any, ...]:
    return one.panel, one.curve, one.x, None if math.isnan(one.y) else one.y
