"""Scores of a saved model on labelled bags, by bag and by group."""

from __future__ import annotations

from typing import Any

import numpy as np
from jaxtyping import Float, Int, Shaped
from sklearn.metrics import (
    average_precision_score,
    log_loss,
    mean_absolute_error,
    r2_score,
    roc_auc_score,
    root_mean_squared_error,
)

from sparsetoken.bags import LabelledBags
from sparsetoken.bags.labels import some
from sparsetoken.base.validation import InvalidInput
from sparsetoken.estimators.fitting.targets import read_numbers
from sparsetoken.estimators.thresholds import positive_place

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
    values = [np.nan if one is None else one for one in rows.values()]
    table = {"score": np.array([*rows]), "value": np.array(values, float)}
    if "positive" in scores:
        table["positive"] = np.full(len(rows), scores["positive"])
    return table


def _means(values: Float[np.ndarray, "n m"], groups: Any) -> Float[np.ndarray, "G m"]:
    """Return the mean over the bags of each group."""
    number = np.unique(groups, return_inverse=True)[1]
    sums = np.stack([np.bincount(number, one) for one in values.T], axis=1)
    return sums / np.bincount(number)[:, None]


def _number_scores(estimator: Any, data: LabelledBags, _: str) -> tuple[Scores, list[str]]:
    y, predicted = read_numbers(data.bags, data.y, None).given, estimator.predict(data.bags)
    values = {"bags": len(y), **_of_numbers(y, predicted)}
    if data.groups is not None:
        means = _means(np.column_stack([y, predicted]), data.groups)
        values["group_scores"] = {"groups": len(means), **_of_numbers(*means.T)}
    return values, [] if len(y) > 1 else ["R^2 is not defined for one bag."]


def _of_numbers(y: Float[np.ndarray, " n"], predicted: Float[np.ndarray, " n"]) -> Scores:
    return {
        "r2": r2_score(y, predicted) if len(y) > 1 else None,
        "root_mean_squared_error": root_mean_squared_error(y, predicted),
        "mean_absolute_error": mean_absolute_error(y, predicted),
    }


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
    values |= _of_classes(y, predicted, chances, ranks, classes, place)
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
            **_of_classes(y, predicted, chances, ranks, classes, place),
        }
    return values, told


def _of_classes(
    y: Int[np.ndarray, " n"],
    predicted: Int[np.ndarray, " n"],
    chances: Float[np.ndarray, "n C"] | None,
    ranks: np.ndarray | None,
    classes: Shaped[np.ndarray, " C"],
    place: int,
) -> Scores:
    """Return scores of numbers of classes: None where there are no bags, or probabilities, for it.

    Ranks are scores of the second of two classes, and the place is that of the positive one; of
    more classes they are the probabilities.
    """
    every, two = np.arange(len(classes)), len(classes) == 2
    recalls = [(predicted[y == c] == c).mean() if c in y else None for c in every]
    auc = precision = None
    if ranks is not None and None not in recalls:
        truth = y == place if two else y[:, None] == every
        ranks = ranks * (2 * place - 1) if two else ranks
        auc, precision = roc_auc_score(truth, ranks), average_precision_score(truth, ranks)
    return {
        "trivial_accuracy": np.bincount(y).max() / len(y),
        "accuracy": (predicted == y).mean(),
        "balanced_accuracy": np.mean([one for one in recalls if one is not None]),
        **({"specificity": recalls[1 - place], "sensitivity": recalls[place]} if two else {}),
        "auc": auc,
        "average_precision": precision,
        "log_loss": None if chances is None else log_loss(y, chances, labels=every),
    }
