"""Thresholds and class rates as words of the command line: sensitivity:0.95, yes=0.1,no=0.9."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from sparsetoken.base.validation import InvalidInput

if TYPE_CHECKING:
    import numpy as np

    from sparsetoken.estimators.operating import Threshold


def threshold_given(text: str, classes: np.ndarray) -> Threshold:
    """Return the threshold that a text says, as `BagClassifier` takes it."""
    from sparsetoken.estimators.operating import AUTO, check_threshold

    if text == AUTO:
        return text
    names = _names(classes)
    if len(names) > 2:
        remedy = "--class-prior moves the probabilities of all classes."
        raise InvalidInput("threshold", "left out with more than two classes", text, remedy)
    kind, colon, rest = text.partition(":")
    try:
        threshold: Threshold
        if not colon:
            threshold = float(text)
        else:
            threshold = {kind: _by_class(rest, classes) if kind == "costs" else float(rest)}
        check_threshold(threshold, classes)
    except ValueError:
        legal = (
            "auto, a probability in (0, 1), sensitivity:SHARE or specificity:SHARE with a share in "
            f"(0, 1], or costs:{_form(names, 'COST')} with costs > 0"
        )
        remedy = f"sensitivity:0.95 finds 95% of the bags of {names[1]}."
        raise InvalidInput("threshold", legal, text, remedy) from None
    return threshold


def prior_given(text: str, classes: np.ndarray) -> dict[Any, float]:
    """Return the rate of each class that a text says, as `BagClassifier` takes it."""
    from sparsetoken.estimators.operating import read_prior

    try:
        prior = _by_class(text, classes)
        read_prior(prior, classes)
    except ValueError:
        legal = f"{_form(_names(classes), 'RATE')} with rates > 0 of sum 1"
        remedy = "Give the rate of every class at the site where the model will be used."
        raise InvalidInput("class_prior", legal, text, remedy) from None
    return prior


def _names(classes: np.ndarray) -> list[str]:
    return list(map(str, classes.tolist()))


def _form(names: list[str], what: str) -> str:
    return ",".join(f"{name}={what}" for name in names)


def _by_class(text: str, classes: np.ndarray) -> dict[Any, float]:
    """Return the number of each class in CLASS=NUMBER,CLASS=NUMBER, or raise a ValueError.

    Names of classes may have commas and equals signs.
    """
    of_name = dict(zip(_names(classes), classes.tolist(), strict=True))
    longest_first = sorted(of_name, key=len, reverse=True)
    entry = rf"\s*({'|'.join(map(re.escape, longest_first))})\s*=([^,=]*)"
    if not re.fullmatch(rf"{entry}(,{entry})*", text):
        raise ValueError(text)
    found = re.findall(rf"{entry}(?:,|$)", text)
    if sorted(name for name, _ in found) != sorted(of_name):
        raise ValueError(text)
    return {of_name[name]: float(number) for name, number in found}
