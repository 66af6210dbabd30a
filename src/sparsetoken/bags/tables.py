"""Bags from rows with bag ids: arrays, and tables of pandas, polars or pyarrow."""

from __future__ import annotations

import numbers
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sparsetoken.bags.container import Bags, offsets_of
from sparsetoken.bags.convert import (
    as_bags,
    as_floats,
    check_columns,
    check_finite,
    names_of_columns,
    refuse_masked,
)
from sparsetoken.bags.keys import of_one_kind, read_keys
from sparsetoken.bags.labelled import LabelledBags
from sparsetoken.bags.labels import is_series, some
from sparsetoken.bags.names import is_place
from sparsetoken.base.machine import needed
from sparsetoken.base.validation import InvalidInput

if TYPE_CHECKING:
    import pandas

Columns = Sequence[str | int] | None

LABELS = ("label", "y")  # names that a column of labels has by default
ROW_NAMES = "Unnamed: 0"
"""What pandas calls a first column without a name, in which R and pandas write names of rows."""


def from_long(tokens: Any, bag_ids: Any, *, labels: Any = None, groups: Any = None) -> LabelledBags:
    """Return bags from rows with bag ids, and the label of each bag if labels are given.

    Parameters
    ----------
    tokens : array of shape (N, d)
    bag_ids : array of shape (N,)
        Integers or texts, all of one kind, in any order. Where the rows of a bag do not stand
        together, tokens are copied, sorted once; `LabelledBags.rows` says where each was.
    labels : mapping, pandas.Series or array, optional
        From ids to labels, where a Series has ids as its index; or an array of shape (N,), or a
        Series with the index of `bag_ids`, alike in all rows of a bag. An array of shape (n,) is
        taken only where ids first appear in sorted order: else it cannot be known which label is
        of which bag.
    groups : mapping, pandas.Series or array, optional
        Of which patient, author or place each bag is, in the forms of labels.

    Returns
    -------
    LabelledBags
        ``bags, ids``, or ``bags, y, ids`` with labels: in the order in which ids first appear;
        tokens of a bag keep theirs.

    Raises
    ------
    InvalidInput
        If an id is missing, the lengths differ, a value is NaN or infinite, or a bag has no
        label or two.

    See Also
    --------
    from_frame : Bags from a table.

    Examples
    --------
    >>> import numpy as np
    >>> from sparsetoken.bags import from_long
    >>> bags, y, ids = from_long(np.eye(3), ["b", "a", "b"], labels={"a": 0, "b": 1})
    >>> ids.tolist(), y.tolist(), bags[0].shape
    (['b', 'a'], [1, 0], (2, 3))
    """
    index = bag_ids.index if is_series(bag_ids) else None
    check_columns("tokens", tokens)
    names = names_of_columns(tokens) or ()
    return grouped(tokens, bag_ids, labels, columns=names).with_groups(groups, index=index)


def from_frame(
    frame: pandas.DataFrame,
    bag: str | int = "bag",
    *,
    labels: Any = None,
    groups: Any = None,
    columns: Columns = None,
) -> LabelledBags:
    """Return bags from a table of pandas, polars or pyarrow with one row for each token.

    Parameters
    ----------
    frame : pandas.DataFrame, polars.DataFrame or pyarrow.Table
    bag : str or int
        The column of bag ids, in any order.
    labels : str, int, mapping, pandas.Series or array, optional
        The column of labels, alike in all rows of a bag; else as in `from_long`.
    groups : str, int, mapping, pandas.Series or array, optional
        The column of groups, such as patients, alike in all rows of a bag; else as in `from_long`.
    columns : list of str, or str, optional
        The columns of the embedding, or the one column that holds it as a list. The default
        is all but those of ids, labels and groups, and a first one without a name, of row names.

    Returns
    -------
    LabelledBags
        ``bags, ids``, or ``bags, y, ids`` with labels.

    Raises
    ------
    InvalidInput
        If a column is not there or not of numbers, two have one name, one named label or y is left
        among those of the tokens, the frame is lazy, and as `from_long`.

    See Also
    --------
    to_frame : The reverse.
    from_long : Bags from rows with bag ids.
    read : Bags from a file.

    Examples
    --------
    >>> import pandas as pd
    >>> from sparsetoken.bags import from_frame
    >>> frame = pd.DataFrame({"slide": ["s7", "s7", "s2"], "x": [0.1, 0.2, 0.3], "sick": [1, 1, 0]})
    >>> bags, y, ids = from_frame(frame, "slide", labels="sick")
    >>> ids.tolist(), y.tolist()
    (['s7', 's2'], [1, 0])
    """
    refuse_masked("frame", frame)
    if hasattr(frame, "to_pandas"):  # of polars and pyarrow
        frame = frame.to_pandas()
    if not hasattr(frame, "columns"):
        remedy = "from_long takes arrays, read a file."
        raise InvalidInput("frame", "of pandas, polars or pyarrow", type(frame).__name__, remedy)
    return from_rows("frame", frame, bag, labels, groups, columns, _all_but_labels)


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
        Names of the other columns. The default is those of the bags, or x0 to x(d-1).

    Raises
    ------
    InvalidInput
        If names or ids do not fit the bags, or pandas is not installed.

    See Also
    --------
    from_frame : The reverse.

    Examples
    --------
    >>> import numpy as np
    >>> from sparsetoken.bags import as_bags, to_frame
    >>> list(to_frame(as_bags([np.zeros((2, 2))])).columns)
    ['bag', 'x0', 'x1']
    """
    pandas, bags = needed("pandas", "to make frames", "data"), as_bags(bags)
    d = bags.dimension
    known = bags.feature_names or [f"x{k}" for k in range(d)]
    names = list(known if columns is None else columns)
    if len(names) != d or len({bag, *names}) != d + 1:
        raise InvalidInput("columns", f"{d} different names other than {bag}", names)
    own = np.arange(len(bags)) if ids is None else read_keys(ids, "ids")
    if own.shape != (len(bags),) or len(set(own.tolist())) < len(bags):
        got = f"shape {own.shape}, {len(set(own.ravel().tolist()))} different ids"
        raise InvalidInput("ids", f"{len(bags)} different values, one for each bag", got)
    frame = pandas.DataFrame(bags.tokens, columns=names)
    frame.insert(0, bag, np.repeat(own, bags.sizes))
    return frame


def grouped(
    tokens: Any,
    bag_ids: Any,
    labels: Any,
    name: str = "labels",
    columns: Sequence[str] = (),
    left_out: Sequence[str] = (),
) -> LabelledBags:
    """Return bags of the rows of each id, in the order in which ids first appear.

    All tables end here; the name is that of the labels in messages.
    """
    refuse_masked("bag_ids", bag_ids, "Leave out rows without an id.")
    tokens, ids = as_floats(tokens, name="tokens"), of_one_kind(bag_ids, "bag_ids")
    if tokens.ndim != 2 or not tokens.size:
        raise InvalidInput("tokens", "an array of shape (N, d), not empty", f"shape {tokens.shape}")
    if ids.shape != tokens.shape[:1]:
        raise InvalidInput("bag_ids", f"one for each of {len(tokens)} tokens", f"shape {ids.shape}")
    runs = np.flatnonzero(np.append(True, ids[1:] != ids[:-1]))  # where another id begins
    number: dict[Any, int] = {}
    codes = [number.setdefault(one, len(number)) for one in ids[runs].tolist()]
    code = np.repeat(codes, np.diff(np.append(runs, len(ids))))
    rows = np.argsort(code, kind="stable")
    bags = Bags(tokens if len(number) == len(runs) else tokens[rows], offsets_of(np.bincount(code)))
    check_finite(bags)
    ids = read_keys(ids[rows[bags.offsets[:-1]]], "bag_ids")
    index = bag_ids.index if is_series(bag_ids) else None
    return LabelledBags.of(bags, ids, labels, name, rows, columns, left_out, index)


def from_rows(
    what: str,
    frame: Any,
    bag: str | int,
    labels: Any,
    groups: Any,
    columns: Columns,
    default: Callable[[Any, list[str]], list[str]],
    coordinates: Columns = None,
) -> LabelledBags:
    """Return bags of a pandas frame with one row for each token.

    Messages call it `what`. Labels or groups that are a text name a column. Where no columns of the
    tokens are given, `default` picks them among the others. The columns of coordinates hold
    numbers, or one of them vectors.
    """
    bag, labels, groups = (column_name(value) for value in (bag, labels, groups))
    check_columns(what, frame)
    names = [str(name) for name in frame.columns]
    frame = frame[:]  # a view
    frame.columns = names
    given = [bag, *(name for name in (labels, groups) if isinstance(name, str))]
    for name in given:
        check_present(what, "column", str(name), names, _of_index(frame), name is groups)
    if bag in given[1:]:
        what = "labels" if labels == bag else "groups"
        raise InvalidInput(what, "another column than that of the bag ids", bag)
    lie = [] if not coordinates else chosen(coordinates, [n for n in names if n not in given])
    others = [name for name in names if name not in (*given, *lie)]
    if columns is None:
        used = default(frame, [name for name in others if name != ROW_NAMES])
    else:
        used = chosen(columns, others)
    left_out = [name for name in others if name not in used]
    source = "labels"
    if isinstance(labels, str):
        labels, source = frame[labels].to_numpy(), f"column {labels}"
    found = grouped(_tokens(frame, used), frame[bag], labels, source, used, left_out)
    if lie:
        found = found.with_coordinates(_tokens(frame, lie))
    if isinstance(groups, str):
        return found.with_groups(frame[groups].to_numpy(), f"column {groups}")
    return found.with_groups(groups, index=frame.index)


def column_name(value: Any) -> Any:
    """Return the text that names the column of an integer, and all else as it is."""
    whole = isinstance(value, numbers.Integral) and not isinstance(value, bool)
    return str(value) if whole else value


def check_present(
    what: str,
    kind: str,
    name: str,
    names: Collection[str],
    remedy: str = "",
    of_groups: bool = False,
) -> None:
    """Raise `InvalidInput` if a table has no array or column of a name."""
    if name not in names:
        got = f"{kind}s " + ", ".join(list(names)[:20])
        keywords = () if remedy else ("groups=",) if of_groups else ("labels=", "bag=")
        told = f"{{}} and {{}} name the {kind}s of labels and bag ids."
        remedy = remedy or (f"{{}} names the {kind} of the groups." if of_groups else told)
        raise InvalidInput(what, f"with the {kind} {name}", got, remedy, *keywords)


def label_name(path: Path, names: Collection[str], labels: str, default: str) -> str:
    """Return the name of the array or column of labels."""
    if labels == "" and all(name in names for name in LABELS):
        remedy = "{} says which holds the labels; the other is left out."
        legal = "with one of label and y"
        raise InvalidInput(f"FILE {path.name}", legal, "both", remedy, "labels=")
    return labels or default


def chosen(columns: Sequence[str | int], names: Sequence[str]) -> list[str]:
    """Return the columns of the tokens that are asked for, or raise `InvalidInput`."""
    columns = column_name(columns)
    wanted = [columns] if isinstance(columns, str) else [str(column) for column in columns]
    lacking = [name for name in wanted if name not in names]
    if not wanted or len(set(wanted)) < len(wanted) or lacking:
        legal, remedy = f"different ones of {some(names)}", f"There is no {some(lacking)}."
        raise InvalidInput("columns", legal, ", ".join(wanted), remedy if lacking else "")
    return wanted


def _all_but_labels(frame: Any, names: list[str]) -> list[str]:
    for name in names:
        if name in LABELS:
            remedy = f'labels="{name}" takes it as labels, columns= names those of tokens.'
            raise InvalidInput("columns", "those of the tokens", f"one named {name}", remedy)
    return names


def numbers_or_vectors(frame: Any, names: list[str], declared: bool = False) -> list[str]:
    """Return the columns of numbers, or the one of vectors; never a second label or coordinates.

    Texts are left out. Where most cells of a column are numbers, one that is none is a mistake, or
    a missing value, unless the file has declared which columns are texts.
    """
    names = [name for name in names if name not in LABELS]
    names = [name for name in names if not (of_vectors(frame[name]) and is_place(name))]
    vectors = [name for name in names if of_vectors(frame[name])]
    for name in [] if vectors or declared else names:
        odd, share = _odd_cell(frame[name])
        if odd and share > 0.5:
            remedy = "Rows count from 0. Mend the cell, or name the columns of the tokens in {}."
            raise InvalidInput(f"column {name}", "of numbers or of texts", odd, remedy, "columns=")
    of_numbers = [name for name in names if _of_numbers(frame[name])]
    if bool(vectors) == bool(of_numbers) or len(vectors) > 1:
        legal = "with columns of numbers, or one column of vectors"
        got = f"numbers: {some(of_numbers) or 'none'}; vectors: {some(vectors) or 'none'}"
        raise InvalidInput("FILE", legal, got, "{} names the columns of the tokens.", "columns=")
    return vectors or of_numbers


def _tokens(frame: Any, used: list[str]) -> np.ndarray:
    """Return the tokens: of columns of numbers, or of the one column that holds vectors."""
    if len(used) == 1 and of_vectors(frame[used[0]]):
        rows = frame[used[0]].to_list()
        if any(np.ndim(one) > 1 or getattr(one, "dtype", np.dtype(float)).names for one in rows):
            remedy = f"Where each row is a bag, they are as_bags(list(frame[{used[0]!r}]))."
            raise InvalidInput(f"column {used[0]}", "of a vector for each token", "tables", remedy)
        try:
            return np.stack(rows)
        except (ValueError, TypeError) as error:
            legal = "of vectors of one dimension"
            raise InvalidInput(f"column {used[0]}", legal, f"others ({error})") from None
    for name in used:
        if not _of_numbers(frame[name]):
            remedy = "Name the columns of the embedding in `columns`."
            got = _odd_cell(frame[name])[0] or f"dtype {frame[name].dtype}"
            raise InvalidInput(f"column {name}", "of real numbers", got, remedy)
    tokens = frame[used].to_numpy()
    missing = tokens.dtype == object  # such as pandas.NA, which is no number
    return frame[used].to_numpy(float, na_value=np.nan) if missing else tokens


def of_vectors(column: Any) -> bool:
    """Whether the values of a column are vectors, as far as the first one says."""
    first = next((value for value in column if value is not None), None)
    return hasattr(first, "__len__") and not isinstance(first, (str, bytes))


def _of_numbers(column: Any) -> bool:
    return getattr(column.dtype, "kind", "O") in "biuf"


def _odd_cell(column: Any) -> tuple[str, float]:
    """Return the first cell of texts that is no number, "" if all are, and the share of numbers."""
    import pandas

    if column.dtype.kind != "O":
        return "", 1.0
    known = column.reset_index(drop=True).dropna()
    of_numbers = pandas.to_numeric(known.astype(str), errors="coerce").notna()
    odd = known[~of_numbers]
    got = f"{odd.iloc[0]!r} in row {odd.index[0]}" if len(odd) else ""
    return got, float(of_numbers.mean()) if len(known) else 1.0


def _of_index(frame: Any) -> str:
    """Return the remedy for columns that stand in the index of a frame, "" if none does."""
    named = [str(name) for name in frame.index.names if name is not None]
    return f"The index of the table is {some(named)}; save it with reset_index()." * bool(named)
