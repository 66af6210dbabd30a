"""Labels and groups in any form, in the order of the bags."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Int, Shaped

from sparsetoken.bags.convert import refuse_masked
from sparsetoken.bags.keys import (
    all_composed,
    composed,
    listed,
    read_labels,
    refuse_alike,
    refuse_missing,
)
from sparsetoken.base.validation import InvalidInput

SHOWN = 8  # names in a message


def some(names: Sequence[Any]) -> str:
    """Return names with commas between, and how many more there are."""
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return ", ".join(map(str, names[:SHOWN])) + more


def labels_of(
    labels: Any,
    offsets: Int[np.ndarray, " bounds"],
    ids: Shaped[np.ndarray, " n"],
    rows: Int[np.ndarray, " N"],
    name: str = "labels",
    index: Any = None,
    word: str = "label",
) -> Shaped[np.ndarray, " n"]:
    """Return labels, in any form that `from_long` takes, in the order of the bags.

    Bags begin at `offsets`, and their tokens are the `rows` of the table given, whose index is 0
    to N - 1 by default; messages call the labels by `name`, and each by the `word`.

    Raises
    ------
    InvalidInput
        If a bag has no label or two, or it cannot be known which label is of which bag.
    """
    refuse_masked(name, labels)
    n, N = len(ids), len(rows)
    if isinstance(labels, str | Path):
        remedy = "read and pack take the path of a sheet."
        raise InvalidInput(name, "a mapping from ids, or one for each bag", str(labels), remedy)
    if hasattr(labels, "columns"):
        remedy = 'Give table.set_index("ID")["LABEL"], by the names of its columns.'
        raise InvalidInput(name, "a column, a mapping or an array", "a table", remedy)
    if is_series(labels):
        labels = _of_series(labels, ids.tolist(), range(N) if index is None else index, name)
    if isinstance(labels, Mapping):
        labels = _by_id(labels, ids.tolist(), name)
    elif (given := listed(labels, name)).shape == (N,):
        return _one_of_each(given[rows], offsets, ids, rows, name, word)
    elif given.shape != (n,):
        legal = f"one for each of {n} bags or {N} tokens, or a mapping from ids"
        raise InvalidInput(name, legal, f"shape {given.shape}")
    elif not (ids[1:] > ids[:-1]).all():
        legal = "a mapping from ids, or of bags with ids that rise"
        got = f"one for each bag in an unknown order; ids first appear as {some(ids.tolist())}"
        remedy = "Use dict(zip(ids, labels)), or sort the tokens by id."
        raise InvalidInput(name, legal, got, remedy)
    y = all_composed(read_labels(labels, name, ids.__getitem__))
    if y.shape != (n,):
        raise InvalidInput(name, "one for each bag", f"shape {y.shape}")
    return y


def is_series(values: Any) -> bool:
    """Whether values are a pandas Series, which has an index."""
    return hasattr(values, "index") and hasattr(values, "to_dict")


def _of_series(labels: Any, ids: list[Any], index: Any, name: str) -> Any:
    """Return a Series as a column of the table if its index is that of the rows, else by id."""
    keys = labels.index.tolist()
    if len(keys) == len(index) and keys == list(index):
        if len(keys) == len(ids) and keys != ids and set(keys) == set(ids):
            got = "a Series with a label for each bag and for each token"
            remedy = "labels.to_dict() has ids for keys, labels.to_numpy() stands by rows."
            raise InvalidInput(name, "of one possible order", got, remedy)
        return labels.to_numpy()
    if len(keys) == len(index) > len(ids):
        got = "a Series with a label for each token, and another index than the tokens"
        remedy = "labels.to_numpy() stands by rows."
        raise InvalidInput(name, "a column of the table, or by id", got, remedy)
    if not labels.index.is_unique and set(ids) <= set(keys):
        twice = labels.index[labels.index.duplicated()][0]
        raise InvalidInput(name, "one for each bag", f"two for {twice!r}", "Leave one out.")
    return labels.to_dict()


def _by_id(labels: Mapping, ids: list[Any], name: str) -> list[Any]:
    refuse_alike(labels, f"the keys of {name}")
    known = {composed(key): value for key, value in labels.items()}
    absent = [one for one in ids if composed(one) not in known]
    if absent:
        remedy = (
            f"Ids are such as {ids[0]!r}, the keys given such as {next(iter(labels), None)!r}. "
            'A Series is by id as table.set_index("ID")["LABEL"], other labels are as '
            "dict(zip(ids, labels))."
        )
        raise InvalidInput(name, "one for each bag", f"none for bag {absent[0]}", remedy)
    return [known[composed(one)] for one in ids]


def _one_of_each(
    labels: np.ndarray,
    offsets: np.ndarray,
    ids: np.ndarray,
    rows: np.ndarray,
    name: str,
    word: str,
) -> np.ndarray:
    """Return the label of each bag, which all of its tokens have."""
    owner = np.repeat(np.arange(len(ids)), np.diff(offsets))
    y = labels[offsets[:-1]]
    refuse_missing(labels, name, lambda token: ids[owner[token]])
    differs = labels != y[owner]
    if differs.any():
        token = int(np.argmax(differs))
        got = f"two {word}s in bag {ids[owner[token]]}, the second in row {rows[token]}"
        raise InvalidInput(name, f"one {word} for each bag", got)
    return all_composed(read_labels(y, name))
