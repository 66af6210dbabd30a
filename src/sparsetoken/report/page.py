"""The report as one HTML page that needs no other file and no network."""

from __future__ import annotations

import dataclasses
import functools
import math
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
from sparsetoken.experiments.rules import ALLOWANCE, RULE
from sparsetoken.report.pictures import pictures_of, svg
from sparsetoken.report.text import FILTERS, words

__all__ = ["Section", "page", "section", "words_of"]

MARKS = (
    "Lines: theory. Points: simulation, mean and one standard error; an error bar smaller than the "
    "point is not seen. Squares: the same experiment with real tensors."
)


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
        SVG elements by name.
    """

    experiment: Experiment
    findings: Sequence[Finding]
    words: Mapping[str, Markup]
    pictures: Mapping[str, str]

    @property
    def verdict(self) -> str:
        """The worst verdict of its findings."""
        return verdict_of(c for finding in self.findings for c in finding.comparisons)


def section(experiment: Experiment, profile: str, rows: Sequence[Any]) -> Section:
    """Judge the rows of an experiment, draw its pictures and write its words."""
    comparisons = experiment.judged(profile, rows)
    return Section(
        experiment,
        findings(experiment.claims, comparisons),
        words_of(experiment, experiment.profiles[profile], rows, comparisons),
        {name: svg(name, draw, rows) for name, draw in pictures_of(experiment).items()},
    )


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
    seen = {"profile": sizes, "rows": rows, "marks": MARKS}
    seen["findings"] = findings(experiment.claims, comparisons)
    seen |= experiment.summary(sizes, rows, comparisons)
    template = _environment().get_template(f"experiments/{experiment.folder}/words.html")
    context = template.new_context(seen)
    return {name: Markup("".join(block(context))) for name, block in template.blocks.items()}


@functools.cache
def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("sparsetoken", "."),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    environment.filters |= FILTERS
    return environment


def page(
    sections: Sequence[Section],
    facts: Mapping[str, str],
    profile: str,
    skipped: Sequence[Experiment] = (),
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
    """
    found = [finding for s in sections for finding in s.findings]
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
            allowances=[(words(name), c) for name, c in ALLOWANCE.items() if c > 0],
            counts={v: sum(f.verdict == v for f in found) for v in VERDICTS},
            evidence=EVIDENCE,
            compared=evidence_of(c for f in found for c in f.comparisons),
            best={k: sum(f.best_evidence == k for f in found) for k in EVIDENCE},
            rule=RULE,
            simulated=len(sizes),
            beyond={level: sum(size > level for size in sizes) for level in (2, 3)},
            facts=facts,
            profile=profile,
            skipped=skipped,
        )
    )
