"""Scores of a saved model on labelled bags, by bag and by group."""

from __future__ import annotations

from typing import Any

import numpy as np
from jaxtyping import Float, Int
from sklearn.metrics import average_precision_score

from sparsetoken.bags import LabelledBags
from sparsetoken.bags.labels import some
from sparsetoken.base.validation import InvalidInput
from sparsetoken.estimators.fitting.targets import read_numbers
from sparsetoken.estimators.thresholds import positive_place
from sparsetoken.forecasting.scores import Bootstrap, Interval, class_scores, number_scores
from sparsetoken.numerics.ranks import placements

Scores = dict[str, Any]


def scores_of(estimator: Any, data: LabelledBags, positive: str) -> tuple[Scores, list[str]]:
    """Return how well an estimator predicts bags, and what to say of scores that are missing."""
    scores = _class_scores if hasattr(estimator, "classes_") else _number_scores
    return scores(estimator, data, positive)


def table_of(scores: Scores) -> dict[str, np.ndarray]:
    """Return scores as a table, with a row for each."""
    rows = {name: one for name, one in scores.items() if name not in ("positive", "group_scores")}
    for name, one in scores.get("group_scores", {}).items():
        rows[name if name == "groups" else f"group_{name}"] = one
    cells = [
        one.values() if isinstance(one, dict) else (np.nan if one is None else one, np.nan, np.nan)
        for one in rows.values()
    ]
    values = np.array([[*one] for one in cells], float).T
    table = {"score": np.array([*rows])}
    table |= dict(zip(("value", "low", "high"), values, strict=True))
    if "positive" in scores:
        table["positive"] = np.full(len(rows), scores["positive"])
    return table


def _means(values: Float[np.ndarray, "n m"], groups: Any) -> Float[np.ndarray, "G m"]:
    """Return the mean over the bags of each group."""
    number = np.unique(groups, return_inverse=True)[1]
    sums = np.stack([np.bincount(number, one) for one in values.T], axis=1)
    return sums / np.bincount(number)[:, None]


def _over(groups: Any, n: int) -> Bootstrap:
    """Return what intervals are over: bags, or groups if they have any."""
    return Bootstrap(n, None if groups is None else np.unique(groups, return_inverse=True)[1], 0)


def _known(scores: dict[str, Interval]) -> Scores:
    """Return scores as the value and the ends of its interval; None for what is not known."""
    return {name: None if np.isnan(one.value) else one._asdict() for name, one in scores.items()}


def _number_scores(estimator: Any, data: LabelledBags, _: str) -> tuple[Scores, list[str]]:
    y, predicted = read_numbers(data.bags, data.y, None).given, estimator.predict(data.bags)
    found = number_scores(y, predicted, _over(data.groups, len(y)))
    values = {"bags": len(y), **_known(found)}
    if data.groups is not None:
        means = _means(np.column_stack([y, predicted]), data.groups)
        found = number_scores(means[:, 0], means[:, 1], _over(None, len(means)))
        values["group_scores"] = {"groups": len(means), **_known(found)}
    return values, [] if len(y) > 1 else ["R^2 is not defined for one bag."]


def _class_scores(estimator: Any, data: LabelledBags, positive: str) -> tuple[Scores, list[str]]:
    classes = estimator.classes_
    named = {str(one): place for place, one in enumerate(classes.tolist())}
    if unknown := sorted(set(data.classes) - set(named)):
        legal = f"of the classes of the model, {', '.join(named)}"
        remedy = "For a model fitted with --positive, give the same --positive."
        raise InvalidInput("labels", legal, ", ".join(unknown), remedy)
    given = classes.tolist()[named[positive]] if positive in named else None
    own = getattr(estimator, "positive", None) if given is None else given
    place, two = positive_place(own, classes), len(classes) == 2
    y = np.array([named[one] for one in data.y.astype(str).tolist()])
    predicted = np.searchsorted(classes, estimator.predict(data.bags))
    chances = estimator.predict_proba(data.bags) if hasattr(estimator, "predict_proba") else None
    ranks = estimator.decision_function(data.bags) if two else chances
    values: Scores = {"bags": len(y)} | ({"positive": str(classes[place])} if two else {})
    over = _over(data.groups, len(y))
    values |= _of_classes(y, predicted, chances, ranks, len(classes), place, over)
    told = []
    if absent := [one for c, one in enumerate(classes) if c not in y]:
        why = f"they need bags of each class, there is none of {some(absent)}"
        told.append(f"No AUC and average precision: {why}.")
    elif ranks is None:
        why = "those of more than two classes are of probabilities, which MODEL does not give"
        told.append(f"No AUC and average precision: {why}.")
    if data.groups is not None:
        _, first, number = np.unique(data.groups, return_index=True, return_inverse=True)
        if chances is None or (y != y[first][number]).any():
            why = "bags of one differ in label" if chances is not None else "no probabilities"
            return values, [*told, f"No scores by group: {why}."]
        y, means = y[first], _means(chances, data.groups)
        chances = means / means.sum(axis=1, keepdims=True)  # of float32 they are only near 1
        predicted = chances.argmax(axis=1)
        if two:
            line = getattr(estimator, "threshold_", 0.5)
            own = positive_place(getattr(estimator, "positive", None), classes)
            predicted = np.where(chances[:, own] >= line, own, 1 - own)
        ranks = chances[:, 1] if two else chances
        values["group_scores"] = {
            "groups": len(y),
            **_of_classes(y, predicted, chances, ranks, len(classes), place, _over(None, len(y))),
        }
    return values, told


def _of_classes(
    y: Int[np.ndarray, " n"],
    predicted: Int[np.ndarray, " n"],
    chances: Float[np.ndarray, "n C"] | None,
    ranks: np.ndarray | None,
    C: int,
    place: int,
    over: Bootstrap,
) -> Scores:
    """Return scores of numbers of classes: None where there are no bags, or probabilities, for it.

    Ranks are scores of the second of two classes, and the place is that of the positive one; of
    more classes they are the probabilities.
    """
    truth, precision = (y[:, None] == (np.arange(C) if C > 2 else [1])), None
    placed = np.full(truth.shape, np.nan)
    if ranks is not None and len(np.unique(y)) == C:
        columns = zip(ranks.reshape(len(y), -1).T, truth.T, strict=True)
        placed = np.stack([placements(*column) for column in columns], axis=1)
        turned = place == 0 and C == 2
        precision = average_precision_score(truth != turned, -ranks if turned else ranks)
    return {
        "trivial_accuracy": np.bincount(y).max() / len(y),
        **_known(class_scores(y, predicted, chances, placed, over, place)),
        "average_precision": precision,
    }
