"""The words of an experiment: a Jinja template of Markdown, as HTML."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping, Sequence
from typing import Any

import jinja2
from markdown_it import MarkdownIt
from markupsafe import Markup

from sparsetoken.experiments.core.claims import Comparison, findings
from sparsetoken.experiments.core.experiment import Experiment, Sizes
from sparsetoken.experiments.core.rows import THEORY, Rows
from sparsetoken.report.text import FILTERS, INDEX

MARKS = {
    ("reduced",): "Points: simulation, mean and one standard error.",
    ("tensors",): "Squares: measured with real tokens, mean and one standard error.",
    ("reduced", "tensors"): "Points: simulation, mean and one standard error. Squares: the same "
    "experiment with real tensors.",
}
"""What the marks of a figure are, by the engines that measured its rows."""

SETTING, HEADLINE = "Setting", "Headline"

_HEADING = re.compile(r"^##? +(.*)$", re.MULTILINE)
_OPEN, _CLOSE = {"_": "\ue000", "^": "\ue001"}, {"_": "\ue002", "^": "\ue003"}
_TAGS = dict(zip("\ue000\ue001\ue002\ue003", ("<sub>", "<sup>", "</sub>", "</sup>"), strict=True))


def words_of(
    experiment: Experiment, sizes: Sizes, rows: Rows, comparisons: Sequence[Comparison]
) -> dict[str, Markup]:
    """Return the parts of the page of an experiment as HTML, by their headings.

    What stands under the title has the name Setting. Under Headline: CLAIM is one sentence of what
    was found; the experiments that have one stand at the top of the report. The template sees the
    sizes as `sizes`, `rows`, `findings`, what `Experiment.words` returns by its names, and
    `marks`, the sentences that explain the marks of a figure.

    Parameters
    ----------
    experiment : Experiment
    sizes : Sizes
        Of one of its profiles.
    rows : Rows
    comparisons : sequence of Comparison
    """
    seen = {"sizes": sizes, "rows": rows, "marks": _marks(rows)}
    seen["findings"] = findings(experiment.claims, comparisons)
    seen |= experiment.words(sizes, rows, comparisons)
    return parts_of(experiment.text, seen)


def parts_of(template: str, seen: Mapping[str, Any]) -> dict[str, Markup]:
    """Return the parts of a template of Markdown as HTML, by their headings."""
    text = _environment().from_string(template).render(**seen)
    _, _, *pieces = _HEADING.split(text)
    return {
        name.strip(): markdown(part)
        for name, part in zip([SETTING, *pieces[1::2]], pieces[0::2], strict=True)
    }


def markdown(text: str) -> Markup:
    """Return Markdown as HTML; η_q and α*_{pool} get an index, and d^{−1/2} an exponent."""

    def marked(match: re.Match[str]) -> str:
        return _OPEN[match[1]] + (match[2] or match[3]) + _CLOSE[match[1]]

    # Indices are hidden from the parser, to which _ begins an emphasis.
    html = _parser().render(INDEX.sub(marked, text))
    return Markup(re.sub("[\ue000-\ue003]", lambda match: _TAGS[match[0]], html))


def _marks(rows: Rows) -> str:
    engines = {row.engine for row in rows} - {THEORY}
    points = MARKS.get(tuple(sorted(engines)), "")
    return f"Lines: theory. {points} Error bars smaller than the points are hidden."


@functools.cache
def _parser() -> MarkdownIt:
    return MarkdownIt("commonmark", {"html": False}).enable("table")


@functools.cache
def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("sparsetoken", "experiments/core"),
        autoescape=False,  # the parser of Markdown lets no HTML through
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    environment.filters |= FILTERS
    return environment
