"""The learning curve of a classifier: measured by cross-validation, or given and checked."""

from __future__ import annotations

import numbers
from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Float, Int, Shaped

from sparsetoken.bags.convert import as_floats
from sparsetoken.validation import InvalidInput, generator_of, integer

LEAST = 3  # bags of each class that every classifier can be fitted to
Split = tuple[np.ndarray, np.ndarray]  # training bags, test bags


def read_splits(X: Any, y: np.ndarray, cv: Any) -> list[Split]:
    """Return the folds of an int or a splitter; those of an int are stratified."""
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
    """Return the numbers of training bags, in order and each once."""
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

    rng = generator_of(random_state)
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


def rising(name: str, values: Any) -> Float[np.ndarray, " m"]:
    """Return rising numbers > 0, or raise `InvalidInput`."""
    given = as_floats(values, float, name)
    if given.ndim != 1 or not given.size or not (given > 0).all() or (np.diff(given) <= 0).any():
        raise InvalidInput(name, "rising numbers > 0, an array of shape (m,)", values)
    return given


def read_errors(errors: Any, m: int) -> Float[np.ndarray, "m folds"]:
    """Return the errors of m sizes and at least two folds, or raise `InvalidInput`."""
    given = as_floats(errors, float, "test_errors")
    fits = given.ndim == 2 and len(given) == m and given.shape[1] > 1
    if not fits or not ((given >= 0) & (given <= 1)).all():
        legal = f"an array of shape ({m}, folds >= 2) with values in [0, 1]"
        raise InvalidInput("test_errors", legal, f"shape {given.shape}, or values outside")
    return given


def read_curve(sizes: Any, errors: Any) -> tuple[np.ndarray, np.ndarray] | tuple[None, None]:
    """Return sizes and errors of one length, or two times None, or raise `InvalidInput`."""
    if sizes is None and errors is None:
        return None, None
    legal = "both given or both None, of one length, with errors in [0, 1] or nan"
    if sizes is None or errors is None:
        missing = "predicted_sizes" if sizes is None else "predicted_errors"
        raise InvalidInput("predicted_sizes and predicted_errors", legal, f"no {missing}")
    x, value = rising("predicted_sizes", sizes), as_floats(errors, float, "predicted_errors")
    inside = np.isnan(value) | ((value >= 0) & (value <= 1))
    if value.shape != x.shape or not inside.all():
        got = f"shapes {x.shape} and {value.shape}, or errors outside"
        raise InvalidInput("predicted_sizes and predicted_errors", legal, got)
    return x, value
