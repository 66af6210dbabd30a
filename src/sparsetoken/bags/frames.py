"""Bags as rows with bag ids, in frames of pandas or polars and in Parquet files."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from sparsetoken.bags.container import Bags
from sparsetoken.bags.convert import as_bags, check_columns, refuse_masked
from sparsetoken.bags.labelled import LabelledBags, LeakWarning, some
from sparsetoken.bags.long_form import IdentifiedBags, entered, grouped
from sparsetoken.bags.segments import segment_max
from sparsetoken.base.machine import needed
from sparsetoken.base.validation import InvalidInput

if TYPE_CHECKING:
    import pandas

LABELS = ("label", "y")  # names that a column of labels has by default


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
    if type(frame).__module__.partition(".")[0] == "polars":
        frame = frame.to_pandas()
    if not hasattr(frame, "columns"):
        remedy = "from_long takes arrays, read a file."
        raise InvalidInput("frame", "of pandas or polars", type(frame).__name__, remedy)
    check_columns("frame", frame)
    if bag not in frame.columns:
        remedy = of_index(frame) or "bag= names the column that says which bag a token is of."
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
    source = "labels" if column is None else f"column {column}"
    return entered(bags, ids, order, token_names(named, bags.dimension), labels, source)


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


def of_index(frame: Any) -> str:
    """Return the remedy for columns that stand in the index of a frame, "" if none does."""
    named = [str(name) for name in frame.index.names if name is not None]
    return f"The index of the table is {some(named)}; save it with reset_index()." * bool(named)


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
    names = [str(named[k]) for k in np.flatnonzero(constant).tolist()]
    if names:
        warnings.warn(
            f"Columns with one value in each bag, as labels and ids have, are among those of the "
            f"tokens: {some(names)}. labels= names that of the labels, columns= those of tokens.",
            LeakWarning,
            stacklevel=3,
        )


def _vectors(frame: pandas.DataFrame, column: str) -> np.ndarray:
    try:
        return np.stack(frame[column].to_list())
    except (ValueError, TypeError) as error:
        legal = "of vectors of one dimension"
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
    pandas = needed("pandas", "to make frames", "data")
    bags = as_bags(bags)
    d = bags.dimension
    names = [f"x{k}" for k in range(d)] if columns is None else list(columns)
    if len(names) != d or len({bag, *names}) != d + 1:
        raise InvalidInput("columns", f"{d} different names other than {bag}", names)
    refuse_masked("ids", ids)
    own = np.arange(len(bags)) if ids is None else np.asarray(ids)
    if own.shape != (len(bags),) or len(set(own.tolist())) < len(bags):
        got = f"shape {own.shape}, {len(set(own.ravel().tolist()))} different ids"
        raise InvalidInput("ids", f"{len(bags)} different values, one for each bag", got)
    frame = pandas.DataFrame(bags.tokens, columns=names)
    frame.insert(0, bag, np.repeat(own, bags.sizes))
    return frame
