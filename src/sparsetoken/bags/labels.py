"""Ids, which are texts, and labels and groups, which are values of one kind: one for each bag."""

from __future__ import annotations

import itertools
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from jaxtyping import Bool, Int, Shaped

from sparsetoken.base.validation import InvalidInput, refuse_masked

SHOWN = 8  # names in a message
_LEGAL = "of texts, of truth values or of finite numbers, all of one kind"


def some(names: Sequence[Any]) -> str:
    """Return names with commas between, and how many more there are."""
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return ", ".join(map(str, names[:SHOWN])) + more


def of_groups(bags: int, groups: int | None) -> str:
    """Say of how many groups bags are, or that they are taken as independent."""
    return (
        f"{bags} bags, taken as independent"
        if groups is None
        else f"{bags} bags of {groups} groups"
    )


def id_texts(values: Any, name: str = "ids") -> Shaped[np.ndarray, " n"]:
    """Return ids as texts, without blanks around them: 7, and 7.0 of a column with a gap, are "7".

    Letters with marks are one character: macOS splits them in names of files.

    Raises
    ------
    InvalidInput
        If an id is missing, or two different ones are one text, such as 1 and "1".
    """
    array = listed(values, name)
    refuse_missing(array, name)
    if array.dtype.kind not in "biufUMO":
        raise InvalidInput(name, "texts or integers", f"dtype {array.dtype}")
    given = (array.astype(str) if array.dtype.kind == "M" else array).ravel().tolist()
    texts = [_text(one) for one in given]
    known = dict(zip(texts, given, strict=True))
    for text, one in zip(texts, given, strict=True):
        if known[text] != one:
            got = f"{one!a} and {known[text]!a}"
            raise InvalidInput(name, "different as texts, or the same", got)
    if "" in known:
        raise InvalidInput(name, "without missing values", f"'' in row {texts.index('')}")
    return np.array(texts, dtype=str).reshape(array.shape)


def composed(text: str) -> str:
    """Return a text in which a letter with its marks is one character."""
    return unicodedata.normalize("NFC", text)


def read_labels(values: Any, name: str = "y") -> np.ndarray:
    """Return labels or groups as an array of texts, truth values or numbers.

    Raises
    ------
    InvalidInput
        If a value is missing or not finite, they are of several kinds, of which NumPy would make
        one, or NumPy does not hold one as it is.
    """
    array = listed(values, name)
    refuse_missing(array, name, int)
    if array.dtype == object:
        given = array.ravel().tolist()
        truths = {isinstance(one, bool | np.bool_) for one in given}
        try:
            array = np.array(given).reshape(array.shape)
        except ValueError:  # of lists
            array = np.empty(0)
        if len(truths) > 1 or array.ravel().tolist() != given:  # of texts and numbers, as texts
            got = some(sorted({f"{type(one).__name__} {one!r}" for one in given}))
            raise InvalidInput(name, _LEGAL, got, "Give texts, or smaller numbers.")
    finite = array.dtype.kind != "f" or np.isfinite(array).all()
    if array.dtype.kind not in "biufU" or not finite:
        got = f"dtype {array.dtype}" if finite else "infinity"
        raise InvalidInput(name, _LEGAL, got, "Give labels as texts.")
    return array


def listed(values: Any, name: str) -> np.ndarray:
    """Return values as an array, of objects where NumPy would have to find a common type."""
    refuse_masked(name, values)
    try:
        array = np.asarray(values, None if hasattr(values, "__array__") else object)
    except ValueError:
        raise InvalidInput(name, "a list or an array", "rows of different lengths") from None
    return array.astype(object) if array.dtype.kind == "T" else array  # StringDType


def refuse_missing(values: np.ndarray, name: str, of: Callable[[int], Any] | None = None) -> None:
    """Raise `InvalidInput` for None, NaN, NaT or NA; `of` names the bag of a place."""
    gone = _missing(values)
    if gone.any():
        at = int(gone.argmax())
        got = f"{values.flat[at]} " + (f"in row {at}" if of is None else f"for bag {of(at)}")
        raise InvalidInput(name, "without missing values", got, "Leave such bags out.")


def _missing(values: np.ndarray) -> Bool[np.ndarray, " m"]:
    if values.dtype != object:
        return (values != values).ravel()  # NaN and NaT differ from themselves
    return np.array([is_missing(value) for value in values.flat], dtype=bool)


def is_missing(value: Any) -> bool:
    """Whether a value is None, NaN, NaT or NA."""
    if value is None or isinstance(value, str | int):
        return value is None
    same = value == value
    return not isinstance(same, np.ndarray) and (
        not isinstance(same, bool | np.bool_) or not bool(same)
    )


def labels_of(
    labels: Any,
    offsets: Int[np.ndarray, " bounds"],
    ids: Shaped[np.ndarray, " n"],
    rows: Int[np.ndarray, " N"] | None = None,
    name: str = "labels",
) -> Shaped[np.ndarray, " n"]:
    """Return labels, which messages call `name`, in the order of the bags.

    They are by id; or one for each bag, or for each token, the same in all of a bag. Rows are the
    places of the tokens among those given. With these the order of the bags is known only if ids
    rise, and one label for each bag is refused otherwise.
    """
    n, N = len(ids), int(offsets[-1])
    if isinstance(labels, Mapping) or (hasattr(labels, "index") and hasattr(labels, "to_dict")):
        y = _by_id(labels, ids.tolist(), name, N)
    elif (y := listed(labels, name)).shape == (N,):
        y = y if rows is None else y[rows]
        owner = np.repeat(np.arange(n), np.diff(offsets))
        refuse_missing(y, name, lambda token: ids[owner[token]])
        if (differs := y != y[offsets[:-1]][owner]).any():
            token = int(np.argmax(differs))
            got = f"two in bag {ids[owner[token]]}: {y[offsets[owner[token]]]} and {y[token]}"
            raise InvalidInput(name, "the same in all tokens of a bag", got)
        y = y[offsets[:-1]]
    elif y.shape != (n,):
        legal = f"one for each of {n} bags or {N} tokens, or a mapping from ids"
        raise InvalidInput(name, legal, f"shape {y.shape}")
    elif rows is not None and not _rise(ids.tolist()):
        got = f"one for each bag, where ids first appear as {some(ids.tolist())}"
        remedy = "Sort the tokens by id, or label each token; dict(zip(ids, labels)) is by id."
        raise InvalidInput(name, "a mapping from ids, where these do not rise", got, remedy)
    refuse_missing(y, name, ids.__getitem__)
    y = read_labels(y, name)
    if y.dtype.kind != "U":
        return y
    texts = [composed(one) for one in y.tolist()]
    if "" in texts:  # no class, and no patient
        got = f"'' for bag {ids[texts.index('')]}"
        raise InvalidInput(name, "without missing values", got, "Leave such bags out.")
    return np.array(texts)


def _by_id(labels: Any, ids: list[str], name: str, N: int) -> np.ndarray:
    series = not isinstance(labels, Mapping)
    keys, given = (labels.index.tolist(), labels) if series else (list(labels), labels.values())
    if series and len(keys) == N > len(ids):
        remedy = "labels.to_numpy() goes by place; a Series goes by its index, of ids."
        raise InvalidInput(name, "one for each bag", "a Series with one for each token", remedy)
    texts = id_texts(keys, f"the ids of {name}").tolist()
    known = dict(zip(texts, given, strict=True))
    if len(known) < len(texts):
        twice = next(one for one in texts if texts.count(one) > 1)
        raise InvalidInput(name, "one for each bag", f"two for {twice}")
    if absent := [one for one in ids if one not in known]:
        got = f"none for {some(absent)}; those given are for {some(texts)}"
        raise InvalidInput(name, "one for each bag", got, "dict(zip(ids, labels)) is by id.")
    values = np.empty(len(ids), object)
    values[:] = [known[one] for one in ids]
    return values


def _rise(ids: list[str]) -> bool:
    """Whether ids are in order: as numbers if all are whole numbers, else as texts."""
    whole = all(one.removeprefix("-").isdecimal() for one in ids)
    keys: list[Any] = [int(one) for one in ids] if whole else ids
    return all(a < b for a, b in itertools.pairwise(keys))


def _text(one: Any) -> str:
    if isinstance(one, float | np.floating) and one.is_integer():
        one = int(one)
    return composed(str(one).strip()).rstrip("\0")  # which NumPy drops
