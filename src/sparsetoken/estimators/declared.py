"""Fitted attributes against the declarations in their classes: kinds, shapes, finite numbers."""

from __future__ import annotations

import types
import typing
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float
from sklearn.base import BaseEstimator

from sparsetoken.bags.keys import read_labels
from sparsetoken.base.untrusted import check_text
from sparsetoken.base.validation import InvalidInput

_ANY_NUMBERS = ("gain_", "left_out_scores_", "member_losses_", "ridge_")
"""Fitted attributes that are looked at alone, and may be infinite or nan."""

_DECLARED: dict[str, dict[str, Any]] = {
    "sklearn.dummy.DummyClassifier": {"class_prior_": Float[np.ndarray, " C"]},
    "sklearn.dummy.DummyRegressor": {"constant_": Float[np.ndarray, "1 1"]},
}


def check_fitted(model: Any, path: Path) -> None:
    """Raise `InvalidInput` unless the estimators in a saved model are as fits leave them."""
    for one in _estimators(model):
        _check(one, path)


def _estimators(value: Any) -> Iterator[Any]:
    """Yield the estimators of a value, the parts of an estimator included."""
    if isinstance(value, BaseEstimator):
        yield value
        value = vars(value)
    if isinstance(value, Mapping):
        value = value.values()
    elif not isinstance(value, list | tuple):
        return
    for one in value:
        yield from _estimators(one)


def _check(estimator: Any, path: Path) -> None:
    """Raise an error unless each fitted attribute is of its declared kind and shape, and finite.

    Attributes of scikit-learn are declared for what the estimators of this package fit without
    asking. An estimator without any of them is not fitted: a parameter of another one.
    """
    kind = type(estimator)
    name, full = kind.__name__, f"{kind.__module__}.{kind.__name__}"
    own = full.startswith(f"{__package__}.")
    hints = typing.get_type_hints(kind) if own else _DECLARED.get(full, {})
    hints = {each: hint for each, hint in hints.items() if each.endswith("_") and each[0] != "_"}
    values = {each: getattr(estimator, each) for each in hints if hasattr(estimator, each)}
    if not values:
        return
    if missing := sorted(hints.keys() - values.keys()):
        got = f"{path}, {name} without {', '.join(missing)}"
        remedy = "Another version saved it: fit and save it again."
        raise InvalidInput("MODEL", "an estimator that this version saved", got, remedy)
    sizes = _sizes(estimator, path)
    names = getattr(estimator, "feature_names_in_", None)
    if names is not None and not _are_names(names, sizes["d"]):
        got = f"{path}, {name} with feature_names_in_ {_described(names)}"
        raise InvalidInput("MODEL", "an estimator with a name for each column", got)
    for each, hint in hints.items():
        one = values[each]
        if not _is_of(one, hint, sizes) or (each not in _ANY_NUMBERS and not _finite(one)):
            got = f"{path}, {name} with {each} {_described(one)}"
            legal = "an estimator whose fitted attributes are finite and of their shapes"
            raise InvalidInput("MODEL", legal, got, "Fit and save it again.")


def _sizes(estimator: Any, path: Path) -> dict[str, int]:
    """Return the sizes of a fitted estimator by the letters of its declarations."""
    columns = 1
    sizes = {}
    if hasattr(estimator, "classes_"):
        classes = read_labels(estimator.classes_, f"classes of MODEL {path.name}")
        if classes.ndim != 1 or len(classes) < 2 or (classes[1:] <= classes[:-1]).any():
            got = f"{path} with classes {classes.tolist()} of shape {classes.shape}"
            raise InvalidInput("MODEL", "a classifier of two classes or more, in order", got)
        check_text(f"classes of MODEL {path.name}", classes)
        columns = 1 if len(classes) == 2 else len(classes)
        sizes["C"] = len(classes)
    if hasattr(estimator, "n_features_in_"):
        d = estimator.n_features_in_ // (getattr(estimator, "n_tokens", None) or 1)
        sizes |= {"d": d, "m": d * (getattr(estimator, "bag_size_", None) or 1)}
    if hasattr(estimator, "forest_"):
        sizes["features"] = estimator.forest_.n_features_in_
    if hasattr(estimator, "members_"):
        sizes["M"] = len(estimator.members_)
    if hasattr(estimator, "knots_"):
        sizes["k"] = len(estimator.knots_)
    return {"K": columns, **sizes}


def _is_of(value: Any, hint: Any, sizes: dict[str, int]) -> bool:
    """Whether a value is of the declared type; a letter has one size, and a float may be whole."""
    kind, kinds = typing.get_origin(hint), typing.get_args(hint)
    if kind in (typing.Union, types.UnionType):
        return any(_is_of(value, one, sizes) for one in kinds)
    if kind in (list, dict):
        entries = value if kind is list and isinstance(value, list) else []
        return isinstance(value, kind) and all(_is_of(one, kinds[0], sizes) for one in entries)
    if hint is not Any and not isinstance(value, float | int if hint is float else hint):
        return False
    letters = getattr(hint, "dim_str", "").split()  # of an array
    known = zip(letters, getattr(value, "shape", ())[: len(letters)], strict=True)
    return all(sizes.setdefault(one, size) == size for one, size in known if one.isalpha())


def _are_names(names: Any, d: int) -> bool:
    """Whether there is a text for each column, of a token or of a flattened table."""
    texts = isinstance(names, np.ndarray) and names.ndim == 1
    return texts and len(names) % d == 0 and all(isinstance(name, str) for name in names.tolist())


def _finite(value: Any) -> bool:
    values = value if isinstance(value, list) else [value]
    numbers = [one for one in values if isinstance(one, np.ndarray | float)]
    return all(np.isfinite(one).all() for one in numbers if np.asarray(one).dtype.kind == "f")


def _described(value: Any) -> str:
    if not isinstance(value, np.ndarray):
        return type(value).__name__
    infinite = "" if _finite(value) else ", not finite"
    return f"{value.dtype} of shape {value.shape}{infinite}"
