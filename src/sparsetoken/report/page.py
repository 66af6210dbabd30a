"""The report as one HTML page that needs no other file and no network."""

from __future__ import annotations

import dataclasses
import functools
import json
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

import jinja2
from markupsafe import Markup

from sparsetoken.experiments.claims import (
    EVIDENCE,
    VERDICTS,
    Comparison,
    Finding,
    evidence_of,
    findings,
    verdict_of,
)
from sparsetoken.experiments.experiment import Experiment
from sparsetoken.experiments.rows import Measured
from sparsetoken.experiments.rules import RULE
from sparsetoken.experiments.sources import KINDS, PAPER, source_of
from sparsetoken.report.calibration import draw_scatter, scatter_of, shifts
from sparsetoken.report.figure_data import places
from sparsetoken.report.pictures import Picture, picture, pictures_of
from sparsetoken.report.text import FILTERS

SCATTER = "z_values"

MARKS = {
    ("reduced",): "Points: simulation, mean and one standard error.",
    ("tensors",): "Squares: measured with real tokens, mean and one standard error.",
    ("reduced", "tensors"): "Points: simulation, mean and one standard error. Squares: the same "
    "experiment with real tensors.",
}
"""What the marks of a figure are, by the engines that measured its rows."""


@dataclasses.dataclass(frozen=True)
class Section:
    """One experiment on the page.

    Attributes
    ----------
    experiment : Experiment
    findings : sequence of Finding
    words : mapping
        The blocks of its template as HTML: setting, result, left, and a caption under the
        name of each picture.
    pictures : mapping
        Pictures by name.
    """

    experiment: Experiment
    findings: Sequence[Finding]
    words: Mapping[str, Markup]
    pictures: Mapping[str, Picture]

    def answer(self, finding: Finding) -> Markup | str:
        """Return the answer to an open question in words; empty for other claims."""
        block = f"answer_{finding.claim.name.replace('-', '_')}"
        return self.words.get(block, "") if finding.claim.open else ""

    @property
    def verdict(self) -> str:
        """The worst verdict of its findings."""
        return verdict_of(c for finding in self.findings for c in finding.comparisons)


def section(experiment: Experiment, profile: str, rows: Sequence[Any]) -> Section:
    """Judge the rows of an experiment, draw its pictures and write its words."""
    comparisons = experiment.judged(profile, rows)
    said = words_of(experiment, experiment.profiles[profile], rows, comparisons)
    drawn = {
        name: picture(name, draw, rows, _title(said[name]))
        for name, draw in pictures_of(experiment).items()
    }
    return Section(experiment, findings(experiment.claims, comparisons), said, drawn)


def scatter_picture(sections: Sequence[Section]) -> Picture:
    """Draw how the comparisons of all sections with simulations scatter."""
    found = [c for s in sections for finding in s.findings for c in finding.comparisons]
    title = "Histogram of z over all comparisons with a simulation, beside the standard normal law."
    return picture(SCATTER, draw_scatter, scatter_of(found), title)


def _title(caption: Markup) -> str:
    """Return the first sentence of a caption as plain text."""
    text = " ".join(caption.striptags().split())
    return re.split(r"(?<=[a-z0-9)])\. (?=[A-Z])", text)[0].rstrip(".") + "."


def words_of(
    experiment: Experiment, sizes: Any, rows: Sequence[Any], comparisons: Sequence[Comparison]
) -> dict[str, Markup]:
    """Return the blocks of the template `words.html` of an experiment as HTML.

    The template sees the sizes as `profile`, `rows`, `findings`, what `Experiment.summary`
    returns by its names, and `marks`, the sentences that explain the marks of a figure.

    Parameters
    ----------
    experiment : Experiment
    sizes : dataclass
        One of its profiles.
    rows, comparisons : sequence
    """
    seen = {"profile": sizes, "rows": rows, "marks": _marks(rows)}
    seen["findings"] = findings(experiment.claims, comparisons)
    seen |= experiment.summary(sizes, rows, comparisons)
    template = _environment().get_template(f"experiments/{experiment.folder}/words.html")
    context = template.new_context(seen)
    return {name: Markup("".join(block(context))) for name, block in template.blocks.items()}


def _marks(rows: Sequence[Any]) -> str:
    values = [value for row in rows for value in vars(row).values()]
    engines = {value.engine for value in values if isinstance(value, Measured)}
    points = MARKS.get(tuple(sorted(engines)), "")
    return f"Lines: theory. {points} An error bar smaller than the point is not seen."


@functools.cache
def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("sparsetoken", "."),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    environment.filters |= FILTERS | {"script_json": _script_json}
    return environment


def _script_json(values: Any) -> Markup:
    """Return JSON that may stand in an element of the page."""
    text = json.dumps(values, ensure_ascii=False, separators=(",", ":"))
    return Markup(text.replace("<", "\\u003c"))


def page(
    sections: Sequence[Section],
    facts: Mapping[str, str],
    profile: str,
    skipped: Sequence[Experiment] = (),
    scatter: Picture | None = None,
) -> str:
    """Return the page as HTML.

    Parameters
    ----------
    sections : sequence of Section
    facts : mapping
        What is to be known of the run, by name.
    profile : str
    skipped : sequence of Experiment
        Those whose optional packages are not installed.
    scatter : Picture, optional
        As `scatter_picture` returns it, which draws it by default.
    """
    found = [finding for s in sections for finding in s.findings]
    comparisons = [c for finding in found for c in finding.comparisons]
    scatter = scatter or scatter_picture(sections)
    pictures = {n: p for s in sections for n, p in s.pictures.items()} | {SCATTER: scatter}
    sizes = [abs(c.z) for f in found for c in f.comparisons if not math.isnan(c.z)]
    parts = (
        ("The theory, checked", [s for s in sections if not s.experiment.open]),
        ("Beyond the theorems", [s for s in sections if s.experiment.open]),
    )
    return (
        _environment()
        .get_template("report/report.html")
        .render(
            parts=[(title, some) for title, some in parts if some],
            counts={v: sum(f.verdict == v for f in found) for v in VERDICTS},
            evidence=EVIDENCE,
            compared=evidence_of(c for f in found for c in f.comparisons),
            best={k: sum(f.best_evidence == k for f in found) for k in EVIDENCE},
            rule=RULE,
            simulated=len(sizes),
            beyond={level: sum(size > level for size in sizes) for level in (2, 3)},
            facts=facts,
            kinds=KINDS,
            paper=PAPER,
            source_of=source_of,
            data={name: places(picture.marks) for name, picture in pictures.items()},
            scatter=scatter,
            spread=scatter_of(comparisons),
            shifts=shifts(comparisons),
            profile=profile,
            skipped=skipped,
        )
    )
