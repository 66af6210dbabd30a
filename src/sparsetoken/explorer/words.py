"""Sentences of the library in the words and symbols of the page."""

from __future__ import annotations

import re

from sparsetoken.base.validation import InvalidInput
from sparsetoken.explorer.settings import PARAMETERS

NAMES = ("alpha0", "alpha1", "eta_w", "eta_b", "eta_q", "beta", "positive_rate")
"""Parameters whose names are no words of English."""
_WORDS = {
    each.name: f"${each.symbol}$ ({each.label})" for each in PARAMETERS if each.name in NAMES
} | {
    "squared_hinge": "squared hinge",
    "start_overlaps": "overlaps at the start",
    "start_cosines": "cosines of the columns at the start",
    "sparsetoken.simulation.descend": "a simulation",
    "st.simulation.is_separable": "simulations",
}
_CODE = re.compile(rf"(?<![\w.])({'|'.join(map(re.escape, _WORDS))})(?!\w)")


def worded(text: str) -> str:
    """Return a sentence with symbols and labels, formulas between $, in place of names of code."""
    return _CODE.sub(lambda found: _WORDS[found[1]], text)


def refusal(error: InvalidInput) -> str:
    """Return the message of a refusal, without what is neither a number nor a word."""
    name, legal, got, remedy = error.args
    shown = isinstance(got, int | float | str)
    return worded(str(error) if shown else f"{name} must be {legal}. {remedy}".rstrip())
