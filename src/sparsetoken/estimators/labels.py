"""Class labels, numbers to predict, and weights of samples, checked."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from jaxtyping import Float
from sklearn.utils import assert_all_finite
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_consistent_length, column_or_1d

from sparsetoken.bags import Bags
from sparsetoken.bags.convert import as_floats, check_labels, refuse_missing
from sparsetoken.base.validation import InvalidInput
from sparsetoken.estimators.fitting.samples import ClassTargets, RealTargets, effective_weights

LARGEST_TARGET = 1e100  # squares stay finite


def read_targets(bags: Bags, y: Any, sample_weight: Any, class_weight: Any) -> ClassTargets:
    """Check labels and weights against the bags.

    Raises
    ------
    ValueError
        If y is missing, masked, of another length, not of classes, or of one class only; or if
        weights are of another length, negative or not finite, or for a class that y lacks.
    """
    if y is None:
        raise ValueError("This classifier requires y to be passed, but the target y is None.")
    check_labels(y)
    y = column_or_1d(y, warn=True)
    check_consistent_length(bags, y)
    if y.dtype.kind == "f":
        assert_all_finite(y, input_name="y")
    try:
        check_classification_targets(y)
    except ValueError as error:
        remedy = "BagRegressor predicts numbers."
        raise InvalidInput("y", "of class labels", str(error), remedy) from None
    weight = read_weights(bags, sample_weight)
    used = weight > 0
    classes, number = np.unique(y[used], return_inverse=True)
    if len(classes) < 2:
        got = f"1 class, {classes[0]}" if len(classes) else "no weight on any class"
        raise InvalidInput("y", "of at least two classes with weight", got)
    if isinstance(class_weight, dict):
        _refuse_unknown(class_weight, np.unique(y).tolist())
    return ClassTargets(
        used=used,
        weight=effective_weights(weight[used]),
        classes=classes,
        number=number,
        class_weight=_class_weights(class_weight, classes),
    )


def read_numbers(bags: Bags, y: Any, sample_weight: Any) -> RealTargets:
    """Check numbers to predict and weights against the bags.

    Raises
    ------
    ValueError
        If y is missing, masked, of another length, or not of finite numbers of a magnitude that
        can be squared; or if weights are of another length, negative, not finite, or all 0.
    """
    if y is None:
        raise ValueError("This regressor requires y to be passed, but the target y is None.")
    y = column_or_1d(as_floats(y, np.float64, "y"), warn=True)
    check_consistent_length(bags, y)
    refuse_missing(y, range(len(y)))
    assert_all_finite(y, input_name="y")
    if np.abs(y).max() > LARGEST_TARGET:
        legal = f"of magnitude at most {LARGEST_TARGET:g}"
        raise InvalidInput("y", legal, f"{np.abs(y).max():.3g}", "Take other units.")
    weight = read_weights(bags, sample_weight)
    used = weight > 0
    if not used.any():
        raise InvalidInput("sample_weight", "of at least one bag > 0", "all 0")
    return RealTargets.of(used, effective_weights(weight[used]), y[used])


def read_weights(bags: Bags, sample_weight: Any) -> Float[np.ndarray, " n"]:
    """Return one weight for each bag, 1 by default.

    Raises
    ------
    ValueError
        If weights are of another length, negative, masked or not finite.
    """
    if sample_weight is not None:
        given = as_floats(sample_weight, np.float64, "sample_weight")
        sample_weight = given if given.ndim else given.item()
    return _check_sample_weight(sample_weight, bags, dtype=np.float64, ensure_non_negative=True)


def _refuse_unknown(class_weight: dict, classes: list) -> None:
    unknown = [key for key in class_weight if key not in classes]
    if unknown:
        legal = f"a dict with keys among the classes of y, {classes}"
        raise InvalidInput("class_weight", legal, f"keys {unknown}")


def _class_weights(class_weight: Any, classes: np.ndarray) -> np.ndarray | Literal["balanced"]:
    """Return the weight of each class, or 'balanced'."""
    if class_weight is None:
        return np.ones(len(classes))
    if isinstance(class_weight, str) and class_weight == "balanced":
        return "balanced"
    if isinstance(class_weight, dict):
        weights = np.array([float(class_weight.get(c, 1.0)) for c in classes.tolist()])
        if np.isfinite(weights).all() and (weights > 0).all():
            return weights
    legal = "None, 'balanced' or a dict from class to a weight > 0"
    raise InvalidInput("class_weight", legal, class_weight)
