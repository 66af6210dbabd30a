"""Words of a report: numbers and formulas as text, and the pages of experiments as HTML."""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

import jinja2
import numpy as np
from markdown_it import MarkdownIt
from markupsafe import Markup, escape

from sparsetoken.experiments.core.claims import Comparison, findings, largest_z
from sparsetoken.experiments.core.experiment import Experiment, Sizes
from sparsetoken.experiments.core.rows import THEORY, Row, Rows

NAMES = {
    "cosine": "cos(q₂, ξ)",
    "readout_cosine": "cos(w₁, ξ)",
    "threshold": "capacity",
    "separable": "share separable",
    "auc": "AUC",
}

_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
_JOINED = re.compile(r"([a-z]{2,})_(?=[a-z]{2,})")
INDEX = re.compile(r"([_^])(?:\{([^}]*)\}|(\w)(?!\w))")
"""An index η_q or α*_{pool}, or an exponent d^{−1/2}."""


def number(value: float, digits: int = 4) -> str:
    """Return a number with `digits` decimals, or as a power of ten if it is small or large."""
    if math.isnan(value):
        return "–"
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    if digits > 1 and value != 0 and not 1e-3 <= abs(value) < 1e5:
        mantissa, power = f"{value:.1e}".split("e")
        return f"{mantissa}·10{str(int(power)).translate(_RAISED)}".replace("-", "−")
    text = f"{value:.{digits}f}"
    return text.lstrip("-") if float(text) == 0 else text.replace("-", "−")


def plus_minus(row: Row, digits: int, scale: float = 1.0, sign: str = "") -> str:
    """Return a measured number and its standard error with `digits` decimals.

    There are more if the error needs them. The format of the sign is that of Python.
    """
    error = scale * row.error
    if 0 < error < 0.5 * 10.0**-digits:
        digits = min(math.ceil(-math.log10(error)), 12)
    return f"{scale * row.value:{sign}.{digits}f} ± {error:.{digits}f}".replace("-", "−")


def shifted(comparison: Comparison) -> str:
    """Return the shift that finite dimension is expected to add, or a bound that is allowed."""
    if comparison.allowance > 0:
        return f"≤ {number(comparison.allowance)}"
    if not comparison.shift_error:
        return "–"
    return f"{number(comparison.shift)} ± {number(comparison.shift_error)}"


def expected_text(comparison: Comparison) -> str:
    """Return what the theory says in a comparison."""
    return f"all {comparison.cases}" if comparison.cases else number(comparison.theory)


def found_text(comparison: Comparison) -> str:
    """Return what was found in a comparison: a number, or how many cases are true.

    Without a standard error, of two numbers with the same digits it is how far they are apart.
    """
    c = comparison
    if c.cases:
        return f"{round(c.measured * c.cases)} of {c.cases}"
    if not math.isfinite(c.standard_error) and number(c.measured) == number(c.theory):
        return f"off by {number(c.gap, 2)}" if c.gap else "the same"
    return number(c.measured)


def words(quantity: str) -> str:
    """Return the name of a quantity for readers."""
    return NAMES.get(quantity) or _JOINED.sub(r"\1 ", quantity)


def subject(comparison: Comparison) -> Markup:
    """Return the subject of a comparison: the curve, if it has its own name, and the quantity."""
    quantity = maths(words(comparison.quantity))
    if comparison.curve == comparison.quantity:
        return quantity
    return maths(words(comparison.curve)) + ": " + quantity


def maths(text: str) -> Markup:
    """Return HTML in which η_q and α*_{pool} have an index, and d^{−1/2} an exponent."""

    def shifted(match: re.Match[str]) -> str:
        tag = "sub" if match[1] == "_" else "sup"
        return f"<{tag}>{match[2] or match[3]}</{tag}>"

    return Markup(INDEX.sub(shifted, str(escape(text))))


def inline(html: str) -> Markup:
    """Return paragraphs without their tags, to stand in a line."""
    return Markup(re.sub(r"</?p>", " ", html).strip())


def deviation(values: Sequence[float]) -> float:
    """Return the standard deviation of numbers; nan of fewer than two."""
    return float(np.std(values)) if len(values) > 1 else math.nan


FILTERS = {
    "expected": expected_text,
    "found": found_text,
    "inline": inline,
    "number": number,
    "g": lambda value, digits=6: f"{value:.{digits}g}".replace("-", "−"),
    "f": lambda value, digits: f"{value:.{digits}f}".replace("-", "−"),
    "percent": lambda value: "–" if math.isnan(value) else f"{100 * value:.2g} %",
    "pm": plus_minus,
    "change": functools.partial(plus_minus, sign="+"),
    "mean": lambda values: float(np.mean(values)) if values else math.nan,
    "deviation": deviation,
    "shifted": shifted,
    "words": words,
    "maths": maths,
    "subject": subject,
}
"""By their names in templates."""


MARKS = {
    ("reduced",): "Points: simulation, mean and one standard error.",
    ("tensors",): "Squares: measured with real tokens, mean and one standard error.",
    ("reduced", "tensors"): "Points: simulation, mean and one standard error. Squares: the same "
    "experiment with real tensors.",
}
"""What the marks of a figure are, by the engines that measured its rows."""

_HEADING = re.compile(r"^##? +(.*)$", re.MULTILINE)
_OPEN, _CLOSE = {"_": "\ue000", "^": "\ue001"}, {"_": "\ue002", "^": "\ue003"}
_TAGS = dict(zip("\ue000\ue001\ue002\ue003", ("<sub>", "<sup>", "</sub>", "</sup>"), strict=True))


def words_of(
    experiment: Experiment, sizes: Sizes, rows: Rows, comparisons: Sequence[Comparison]
) -> dict[str, Markup]:
    """Return the parts of the page of an experiment as HTML, by their headings.

    What stands under the title has the name Setting. Under Headline: CLAIM is one sentence of what
    was found; the experiments that have one stand at the top of the report. The template sees the
    constants of the module of `Experiment.judge`, which have names in capitals, its public
    functions, the sizes as `sizes`, `rows`, `findings`, ``compared(claim=...)``, the comparisons
    with such fields, `largest_z`, the largest |z| of some, and `marks`, the sentences that explain
    the marks of a figure.
    """

    def compared(**fields: Any) -> list[Comparison]:
        return [c for c in comparisons if all(getattr(c, n) == v for n, v in fields.items())]

    module = getattr(experiment.judge, "__globals__", {})
    home = module.get("__name__")
    own = {n for n, value in module.items() if getattr(value, "__module__", None) == home}
    seen = {n: value for n, value in module.items() if n.isupper() or (n in own and n[0] != "_")}
    seen |= {"sizes": sizes, "rows": rows, "marks": _marks(rows), "largest_z": largest_z}
    seen |= {"compared": compared, "findings": findings(experiment.claims, comparisons)}
    return parts_of(experiment.text, seen)


def parts_of(template: str, seen: Mapping[str, Any]) -> dict[str, Markup]:
    """Return the parts of a template of Markdown as HTML, by their headings."""
    # The parser of Markdown lets no HTML through.
    text = environment("experiments/core", False).from_string(template).render(**seen)
    _, _, *pieces = _HEADING.split(text)
    names = ["Setting", *(name.strip() for name in pieces[1::2])]
    return {name: markdown(part) for name, part in zip(names, pieces[0::2], strict=True)}


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
    lines = "Lines: theory, interpolated between the computed points."
    return f"{lines} {points} Error bars smaller than the points are hidden."


@functools.cache
def _parser() -> MarkdownIt:
    return MarkdownIt("commonmark", {"html": False}).enable("table")


@functools.cache
def environment(folder: str, autoescape: bool) -> jinja2.Environment:
    """Return the environment of templates in a folder of the package."""
    templates = jinja2.Environment(
        loader=jinja2.PackageLoader("sparsetoken", folder),
        autoescape=autoescape,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    templates.filters |= FILTERS
    return templates
