"""Bags as rows with bag ids: arrays, pandas frames and Parquet files."""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, overload

import numpy as np
from jaxtyping import Float, Int, Shaped

from sparsetoken.bags.container import Bags
from sparsetoken.bags.convert import as_bags, as_floats, check_finite, refuse_masked
from sparsetoken.bags.labelled import (
    LabelledBags,
    LeakWarning,
    in_order,
    labels_of,
    some,
    warn_of_leaks,
)
from sparsetoken.bags.segments import segment_max
from sparsetoken.extras import needed
from sparsetoken.validation import InvalidInput

if TYPE_CHECKING:
    import pandas


LABELS = ("label", "y")  # names that a column of labels has by default
_NO_ID = "Leave out rows without an id."


class BagOrderWarning(UserWarning):
    """The order in which bag ids first appear is not their sorted order."""


class IdentifiedBags(NamedTuple):
    """Bags and the id of each, in order.

    Attributes
    ----------
    bags : Bags
    ids : array of shape (n,)

    Examples
    --------
    >>> from sparsetoken.bags import from_long
    >>> bags, ids = from_long([[1.0], [2.0], [3.0]], ["a", "b", "a"])
    >>> len(bags), ids.tolist()
    (2, ['a', 'b'])
    """

    bags: Bags
    ids: Shaped[np.ndarray, " n"]


class LongForm(NamedTuple):
    """Tokens and the id of the bag of each.

    Attributes
    ----------
    tokens : array of shape (N, d)
    bag_ids : array of shape (N,)

    Examples
    --------
    >>> import numpy as np
    >>> from sparsetoken.bags import as_bags, to_long
    >>> tokens, bag_ids = to_long(as_bags([np.zeros((2, 3)), np.ones((1, 3))]))
    >>> tokens.shape, bag_ids.tolist()
    ((3, 3), [0, 0, 1])
    """

    tokens: Float[np.ndarray, "N d"]
    bag_ids: Shaped[np.ndarray, " N"]


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
    BagOrderWarning
        If no labels are given and the order of the bags is not the sorted one.

    Raises
    ------
    InvalidInput
        If an id is missing, the lengths differ, a value is NaN or infinite, or a bag has no
        label or two.

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
    return _entered(bags, ids, order, names, labels, "labels")


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


def _entered(
    bags: Bags, ids: np.ndarray, order: np.ndarray, columns: list[str], labels: Any, name: str
) -> IdentifiedBags | LabelledBags:
    """Return what a public function returns to its caller, who is warned."""
    if labels is not None:
        found = LabelledBags(bags, labels_of(labels, bags, ids, order, name), ids, columns)
        warn_of_leaks(found, stacklevel=4)
        return found
    if not in_order(ids):
        warnings.warn(
            f"Bags are in the order in which their ids first appear ({some(ids.tolist())}), "
            "while numpy.unique and groupby sort. Labels stand in the order of `ids`; "
            "labels= brings them into it.",
            BagOrderWarning,
            stacklevel=3,
        )
    return IdentifiedBags(bags, ids)


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


def to_long(bags: Any, ids: Any = None) -> LongForm:
    """Return bags as rows with bag ids; `from_long` reads them back.

    Parameters
    ----------
    bags : any form of bags
    ids : array of shape (n,), optional
        The default is 0 to n - 1.

    Raises
    ------
    InvalidInput
        If there are more or fewer ids than bags, or an id occurs twice.

    Examples
    --------
    >>> import numpy as np
    >>> from sparsetoken.bags import as_bags, to_long
    >>> to_long(as_bags([np.zeros((2, 3)), np.ones((1, 3))])).bag_ids.tolist()
    [0, 0, 1]
    """
    refuse_masked("ids", ids)
    bags = as_bags(bags)
    names = np.arange(len(bags)) if ids is None else np.asarray(ids)
    if names.shape != (len(bags),) or len(set(names.tolist())) < len(bags):
        got = f"shape {names.shape}, {len(set(names.ravel().tolist()))} different ids"
        raise InvalidInput("ids", f"{len(bags)} different values, one for each bag", got)
    return LongForm(bags.tokens, np.repeat(names, bags.sizes))


@overload
def from_frame(
    frame: pandas.DataFrame,
    bag: str = "bag",
    *,
    labels: None = None,
    columns: str | Sequence[str] | None = None,
) -> IdentifiedBags: ...
@overload
def from_frame(
    frame: pandas.DataFrame,
    bag: str = "bag",
    *,
    labels: Any,
    columns: str | Sequence[str] | None = None,
) -> LabelledBags: ...
def from_frame(
    frame: pandas.DataFrame,
    bag: str = "bag",
    *,
    labels: Any = None,
    columns: str | Sequence[str] | None = None,
) -> IdentifiedBags | LabelledBags:
    """Return bags from a pandas or polars frame with one row for each token.

    Parameters
    ----------
    frame : pandas.DataFrame or polars.DataFrame
    bag : str
        The column of bag ids, in any order.
    labels : str, mapping, pandas.Series or array, optional
        The column of labels, alike in all rows of a bag; else as in `from_long`.
    columns : list of str, or str, optional
        The columns of the embedding, or the one column that holds it as a list. The default
        is all but those of ids and labels.

    Returns
    -------
    IdentifiedBags or LabelledBags
        ``bags, ids``, or ``bags, y, ids`` with labels.

    Warns
    -----
    LeakWarning
        If one column, or the number of tokens, gives the labels away; where labels are not of a
        column, if one has a single value in each bag, as labels have.
    BagOrderWarning
        If no labels are given and the order of the bags is not the sorted one.

    Raises
    ------
    InvalidInput
        If a column is not there or not of numbers, one named label or y is left among those of
        the tokens, and as `from_long`.

    Examples
    --------
    >>> import pandas as pd
    >>> from sparsetoken.bags import from_frame
    >>> frame = pd.DataFrame({"slide": ["s7", "s7", "s2"], "x": [0.1, 0.2, 0.3], "sick": [1, 1, 0]})
    >>> bags, y, ids = from_frame(frame, "slide", labels="sick")
    >>> ids.tolist(), y.tolist()
    (['s7', 's2'], [1, 0])
    """
    if type(frame).__module__.partition(".")[0] == "polars":
        frame = frame.to_pandas()
    if not hasattr(frame, "columns"):
        remedy = "from_long takes arrays, read a file."
        raise InvalidInput("frame", "of pandas or polars", type(frame).__name__, remedy)
    if bag not in frame.columns:
        remedy = "bag= names the column that says which bag a token is of."
        raise InvalidInput("column of bag ids", f"one of {some(list(frame.columns))}", bag, remedy)
    column = labels if isinstance(labels, str) else None
    if column is not None and (column == bag or column not in frame.columns):
        legal = "one of " + some([name for name in frame.columns if name != bag])
        raise InvalidInput("column of labels", legal, column, "labels= names it.")
    others = [name for name in frame.columns if name not in (bag, column)]
    named = embedding(frame, others, columns)
    bags, ids, order = grouped(tokens_of(frame, named), frame[bag].to_numpy())
    if column is not None:
        labels = frame[column].to_numpy()
    else:
        _tell_constant(bags, named)
    told = "labels" if column is None else f"column {column}"
    return _entered(bags, ids, order, token_names(named, bags.dimension), labels, told)


def embedding(
    frame: pandas.DataFrame, others: Sequence[str], columns: str | Sequence[str] | None
) -> list[str]:
    """Return the columns of the embedding, those given or all others.

    Raises
    ------
    InvalidInput
        If one is not there, or by its name is a label that was left in.
    """
    if columns is None:
        for name in others:
            if name in LABELS:
                remedy = f'labels="{name}" takes it as labels, columns= names those of tokens.'
                raise InvalidInput("columns", "those of the tokens", f"one named {name}", remedy)
        return list(others)
    named = [columns] if isinstance(columns, str) else list(columns)
    for name in named:
        if name not in frame.columns:
            legal = f"one of {some(list(frame.columns))}"
            raise InvalidInput("column", legal, name)
    return named


def tokens_of(frame: pandas.DataFrame, named: Sequence[str]) -> np.ndarray:
    """Return the tokens: of columns of numbers, or of the one column that holds vectors."""
    if len(named) == 1 and of_vectors(frame[named[0]]):
        return _vectors(frame, named[0])
    return _values(frame, list(named))


def of_vectors(column: Any) -> bool:
    """Return whether the values of a column are vectors, as far as the first one says."""
    first = next((value for value in column if value is not None), None)
    return hasattr(first, "__len__") and not isinstance(first, (str, bytes))


def token_names(named: Sequence[str], d: int) -> list[str]:
    """Return the names of the columns of tokens, also where one column holds them."""
    return [f"{named[0]}[{i}]" for i in range(d)] if len(named) != d else [str(n) for n in named]


def _tell_constant(bags: Bags, named: Sequence[str]) -> None:
    """Warn of columns that have one value in each bag, and not the same in all."""
    several = bags.sizes > 1
    if len(named) != bags.dimension or 2 * several.sum() <= len(bags):
        return
    least = np.stack([bag.min(axis=0) for bag in bags])[several]
    most = segment_max(bags.tokens, bags.offsets)[several]
    constant = (least == most).all(axis=0) & (most != most[:1]).any(axis=0)
    found = [str(named[k]) for k in np.flatnonzero(constant).tolist()]
    if found:
        warnings.warn(
            f"Columns with one value in each bag, as labels and ids have, are among those of the "
            f"tokens: {some(found)}. labels= names that of the labels, columns= those of tokens.",
            LeakWarning,
            stacklevel=3,
        )


def _vectors(frame: pandas.DataFrame, column: str) -> np.ndarray:
    try:
        return np.stack(frame[column].to_list())
    except (ValueError, TypeError) as error:
        legal = "of vectors of one length"
        raise InvalidInput(f"column {column}", legal, f"others ({error})") from None


def _values(frame: pandas.DataFrame, columns: list[str]) -> np.ndarray:
    for name in columns:
        kind = frame[name].dtype
        if getattr(kind, "kind", "O") not in "biuf":
            remedy = "Name the columns of the embedding in `columns`."
            raise InvalidInput(f"column {name}", "of real numbers", f"dtype {kind}", remedy)
    return frame[columns].to_numpy()


def to_frame(
    bags: Any, ids: Any = None, *, bag: str = "bag", columns: Sequence[str] | None = None
) -> pandas.DataFrame:
    """Return bags as a pandas frame with one row for each token; `from_frame` reads it back.

    Parameters
    ----------
    bags : any form of bags
    ids : array of shape (n,), optional
        The default is 0 to n - 1.
    bag : str
        Name of the column of ids, the first.
    columns : list of d str, optional
        Names of the other columns. The default is x0 to x(d-1).

    Raises
    ------
    InvalidInput
        If names or ids do not fit the bags, or pandas is not installed.

    Examples
    --------
    >>> import numpy as np
    >>> from sparsetoken.bags import as_bags, to_frame
    >>> list(to_frame(as_bags([np.zeros((2, 2))])).columns)
    ['bag', 'x0', 'x1']
    """
    pandas = needed("pandas", "to make frames", "data")
    bags = as_bags(bags)
    d = bags.dimension
    names = [f"x{k}" for k in range(d)] if columns is None else list(columns)
    if len(names) != d or len({bag, *names}) != d + 1:
        raise InvalidInput("columns", f"{d} different names other than {bag}", names)
    tokens, bag_ids = to_long(bags, ids)
    frame = pandas.DataFrame(tokens, columns=names)
    frame.insert(0, bag, bag_ids)
    return frame


def write_parquet(
    bags: Any,
    path: str | os.PathLike[str],
    ids: Any = None,
    *,
    bag: str = "bag",
    columns: Sequence[str] | None = None,
) -> None:
    """Write bags to a Parquet file with one row for each token; `read` reads it back.

    Parameters
    ----------
    bags : any form of bags
    path : path
    ids, bag, columns
        As in `to_frame`.

    Raises
    ------
    InvalidInput
        If names or ids do not fit the bags, or pandas or pyarrow is not installed.

    Examples
    --------
    >>> import numpy as np
    >>> import tempfile
    >>> from pathlib import Path
    >>> from sparsetoken.bags import as_bags, read, write_parquet
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "bags.parquet"
    ...     write_parquet(as_bags([np.zeros((2, 3)), np.ones((1, 3))]), path)
    ...     len(read(path, labels=None).bags)
    2
    """
    needed("pyarrow", "to write Parquet files", "data")
    to_frame(bags, ids, bag=bag, columns=columns).to_parquet(path, index=False)
