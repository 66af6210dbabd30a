"""Words of a report: numbers and formulas as text, and paragraphs as HTML."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable

from markupsafe import Markup, escape

from sparsetoken.studies.compare import Comparison, Number

NAMES = {
    "cosine": "cos(q₂, ξ)",
    "readout_cosine": "cos(w₁, ξ)",
    "threshold": "capacity",
    "separable": "share separable",
    "auc": "AUC",
}
"""Of quantities, for readers."""

_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
_JOINED = re.compile(r"([a-z]{2,})_(?=[a-z]{2,})")
_MINUS = re.compile(r"(?<![\w.)])-(?=\d)")
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


def pm(one: Number, digits: int, sign: str = "") -> str:
    """Return a measured number and its standard error with `digits` decimals.

    There are more if the error needs them. The format of the sign is that of Python.
    """
    if 0 < one.error < 0.5 * 10.0**-digits:
        digits = min(math.ceil(-math.log10(one.error)), 12)
    return f"{one.value:{sign}.{digits}f} ± {one.error:.{digits}f}".replace("-", "−")


def listed(values: Iterable[float], form: str = "g") -> str:
    """Return numbers with commas."""
    return ", ".join(f"{value:{form}}" for value in values)


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
        gap = abs(c.measured - c.theory)
        return f"off by {number(gap, 2)}" if gap else "the same"
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
    """Return HTML in which η_q and α*_{pool} have an index, and d^{−1/2} an exponent.

    The sign of a number is a minus.
    """

    def shifted(match: re.Match[str]) -> str:
        tag = "sub" if match[1] == "_" else "sup"
        return f"<{tag}>{match[2] or match[3]}</{tag}>"

    return Markup(INDEX.sub(shifted, str(escape(_MINUS.sub("−", text)))))


def paragraphs(text: str) -> Markup:
    """Return paragraphs as HTML; a blank line is between two."""
    parts = (part.strip() for part in text.split("\n\n"))
    return Markup("\n").join(Markup("<p>") + maths(part) + Markup("</p>") for part in parts if part)


FILTERS = {
    "expected": expected_text,
    "found": found_text,
    "number": number,
    "percent": lambda value: "–" if math.isnan(value) else f"{100 * value:.2g} %",
    "shifted": shifted,
    "words": words,
    "maths": maths,
    "paragraphs": paragraphs,
    "subject": subject,
}
"""By their names in the template of the report."""
