"""Splits of bags: stratified and seeded, with a clear error when there are too few."""

from __future__ import annotations

import numpy as np
from jaxtyping import Bool, Int, Shaped

from sparsetoken.validation import InvalidInput


def fold_numbers(
    y: Shaped[np.ndarray, " n"], n_folds: int, rng: np.random.RandomState
) -> Int[np.ndarray, " n"]:
    """Return the fold of each bag; every fold has its share of each class.

    With fewer than `n_folds` bags in a class there are as many folds as that class has bags.

    Raises
    ------
    InvalidInput
        If a class has one bag only.
    """
    classes, index = np.unique(y, return_inverse=True)
    counts = np.bincount(index)
    if counts.min() < 2:
        raise InvalidInput(
            "y",
            "of at least 2 bags of each class, to cross-fit the query",
            f"{counts.min()} of one class (n_samples = {len(y)})",
            "PooledLinearClassifier needs only one.",
        )
    folds = np.empty(len(y), dtype=int)
    n_folds, start = min(n_folds, int(counts.min())), 0
    for c in range(len(classes)):
        rows = rng.permutation(np.flatnonzero(index == c))
        # Each class goes on where the last one stopped, so that folds have equal sizes.
        folds[rows] = (start + np.arange(len(rows))) % n_folds
        start += len(rows)
    return folds


def split_in_two(
    y: Shaped[np.ndarray, " n"], share: float, rng: np.random.RandomState
) -> Bool[np.ndarray, " n"]:
    """Return which bags are in D0: the given share of each class, and at least one.

    Raises
    ------
    InvalidInput
        If a class has too few bags for one in D0 and two in D1.
    """
    first = np.zeros(len(y), dtype=bool)
    for c in np.unique(y):
        rows = rng.permutation(np.flatnonzero(y == c))
        if len(rows) < 3:
            raise InvalidInput(
                "y",
                "of at least 3 bags of each class, one for D0 and two for D1",
                f"{len(rows)} of one class (n_samples = {len(y)})",
                "training='cross_fit' or 'tied' needs only 2.",
            )
        count = min(max(round(share * len(rows)), 1), len(rows) - 2)
        first[rows[:count]] = True
    return first
