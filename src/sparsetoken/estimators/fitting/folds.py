"""Folds of bags: stratified and seeded, with a clear error when there are too few."""

from __future__ import annotations

import numpy as np
from jaxtyping import Int, Shaped

from sparsetoken.base.validation import InvalidInput


def fold_numbers(
    y: Shaped[np.ndarray, " n"], n_folds: int, rng: np.random.RandomState
) -> Int[np.ndarray, " n"]:
    """Return the fold of each bag; every fold has its share of each class.

    With fewer than `n_folds` bags in a class there are as many folds as that class has bags.

    Raises
    ------
    InvalidInput
        If a class has one bag only, or there is one bag only.
    """
    classes, index = np.unique(y, return_inverse=True)
    counts = np.bincount(index)
    if counts.min() < 2:
        several = len(classes) > 1
        got = f"1 bag of class {classes[counts.argmin()]}" if several else "1 bag"
        legal = f"of at least 2 bags{' of each class' if several else ''}, to cross-fit the query"
        remedy = "Take more bags, leave this class out, or take mean pooling, which needs only one."
        raise InvalidInput("y", legal, got, remedy if several else "Mean pooling needs only one.")
    folds = np.empty(len(y), dtype=int)
    n_folds, start = min(n_folds, int(counts.min())), 0
    for c in range(len(classes)):
        rows = rng.permutation(np.flatnonzero(index == c))
        # Each class goes on where the last one stopped, so that folds have equal sizes.
        folds[rows] = (start + np.arange(len(rows))) % n_folds
        start += len(rows)
    return folds
