"""Bags and two-class labels, checked for a forecast."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
from jaxtyping import Bool

from sparsetoken.bags import Bags, as_bags
from sparsetoken.estimators.labels import read_targets
from sparsetoken.validation import InvalidInput

LEAST_BAGS = 10  # of each class: one in each of ten folds
_SAFE = 1e-6  # of the largest value whose square is finite, so that sums of squares are too


@dataclasses.dataclass(frozen=True)
class Labelled:
    """Bags of two classes.

    Attributes
    ----------
    bags : Bags
    positive : bool array of shape (n,)
    classes : array of shape (2,)
        In order; the second is the positive one.
    """

    bags: Bags
    positive: Bool[np.ndarray, " n"]
    classes: np.ndarray


def read_labelled(bags: Any, y: Any) -> Labelled:
    """Check bags and labels.

    Raises
    ------
    ValueError
        If tokens are not finite or too large to be squared, a bag is empty, lengths do not
        match, there are not exactly two classes, a class has fewer than 10 bags, or all tokens
        are equal.
    """
    read = as_bags(bags)
    _check_size(read)
    targets = read_targets(read, y, None, None)
    if len(targets.classes) != 2:
        remedy = "Compare one class with the rest: y == label."
        raise InvalidInput("y", "of two classes", f"{len(targets.classes)} classes", remedy)
    counts = np.bincount(targets.number)
    if counts.min() < LEAST_BAGS:
        rare = targets.classes[counts.argmin()]
        got = f"{counts.min()} of class {rare}"
        remedy = f"{LEAST_BAGS - counts.min()} more are needed."
        raise InvalidInput("bags", f"at least {LEAST_BAGS} of each class", got, remedy)
    if (read.tokens == read.tokens[0]).all():
        raise InvalidInput("bags", "of tokens that are not all equal", "equal tokens")
    return Labelled(read, targets.number == 1, targets.classes)


def _check_size(bags: Bags) -> None:
    most = float(_SAFE * np.sqrt(np.finfo(bags.dtype).max))
    largest = float(np.abs(bags.tokens).max())
    if largest > most:
        legal = f"of values up to {most:.2g} (in {bags.dtype})"
        raise InvalidInput("bags", legal, f"{largest:.3g}", "Scale the columns.")
