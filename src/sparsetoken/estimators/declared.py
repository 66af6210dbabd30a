"""Fitted attributes, which the annotations of a class declare: their names begin or end with "_".

A size with a name, as K and d of ``Float[np.ndarray, "K d"]``, is the same in all attributes of an
estimator. Numbers are finite and no attribute is missing, unless an annotation says so.
"""

from __future__ import annotations

import re
import types
import typing
from collections.abc import Iterator, Mapping
from numbers import Integral, Real
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from sparsetoken.base.files import refused
from sparsetoken.base.validation import InvalidInput

NOT_FINITE = "or nan, or infinite"
MISSING = "or missing"


def check_declared(model: Any, path: Path) -> None:
    """Raise `InvalidInput` unless the estimators of a model have what their classes declare.

    Those of this package are checked at any depth. The path is that of the file with the model.
    """
    for one, fitted in _estimators(model):
        hints = typing.get_type_hints(type(one), include_extras=True)
        hints = {name: hint for name, hint in hints.items() if _is_fitted(name, hint)}
        if not (fitted or hints.keys() & vars(one).keys()):  # a parameter of another one
            continue
        for name in one._get_param_names():
            _require(one, name, Any, path, {})
        for name, hint in hints.items():
            _require(one, name, hint, path, {})
        with refused(f"the {type(one).__name__} in {path.name}", "a fitted estimator", path):
            sizes: dict[str, int] = one._sizes()
        for name, hint in hints.items():
            _require(one, name, hint, path, sizes)


def _estimators(value: Any, fitted: bool = False) -> Iterator[tuple[Any, bool]]:
    """Yield the estimators of this package in a value, and whether each is part of a fit."""
    if isinstance(value, BaseEstimator):
        if type(value).__module__.startswith(f"{__package__}."):
            yield value, fitted
        for name, part in vars(value).items():
            yield from _estimators(part, name.endswith("_"))
    if isinstance(value, Mapping):
        value = list(value.values())
    for one in value if isinstance(value, list | tuple) else ():
        yield from _estimators(one, fitted)


def _is_fitted(name: str, hint: Any) -> bool:
    return "_" in (name[0], name[-1]) and typing.get_origin(hint) is not typing.ClassVar


def _require(estimator: Any, name: str, hint: Any, path: Path, sizes: dict[str, int]) -> None:
    """Raise `InvalidInput` unless an attribute is as declared; sizes are what they were first."""
    allowed = getattr(hint, "__metadata__", ())
    hint, finite = hint.__origin__ if allowed else hint, NOT_FINITE not in allowed
    value = getattr(estimator, name, MISSING)
    if MISSING in allowed if value is MISSING else _fits(value, hint, finite, sizes):
        return
    legal = "there" if hint is Any else hint.__name__ if isinstance(hint, type) else str(hint)
    legal = f"{'finite, ' if 'loat' in legal and finite else ''}{legal}"
    known = [f"{size} = {sizes[size]}" for size in sizes if re.search(rf"\b{size}\b", legal)]
    legal += f" with {', '.join(known)}" if known else ""
    whose = f"{name} of {type(estimator).__name__} in {path.name}"
    raise InvalidInput(whose, legal, _described(value), "Fit the model and save it again.")


def _fits(value: Any, hint: Any, finite: bool, sizes: dict[str, int]) -> bool:
    kind, parts = typing.get_origin(hint), typing.get_args(hint)
    if hint is Any:
        return True
    if kind in (types.UnionType, typing.Union):
        return any(_fits(value, one, finite, sizes) for one in parts)
    if kind is typing.Literal:
        return isinstance(value, str) and value in parts
    if kind in (list, dict):
        held = value.values() if isinstance(value, dict) else value
        return isinstance(value, kind) and all(_fits(one, parts[-1], finite, sizes) for one in held)
    if hint in (int, float):
        hint = Integral if hint is int else Real
    if not isinstance(value, hint) or (isinstance(value, bool) and hint is not bool):
        return False
    number = isinstance(value, Real) or getattr(getattr(value, "dtype", None), "kind", "") == "f"
    if finite and number and not np.isfinite(value).all():
        return False
    names = getattr(hint, "dim_str", "").split()  # numbers among them are checked above
    named = zip(names, value.shape if names else (), strict=True)
    return all(sizes.setdefault(name, size) == size for name, size in named if name.isalpha())


def _described(value: Any) -> str:
    """Return what is there, in few words."""
    if not isinstance(value, np.ndarray):
        return "nothing" if value is MISSING else f"{type(value).__name__} {value!r}"
    infinite = value.dtype.kind == "f" and not np.isfinite(value).all()
    return f"{value.dtype} of shape {value.shape}{', not finite' if infinite else ''}"
