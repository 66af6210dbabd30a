"""Bags as rows with bag ids, in arrays."""

from __future__ import annotations

from typing import Any, NamedTuple, overload

import numpy as np
from jaxtyping import Int, Shaped

from sparsetoken.bags.container import Bags
from sparsetoken.bags.convert import as_floats, check_finite, refuse_masked
from sparsetoken.bags.labelled import LabelledBags, labels_of, warn_of_leaks
from sparsetoken.base.validation import InvalidInput

_NO_ID = "Leave out rows without an id."


class IdentifiedBags(NamedTuple):
    """Bags and the id of each, in order.

    Attributes
    ----------
    bags : Bags
    ids : array of shape (n,)

    See Also
    --------
    from_long : Bags from rows with bag ids.
    LabelledBags : The same with labels.

    Examples
    --------
    >>> from sparsetoken.bags import from_long
    >>> bags, ids = from_long([[1.0], [2.0], [3.0]], ["a", "b", "a"])
    >>> len(bags), ids.tolist()
    (2, ['a', 'b'])
    """

    bags: Bags
    ids: Shaped[np.ndarray, " n"]


@overload
def from_long(tokens: Any, bag_ids: Any, *, labels: None = None) -> IdentifiedBags: ...
@overload
def from_long(tokens: Any, bag_ids: Any, *, labels: Any) -> LabelledBags: ...
def from_long(tokens: Any, bag_ids: Any, *, labels: Any = None) -> IdentifiedBags | LabelledBags:
    """Return bags from rows with bag ids, and the label of each bag if labels are given.

    Parameters
    ----------
    tokens : array of shape (N, d)
    bag_ids : array of shape (N,)
        Ints or strings, in any order. Where the rows of a bag do not stand together, tokens
        are copied, sorted once; `token_order` says where each went.
    labels : mapping, pandas.Series or array, optional
        From ids to labels, where a Series has ids as its index; or an array or Series of shape
        (N,), alike in all rows of a bag. An array of shape (n,) is taken only where ids first
        appear in sorted order: else it cannot be known which label is of which bag.

    Returns
    -------
    IdentifiedBags or LabelledBags
        ``bags, ids``, or ``bags, y, ids`` with labels: in the order in which ids first appear;
        tokens of a bag keep theirs.

    Warns
    -----
    LeakWarning
        If one column, or the number of tokens, gives the labels away: see `separating_columns`.

    Raises
    ------
    InvalidInput
        If an id is missing, the lengths differ, a value is NaN or infinite, or a bag has no
        label or two.

    See Also
    --------
    from_frame : Bags from a table.
    token_order : The order of the rows in the bags.

    Examples
    --------
    >>> import numpy as np
    >>> from sparsetoken.bags import from_long
    >>> bags, y, ids = from_long(np.eye(3), ["b", "a", "b"], labels={"a": 0, "b": 1})
    >>> ids.tolist(), y.tolist(), bags[0].shape
    (['b', 'a'], [1, 0], (2, 3))
    """
    bags, ids, order = grouped(tokens, bag_ids)
    names = [str(i) for i in range(bags.dimension)]
    return entered(bags, ids, order, names, labels, "labels")


def grouped(tokens: Any, bag_ids: Any) -> tuple[Bags, np.ndarray, np.ndarray]:
    """Return bags, the id of each, and the row of each of their tokens in the table given."""
    refuse_masked("bag_ids", bag_ids, _NO_ID)
    rows, ids = as_floats(tokens, name="tokens"), np.asarray(bag_ids)
    if rows.ndim != 2 or not rows.size:
        raise InvalidInput("tokens", "an array of shape (N, d), not empty", f"shape {rows.shape}")
    if ids.shape != rows.shape[:1]:
        raise InvalidInput("bag_ids", f"one for each of {len(rows)} tokens", f"shape {ids.shape}")
    _check_present(ids)
    starts, order = _starts(ids), np.arange(len(rows))
    if len(set(ids[starts].tolist())) < len(starts):
        order = token_order(ids)
        rows, ids = rows[order], ids[order]
        starts = _starts(ids)
    bags = Bags(rows, np.append(starts, len(rows)))
    check_finite(bags)
    return bags, ids[starts], order


def entered(
    bags: Bags, ids: np.ndarray, order: np.ndarray, columns: list[str], labels: Any, name: str
) -> IdentifiedBags | LabelledBags:
    """Return what a public function returns to its caller, who is warned."""
    if labels is None:
        return IdentifiedBags(bags, ids)
    labelled = LabelledBags(bags, labels_of(labels, bags, ids, order, name), ids, columns)
    warn_of_leaks(labelled, stacklevel=4)
    return labelled


def _check_present(ids: np.ndarray) -> None:
    if ids.dtype == object:
        missing = np.array([x is None or _is_missing(x) for x in ids])
    else:
        missing = ids != ids  # NaN and NaT differ from themselves
    if missing.any():
        row = int(missing.argmax())
        raise InvalidInput("bag_ids", "without missing values", f"{ids[row]} in row {row}")


def _is_missing(x: Any) -> bool:
    same = x == x
    return not isinstance(same, bool | np.bool_) or not same  # NA == NA is NA


def _starts(ids: np.ndarray) -> np.ndarray:
    """Return the rows at which another bag begins."""
    return np.concatenate([[0], np.flatnonzero(ids[1:] != ids[:-1]) + 1])


def token_order(bag_ids: Any) -> Int[np.ndarray, " N"]:
    """Return the rows in the order in which `from_long` lays tokens out.

    Bags are in the order in which their ids first appear, and tokens of a bag in that of their
    rows: token j of the flat array is row ``token_order(bag_ids)[j]``.

    Parameters
    ----------
    bag_ids : array of shape (N,)
        Ints or strings, in any order.

    Raises
    ------
    InvalidInput
        If an id is missing.

    See Also
    --------
    from_long : Bags from rows with bag ids.

    Examples
    --------
    >>> token_order(["b", "a", "b"]).tolist()
    [0, 2, 1]
    """
    refuse_masked("bag_ids", bag_ids, _NO_ID)
    ids = np.asarray(bag_ids)
    if ids.ndim != 1:
        raise InvalidInput("bag_ids", "an array of shape (N,)", f"shape {ids.shape}")
    _check_present(ids)
    number: dict[Any, int] = {}
    return np.argsort([number.setdefault(x, len(number)) for x in ids.tolist()], kind="stable")
