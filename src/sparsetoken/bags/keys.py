r"""The one reader of ids, labels and groups: values that differ in Python never become one.

NumPy alone would make ``"1"`` of 1, ``"a"`` of ``"a\0"`` and of b"a", and one float of two large
integers, where they stand in one list.
"""

from __future__ import annotations

import numbers
import unicodedata
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from jaxtyping import Bool

from sparsetoken.bags.convert import refuse_masked
from sparsetoken.base.validation import InvalidInput

_LEGAL = "of texts, integers, numbers or truth values, all of one kind"
_LABELS = "of texts or finite numbers, one for each bag"
_PLAIN: dict[type, Callable[[Any], Any]] = {
    bool: bool,
    str: str.__str__,  # of a member of an enum its value, where str() is its name
    bytes: bytes,
    int: int,
    float: float,
}
_EXACT = {
    str: "of texts that do not end in a null character",
    bytes: "of bytes that do not end in a null character",
    int: "of integers of at most 64 bits, or texts",
    float: "of numbers that floats of 64 bits hold",
}


def read_keys(values: Any, name: str) -> np.ndarray:
    """Return ids, labels or groups as an array, in which those that differ in Python differ.

    Values of one kind are taken: texts, bytes, truth values, numbers, or dates in an array
    of NumPy. Members of an enum of texts or integers are their values. The shape is kept.

    Raises
    ------
    InvalidInput
        If a value is missing or not finite, they are of several kinds or of another one, or NumPy
        does not hold a value as it is.

    Examples
    --------
    >>> from sparsetoken.bags.keys import read_keys
    >>> read_keys(["a", "b"], "groups").tolist()
    ['a', 'b']
    >>> read_keys(["1", 1], "groups")
    Traceback (most recent call last):
        ...
    sparsetoken.base.validation.InvalidInput: groups must be of texts, ...
    """
    array = of_one_kind(values, name)
    return _typed(array, name) if array.dtype == object else array


def read_labels(values: Any, name: str = "y", bag: Callable[[int], Any] = int) -> np.ndarray:
    """Return labels as `read_keys`, without bytes and dates; `bag` names the bag of a place."""
    array = listed(values, name)
    refuse_missing(array, name, bag)
    array = read_keys(array, name)
    if array.dtype.kind not in "biufU":
        raise InvalidInput(name, _LABELS, f"dtype {array.dtype}", "Give labels as texts.")
    return array


def composed(key: Any) -> Any:
    """Return an id as it is compared: letters with marks are one character, as macOS splits them.

    Examples
    --------
    >>> from sparsetoken.bags.keys import composed
    >>> len("e\u0301"), len(composed("e\u0301"))
    (2, 1)
    """
    return unicodedata.normalize("NFC", key) if isinstance(key, str) else key


def all_composed(array: np.ndarray) -> np.ndarray:
    """Return an array whose texts, if it has texts, are composed."""
    if array.dtype.kind != "U" or not array.size:
        return array
    return np.array([composed(one) for one in array.ravel().tolist()]).reshape(array.shape)


def refuse_alike(ids: Iterable[Any], name: str) -> None:
    """Raise `InvalidInput` for two ids that are the same text in other characters."""
    first: dict[Any, Any] = {}
    for one in ids:
        if first.setdefault(composed(one), one) != one:
            legal = "different texts however their letters are composed"
            raise InvalidInput(name, legal, f"{one!a} and {first[composed(one)]!a}")


def of_one_kind(values: Any, name: str) -> np.ndarray:
    """Return values, checked as by `read_keys`, as an array that holds Python's as they are."""
    array = listed(values, name)
    gone = missing(array)
    if gone.any():
        row = int(gone.argmax())
        raise InvalidInput(name, "without missing values", f"{array.flat[row]} in row {row}")
    if array.dtype == object:
        kinds = {_kind(each): each for each in set(map(type, array.flat))}
        if None in kinds or (len(kinds) > 1 and kinds.keys() != {int, float}):
            examples = {type(one).__name__: one for one in array.ravel()[::-1]}
            got = " and ".join(f"{kind} {one!r}" for kind, one in sorted(examples.items())[:3])
            raise InvalidInput(name, _LEGAL, got, "Give all of one kind, such as texts.")
    elif array.dtype.kind not in "biufUSM":
        raise InvalidInput(name, _LABELS, f"dtype {array.dtype}")
    elif array.dtype.kind == "f" and not np.isfinite(array).all():
        raise InvalidInput(name, _LABELS, "infinity")
    return array


def listed(values: Any, name: str) -> np.ndarray:
    """Return values as an array, of objects where NumPy would have to find a common type."""
    refuse_masked(name, values)
    try:
        array = np.asarray(values, None if hasattr(values, "__array__") else object)
    except ValueError:
        raise InvalidInput(name, "a list or an array", "rows of different lengths") from None
    return array.astype(object) if array.dtype.kind == "T" else array  # StringDType


def refuse_missing(labels: np.ndarray, name: str = "y", bag: Callable[[int], Any] = int) -> None:
    """Raise `InvalidInput` if a label is None or another missing value, and name its bag."""
    gone = missing(labels)
    if gone.any():
        at = int(gone.argmax())
        got, remedy = f"{labels.flat[at]} for bag {bag(at)}", "Leave bags without a label out."
        raise InvalidInput(name, "without missing labels", got, remedy)


def missing(values: np.ndarray) -> Bool[np.ndarray, " m"]:
    """Return which values of a flattened array are None, NaN, NaT or NA."""
    if values.dtype != object:
        return (values != values).ravel()  # NaN and NaT differ from themselves
    if set(map(type, values.flat)) <= {bool, int, str}:  # quick, for the ids of many tokens
        return np.zeros(values.size, bool)
    return np.array([is_missing(value) for value in values.flat], dtype=bool)


def is_missing(value: Any) -> bool:
    """Whether a value is None, NaN, NaT or NA."""
    if isinstance(value, np.ndarray):  # of another kind
        return False
    same = value == value
    return value is None or not isinstance(same, bool | np.bool_) or not same


def _kind(each: type) -> type | None:
    """Return the plain type of values of a type, None if there is none."""
    for kind, known in (
        (bool, (bool, np.bool_)),
        (str, str),
        (bytes, bytes),
        (None, np.timedelta64),  # an integer to NumPy
        (int, numbers.Integral),
        (float, (float, np.floating)),
    ):
        if issubclass(each, known):
            return kind
    return None


def _typed(array: np.ndarray, name: str) -> np.ndarray:
    """Return an array of objects of one kind as one of a type of NumPy that holds each exactly."""
    given = array.ravel().tolist()
    kinds = {_kind(each) for each in set(map(type, given))}
    kind = float if float in kinds else next(iter(kinds), str) or str
    large = kind is int and max(given) >= 2**63
    found: np.ndarray
    try:
        found = np.array([_PLAIN[kind](one) for one in given], np.uint64 if large else kind)
        changed = [one for one, kept in zip(given, found.tolist(), strict=True) if one != kept]
    except OverflowError:
        changed = [max(given, key=abs)]
    if changed:
        raise InvalidInput(name, _EXACT[kind], changed[0], "Give other texts, or smaller numbers.")
    if kind is float and not np.isfinite(found).all():
        raise InvalidInput(name, _LABELS, "infinity")
    return found.reshape(array.shape)
