"""Bags and two-class labels, checked for the advice."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
from jaxtyping import Bool

from sparsetoken.bags import Bags, as_bags
from sparsetoken.estimators.labels import read_targets
from sparsetoken.validation import InvalidInput

__all__ = ["LEAST_BAGS", "Labelled", "read_labelled"]

LEAST_BAGS = 10  # of each class: two in each of the folds
_SAFE = 1e-6  # of the largest value whose square is finite, so that sums of squares are too


@dataclasses.dataclass(frozen=True)
class Labelled:
    """Bags of two classes.

    Attributes
    ----------
    bags : Bags
    positive : bool array of shape (n,)
    classes : array of shape (2,)
        The negative and the positive one.
    """

    bags: Bags
    positive: Bool[np.ndarray, " n"]
    classes: np.ndarray


def read_labelled(bags: Any, y: Any, pos_label: Any = None) -> Labelled:
    """Check bags and labels.

    Raises
    ------
    ValueError
        If tokens are not finite or too large to be squared, a bag is empty, lengths do not
        match, there are not exactly two classes, a class has fewer than 10 bags, all tokens are
        equal, or `pos_label` is not one of the classes.
    """
    read = as_bags(bags)
    _check_size(read)
    targets = read_targets(read, y, None, None)
    if len(targets.classes) != 2:
        remedy = "Compare one class with the rest."
        raise InvalidInput("y", "of two classes", f"{len(targets.classes)} classes", remedy)
    counts = np.bincount(targets.number)
    if counts.min() < LEAST_BAGS:
        rare = targets.classes[counts.argmin()]
        got = f"{counts.min()} of class {rare}"
        remedy = f"{LEAST_BAGS - counts.min()} more are needed."
        raise InvalidInput("bags", f"at least {LEAST_BAGS} of each class", got, remedy)
    if (read.tokens == read.tokens[0]).all():
        raise InvalidInput("bags", "of tokens that are not all equal", "equal tokens")
    positive = _positive(targets.classes, pos_label)
    classes = targets.classes[[1 - positive, positive]]
    return Labelled(read, targets.number == positive, classes)


def _positive(classes: np.ndarray, pos_label: Any) -> int:
    """Return the number of the positive class, by default the second."""
    if pos_label is None:
        return 1
    found = [i for i, label in enumerate(classes.tolist()) if label == pos_label]
    if not found:
        raise InvalidInput("pos_label", f"one of {classes.tolist()}", pos_label)
    return found[0]


def _check_size(bags: Bags) -> None:
    most = float(_SAFE * np.sqrt(np.finfo(bags.dtype).max))
    largest = float(np.abs(bags.tokens).max())
    if largest > most:
        legal = f"of values up to {most:.2g} (in {bags.dtype})"
        raise InvalidInput("bags", legal, f"{largest:.3g}", "Scale the columns, as TokenScaler.")
