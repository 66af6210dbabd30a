"""Folds of a cross-validation, in which every class has its share and groups are whole."""

from __future__ import annotations

import warnings

import numpy as np
from jaxtyping import Int, Shaped

from sparsetoken.base.validation import InvalidInput
from sparsetoken.estimators.fitting.targets import counts_of_classes


def fold_numbers(
    y: Shaped[np.ndarray, " n"],
    n_folds: int,
    rng: np.random.RandomState,
    groups: Int[np.ndarray, " n"] | None = None,
) -> Int[np.ndarray, " n"]:
    """Return the fold of each bag; every fold has its share of each class, and whole groups.

    With fewer than `n_folds` bags or groups of a class there are as many folds as that class has,
    and with groups fewer, at least half as many, where these divide the groups of each class. A
    class of one bag or one group does not count: the bags of its fold are scored without it.

    Raises
    ------
    InvalidInput
        If there is one bag or one group only.
    """
    classes, index = np.unique(y, return_inverse=True)
    counts = counts_of_classes(index, groups)
    if len(y) < 2 or (groups is not None and groups.min() == groups.max()):
        what = "bag" if groups is None else "group"
        legal = f"of at least 2 {what}s, to cross-fit the query"
        raise InvalidInput("y", legal, f"1 {what}", "Mean pooling needs only one.")
    counts = counts[counts > 1]
    if not len(counts):
        return np.unique(y if groups is None else groups, return_inverse=True)[1] % 2
    n_folds, start = min(n_folds, int(counts.min())), 0
    if groups is not None:
        # In folds of other class rates a class rate would predict the wrong class.
        least = max((n_folds + 1) // 2, 2)
        even = (k for k in range(n_folds, least - 1, -1) if not (counts % k).any())
        return _of_groups(index, next(even, n_folds), rng, groups)
    folds = np.empty(len(y), dtype=int)
    for c in range(len(classes)):
        rows = rng.permutation(np.flatnonzero(index == c))
        # Each class goes on where the last one stopped, so that folds have equal sizes.
        folds[rows] = (start + np.arange(len(rows))) % n_folds
        start += len(rows)
    return folds


def _of_groups(
    number: Int[np.ndarray, " n"],
    n_folds: int,
    rng: np.random.RandomState,
    groups: Int[np.ndarray, " n"],
) -> Int[np.ndarray, " n"]:
    """Return folds of whole groups, so few that every class is outside of each of them.

    A class of one group cannot be.
    """
    from sklearn.model_selection import StratifiedGroupKFold

    several = np.flatnonzero(counts_of_classes(number, groups) > 1)
    for k in range(n_folds, 1, -1):
        splits = StratifiedGroupKFold(k, shuffle=True, random_state=rng)
        folds, whole = np.empty(len(number), dtype=int), True
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "The least populated class")
            for fold, (others, inside) in enumerate(splits.split(number, number, groups)):
                folds[inside] = fold
                whole &= len(others) > 0 and bool(np.isin(several, number[others]).all())
        if whole:
            return folds
    legal = "in which two folds of whole groups have bags of every class"
    raise InvalidInput("groups", legal, "none", "Take more groups, or leave a class out.")
