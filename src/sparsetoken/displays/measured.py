"""The learning curve of a classifier, measured by cross-validation."""

from __future__ import annotations

import numbers
from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Float, Int, Shaped

from sparsetoken.validation import InvalidInput, integer

LEAST = 3  # bags of each class that every classifier can be fitted to
Split = tuple[np.ndarray, np.ndarray]  # training bags, test bags


def read_splits(X: Any, y: np.ndarray, cv: Any) -> list[Split]:
    """Return the folds of an int or a splitter; those of an int are stratified.

    Raises
    ------
    InvalidInput
        If there is one class or one fold only.
    ValueError
        If y is of another length than X, or a class has fewer bags than folds.
    """
    from sklearn.model_selection import check_cv
    from sklearn.utils import check_consistent_length

    if isinstance(cv, numbers.Integral):
        cv = integer("cv", cv, 2)
    check_consistent_length(X, y)
    found = len(np.unique(y))
    if found < 2:
        raise InvalidInput("y", "of at least two classes", f"{found} class in {len(y)} labels")
    # Indices are enough: a splitter asks no more of bags than how many there are.
    splits = list(check_cv(cv, y, classifier=True).split(np.zeros(len(y)), y))
    if len(splits) < 2:
        raise InvalidInput("cv", "at least 2 folds", f"{len(splits)}")
    return splits


def read_sizes(
    sizes: Sequence[int] | None, splits: Sequence[Split], y: np.ndarray
) -> Int[np.ndarray, " m"]:
    """Return the numbers of training bags, in order and each once.

    Raises
    ------
    InvalidInput
        If one is above the smallest training set, or below three bags for each class, or a
        training set has fewer than three of a class.
    """
    most = min(len(train) for train, _ in splits)
    classes = np.unique(y)
    fewest = min(int((y[train] == label).sum()) for train, _ in splits for label in classes)
    if fewest < LEAST:
        legal = f"of at least {LEAST} bags of each class in every training set"
        raise InvalidInput("y", legal, fewest, "Use more folds, or stratified ones.")
    least = LEAST * len(classes)
    if sizes is None:
        return np.unique(np.geomspace(max(most // 10, least), most, 6).round().astype(int))
    remedy = f"{LEAST} bags of each class are needed; the smallest training set has {most}."
    checked = {integer("train_sizes", size, least, most, remedy) for size in sizes}
    if not checked:
        raise InvalidInput("train_sizes", "at least one number", sizes)
    return np.array(sorted(checked))


def measured_errors(
    estimator: Any,
    X: Any,
    y: np.ndarray,
    sizes: Int[np.ndarray, " m"],
    splits: Sequence[Split],
    random_state: int | None,
) -> Float[np.ndarray, "m folds"]:
    """Return the test errors, as `error_share` counts them, of copies of the estimator."""
    from sklearn.model_selection import cross_val_score
    from sklearn.utils import check_random_state

    rng = check_random_state(random_state)
    orders = [_stratified_order(y[train], rng) for train, _ in splits]
    return np.array(
        [
            cross_val_score(
                estimator,
                X,
                y,
                cv=[
                    (train[order[:size]], test)
                    for (train, test), order in zip(splits, orders, strict=True)
                ],
                scoring=error_share,
                error_score="raise",
            )
            for size in sizes
        ]
    )


def error_share(classifier: Any, X: Any, y: np.ndarray) -> float:
    """Return the fraction of misclassified bags.

    A score of exactly 0, between two classes, counts one half: it carries no information on the
    class, though `predict` has to name one.
    """
    wrong = (classifier.predict(X) != y).astype(float)
    two = len(getattr(classifier, "classes_", ())) == 2
    if two and hasattr(classifier, "decision_function"):
        wrong[np.asarray(classifier.decision_function(X)) == 0] = 0.5
    return float(wrong.mean())


def _stratified_order(
    y: Shaped[np.ndarray, " n"], rng: np.random.RandomState
) -> Int[np.ndarray, " n"]:
    """Return a random order in which every prefix is stratified by class.

    The first bags are three of each class in turn, so that the fewest that are taken can be
    fitted.
    """
    place = np.empty(len(y))
    for label in np.unique(y):
        rows = rng.permutation(np.flatnonzero(y == label))
        place[rows] = (np.arange(len(rows)) + 0.5) / len(rows)
        place[rows[:LEAST]] = np.arange(-LEAST, 0)[: len(rows)]
    return np.lexsort((rng.random(len(y)), place))
