"""The report as one HTML page that needs no other file and no network."""

from __future__ import annotations

import base64
import dataclasses
import io
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from markupsafe import Markup

from sparsetoken.experiments.core.calibration import by_quantity, draw_scatter, scatter_of
from sparsetoken.experiments.core.claims import (
    EVIDENCE,
    OWN,
    VERDICTS,
    Comparison,
    Finding,
    evidence_of,
    findings,
    verdict_of,
)
from sparsetoken.experiments.core.experiment import Experiment
from sparsetoken.experiments.core.rows import Rows
from sparsetoken.experiments.core.rules import RULE
from sparsetoken.experiments.core.words import (
    HEADLINE,
    environment,
    expected_text,
    found_text,
    maths,
    number,
    shifted,
    subject,
    words_of,
)
from sparsetoken.experiments.report.tables import beside_theory
from sparsetoken.figures import style
from sparsetoken.figures.curves import Plot, Plotted

SCATTER = "z_values"
DPI, QUALITY = 130, 60  # of images
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

    def answer(self, finding: Finding) -> Markup | str:
        """Return the answer to an open question in words; empty for other claims."""
        text = self.words.get(f"Question: {finding.claim.name}", "")
        return Markup(text.partition("</p>")[2])  # what follows the question

    @property
    def headline_name(self) -> str:
        """The heading of its headline, which names a claim; empty if it has none."""
        return next((name for name in self.words if name.startswith(f"{HEADLINE}: ")), "")

    @property
    def headline(self) -> Finding:
        """The claim of its headline, with its comparisons."""
        name = self.headline_name.removeprefix(f"{HEADLINE}: ")
        return next(finding for finding in self.findings if finding.claim.name == name)

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


def scatter_picture(sections: Sequence[Section]) -> Picture:
    """Plot the scatter of the comparisons of all sections with simulations."""
    comparisons = [c for s in sections for finding in s.findings for c in finding.comparisons]
    title = "Histogram of z over all comparisons with a simulation, beside the standard normal law."
    return picture(draw_scatter, scatter_of(comparisons), title)


def _title(caption: Markup) -> str:
    """Return the first sentence of a caption as plain text."""
    text = " ".join(caption.striptags().split())
    return re.split(r"(?<=[a-z0-9)])\. (?=[A-Z])", text)[0].rstrip(".") + "."


def page(
    sections: Sequence[Section],
    facts: Mapping[str, str],
    profile: str,
    scatter: Picture | None = None,
) -> str:
    """Return the page as HTML, with what is to be known of the run.

    By default `scatter_picture` draws the scatter.
    """
    all_findings = [finding for s in sections for finding in s.findings]
    comparisons = [c for finding in all_findings for c in finding.comparisons]
    scatter = scatter or scatter_picture(sections)
    pictures = {n: p for s in sections for n, p in s.pictures.items()} | {SCATTER: scatter}
    open_ones = [s for s in sections if s.experiment.open]
    parts = (
        ("The theory, checked", [s for s in sections if not s.experiment.open]),
        ("Beyond the theorems", open_ones),
    )
    cards = [s for s in sections if s.headline_name and s.pictures]
    first = next((s for s in cards if s.experiment.name == OPENING), None)
    tops = {
        s.experiment.name: next(iter(s.pictures)) for s in (*cards, *open_ones[-1:]) if s.pictures
    }
    opening = {tops[OPENING]} if first else set()
    if first:  # its first picture is figure 1, and another one stands in its card
        tops[OPENING] = list(first.pictures)[-1 if len(first.pictures) < 2 else 1]
    return (
        environment(".", True)
        .get_template("experiments/report/report.html")
        .render(
            parts=[(title, some) for title, some in parts if some],
            cards=cards,
            first=first,
            tops=tops,
            open_ones=open_ones,
            shown={*tops.values(), *opening},
            counts={v: sum(f.verdict == v for f in all_findings) for v in VERDICTS},
            evidence=EVIDENCE,
            compared=evidence_of(comparisons),
            best={k: sum(f.best_evidence == k for f in all_findings) for k in EVIDENCE},
            rule=RULE,
            facts=facts,
            kinds=KINDS,
            tables=_tables(all_findings, pictures),
            short=SHORT,
            scatter=scatter,
            spread=scatter_of(comparisons),
            quantities=by_quantity(comparisons),
            profile=profile,
        )
    )


SHORT = {
    "tensors": "real tensors",
    "reduced": "reduced engine",
    "computed": "computed",
    "measured": "measured only",
}
"""Kinds of evidence in the cells of tables."""


COMPARED = (
    "verdict, quantity, where, theory, measured, std. error, shift of finite d, z without, z, "
    "evidence"
)
SHOWN = "panel, curve, place, theory, measured, std. error"


def _tables(
    all_findings: Sequence[Finding], pictures: Mapping[str, Picture]
) -> dict[str, list[Sequence[str]]]:
    """Return the tables of comparisons and of figures, the first row its head; cells are HTML."""
    tables: dict[str, list[Sequence[str]]] = {}
    for f in all_findings:
        cells = (_comparison_cells(c) for c in f.comparisons)
        tables[f"claim-{f.claim.name}"] = [COMPARED.split(", "), *cells]
    for name, one in pictures.items():
        pairs = (_shown_cells(*pair) for pair in beside_theory(one.shown))
        tables[f"numbers-{name}"] = [SHOWN.split(", "), *pairs]
    return tables


def _comparison_cells(c: Comparison) -> list[str]:
    return [
        c.verdict,
        subject(c),
        maths(c.where),
        *(expected_text(c), found_text(c), number(c.standard_error), shifted(c)),
        *(number(value, 1) for value in (c.raw_z, c.z)),
        SHORT[c.evidence],
    ]


def _shown_cells(theory: Plotted | None, measured: Plotted | None) -> list[str]:
    one = measured or theory
    assert one is not None
    at = f"{one.x_name} = {one.x:g}" + (f", {one.y_name} = {one.y:g}" if one.y_name else "")
    texts = (one.panel, one.curve, at)
    numbers = (
        number(theory.row.value) if theory else "",
        *((number(measured.row.value), number(measured.row.error)) if measured else ("", "")),
    )
    return [*(maths(text.replace("$", "")) for text in texts), *numbers]
