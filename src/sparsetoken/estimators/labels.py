"""Class labels of any kind and weights of samples, checked."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from jaxtyping import Float
from sklearn.utils import assert_all_finite
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_consistent_length, column_or_1d

from sparsetoken.bags import Bags
from sparsetoken.bags.convert import as_floats, check_labels
from sparsetoken.fitting.samples import Targets
from sparsetoken.validation import InvalidInput


def read_targets(bags: Bags, y: Any, sample_weight: Any, class_weight: Any) -> Targets:
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
    check_classification_targets(y)
    weight = read_weights(bags, sample_weight)
    used = weight > 0
    classes, number = np.unique(y[used], return_inverse=True)
    if len(classes) < 2:
        got = f"1 class, {classes[0]}" if len(classes) else "no weight on any class"
        raise InvalidInput("y", "of at least two classes with weight", got)
    if isinstance(class_weight, dict):
        _refuse_unknown(class_weight, np.unique(y).tolist())
    return Targets(used, classes, number, weight[used], _class_weights(class_weight, classes))


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
