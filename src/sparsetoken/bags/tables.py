"""Bags from rows with bag ids: arrays, and tables of pandas, polars or pyarrow."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from sparsetoken.bags.container import Bags, offsets_of
from sparsetoken.bags.convert import as_bags, as_floats, check_finite, names_of_columns
from sparsetoken.bags.labelled import LabelledBags
from sparsetoken.bags.labels import id_texts, listed, refuse_missing, some
from sparsetoken.bags.options import COORDINATES, LABELS, Options, is_name, require_different
from sparsetoken.base.machine import needed
from sparsetoken.base.validation import InvalidInput

if TYPE_CHECKING:
    import pandas

Columns = Sequence[str | int] | str | None

ROW_NAMES = "Unnamed: 0"
"""What pandas calls a first column without a name, in which R and pandas write names of rows."""


def from_long(tokens: Any, bag_ids: Any, *, labels: Any = None, groups: Any = None) -> LabelledBags:
    """Return bags from rows with bag ids, and the label of each bag if labels are given.

    Parameters
    ----------
    tokens : array of shape (N, d)
    bag_ids : array of shape (N,)
        Texts or integers, which become texts, in any order. Where the rows of a bag do not stand
        together, tokens are copied, sorted once; `LabelledBags.rows` says where each was.
    labels : mapping, pandas.Series or array, optional
        From ids to labels, where a Series has ids as its index; or an array of shape (N,), alike
        in all rows of a bag, or (n,). The latter is taken only where ids rise in the order in
        which they first appear: else it cannot be known which label is of which bag.
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
    found = grouped(tokens, bag_ids, names_of_columns(tokens)).with_labels(labels, groups)
    check_finite(found.bags)
    return found


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
        The columns of the embedding, or the one that holds it as a list; by default as in `read`.

    Returns
    -------
    LabelledBags
        ``bags, ids``, or ``bags, y, ids`` with labels.

    Raises
    ------
    InvalidInput
        If a column is not there or not of numbers, two have one name, and as `from_long`.

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
    if hasattr(frame, "to_pandas"):  # of polars and pyarrow
        frame = frame.to_pandas()
    if not hasattr(frame, "iloc"):
        remedy = "from_long takes arrays, read a file."
        raise InvalidInput("frame", "of pandas, polars or pyarrow", type(frame).__name__, remedy)
    options = Options(labels=labels, groups=groups, bag=bag, columns=columns, coordinates=None)
    found = from_rows("frame", frame, options).with_labels(*options.given())
    check_finite(found.bags)
    return found


def to_frame(
    bags: Any, ids: Any = None, *, bag: str = "bag", columns: Sequence[str] | None = None
) -> pandas.DataFrame:
    """Return bags as a pandas frame with one row for each token; `from_frame` reads it back.

    Parameters
    ----------
    bags : any form of bags
    ids : array of shape (n,), optional
        The default is 0 to n - 1; others are texts.
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
    own = np.arange(len(bags)) if ids is None else id_texts(ids)
    if own.shape != (len(bags),) or len(set(own.tolist())) < len(bags):
        got = f"shape {own.shape}, {len(set(own.ravel().tolist()))} different ids"
        raise InvalidInput("ids", f"{len(bags)} different values, one for each bag", got)
    frame = pandas.DataFrame(bags.tokens, columns=names)
    frame.insert(0, bag, np.repeat(own.astype(object) if ids is not None else own, bags.sizes))
    return frame


def grouped(tokens: Any, bag_ids: Any, columns: Sequence[str] | None = None) -> LabelledBags:
    """Return bags of the rows of each id, in the order in which ids first appear.

    All rows with ids end here, whatever they are read from; values may be NaN.
    """
    tokens, ids = as_floats(tokens, name="tokens"), listed(bag_ids, "bag_ids")
    if tokens.ndim != 2 or not tokens.size:
        raise InvalidInput("tokens", "an array of shape (N, d), not empty", f"shape {tokens.shape}")
    if ids.shape != tokens.shape[:1]:
        raise InvalidInput("bag_ids", f"one for each of {len(tokens)} tokens", f"shape {ids.shape}")
    refuse_missing(ids, "bag_ids")
    if ids.dtype == object:  # of numbers and texts, in which 1 and "1" may stand
        ids = id_texts(ids, "bag_ids")
    runs = np.flatnonzero(np.append(True, ids[1:] != ids[:-1]))  # where another id begins
    number: dict[Any, int] = {}
    codes = [number.setdefault(one, len(number)) for one in ids[runs].tolist()]
    code = np.repeat(codes, np.diff(np.append(runs, len(ids))))
    rows = np.argsort(code, kind="stable")
    tokens = tokens if len(number) == len(runs) else tokens[rows]
    bags = Bags(tokens, offsets_of(np.bincount(code)), columns)
    own = id_texts(ids[rows[bags.offsets[:-1]]], "bag_ids")
    return LabelledBags(bags, np.empty(0), own, rows)


def from_rows(what: str, frame: Any, options: Options) -> LabelledBags:
    """Return bags of a pandas frame with one row for each token, which messages call `what`.

    Labels and groups are those in columns that the options name.
    """
    names = [str(name) for name in frame.columns]
    frame = frame.set_axis(names, axis=1)
    require_different(what, names)
    own = options.columns_of(what, names, options.bag, ("bag",), "bag=")
    bag, label, groups = own
    places = _places(frame, names, options.coordinates)
    others = [name for name in names if name not in (*own, *places)]
    used = options.columns
    if used is None:
        used = _of_tokens(what, frame, [name for name in others if name != ROW_NAMES])
    else:
        used = chosen("columns", used, others)
    tokens = _tokens(frame, used)
    columns = used if len(used) == tokens.shape[-1] else None  # one of vectors has no names
    found = grouped(tokens, frame[bag], columns)
    found = found.with_labels(
        None if label is None else frame[label].to_numpy(),
        None if groups is None else frame[groups].to_numpy(),
        f"column {label}",
    )
    found.left_out.extend(name for name in others if name not in used)
    return with_coordinates(found, _tokens(frame, places)) if places else found


def _places(frame: Any, names: list[str], coordinates: Any) -> list[str]:
    """Return the columns of coordinates: by default the one of lists that is named so."""
    if coordinates is None:
        return []
    if coordinates != "":
        return chosen("coordinates", coordinates, names)
    return [name for name in COORDINATES if name in names and of_vectors(frame[name])][:1]


def with_coordinates(found: LabelledBags, coordinates: np.ndarray) -> LabelledBags:
    """Give the tokens of bags their coordinates, in the order of the rows of the table."""
    bags, rows = found.bags, slice(None) if found.rows is None else found.rows
    if coordinates.shape[:1] != bags.tokens.shape[:1]:
        legal = f"numbers of shape ({len(bags.tokens)}, k), a row for each token"
        raise InvalidInput("coordinates", legal, f"shape {coordinates.shape}")
    placed = Bags(bags.tokens, bags.offsets, bags.feature_names, coordinates[rows])
    return dataclasses.replace(found, bags=placed)


def chosen(what: str, columns: Any, names: Sequence[str]) -> list[str]:
    """Return the columns that are asked for as `what`, or raise `InvalidInput`."""
    wanted = [str(columns)] if is_name(columns) else [str(column) for column in columns]
    lacking = [name for name in wanted if name not in names]
    if not wanted or len(set(wanted)) < len(wanted) or lacking:
        legal, remedy = f"different ones of {some(names)}", f"There is no {some(lacking)}."
        raise InvalidInput(what, legal, ", ".join(wanted), remedy if lacking else "")
    return wanted


def _of_tokens(what: str, frame: Any, names: list[str]) -> list[str]:
    """Return the columns of numbers, or the one of vectors; never a second label or coordinates.

    Texts are left out. Where most cells of a column are numbers, one that is none is a mistake.
    """
    names = [name for name in names if name not in LABELS]
    vectors = [name for name in names if of_vectors(frame[name]) and name not in COORDINATES]
    for name in [] if vectors else names:
        odd, share = _odd_cell(frame[name])
        if odd and share > 0.5:
            remedy = (
                "Rows count from 0. Mend the cell, or name the columns of the tokens in columns=."
            )
            raise InvalidInput(f"column {name}", "of numbers or of texts", odd, remedy)
    of_numbers = [name for name in names if _of_numbers(frame[name])]
    if bool(vectors) == bool(of_numbers) or len(vectors) > 1:
        legal = "one with columns of numbers, or one column of vectors"
        got = f"numbers: {some(of_numbers) or 'none'}; vectors: {some(vectors) or 'none'}"
        raise InvalidInput(what, legal, got, "columns= names the columns of the tokens.")
    return vectors or of_numbers


def _tokens(frame: Any, used: list[str]) -> np.ndarray:
    """Return the tokens: of columns of numbers, or of the one column that holds vectors."""
    if len(used) == 1 and of_vectors(frame[used[0]]):
        try:
            return as_floats(np.stack(frame[used[0]].to_list()))
        except (ValueError, TypeError) as error:
            legal = "of vectors of one dimension"
            raise InvalidInput(f"column {used[0]}", legal, f"others ({error})") from None
    for name in used:
        if not _of_numbers(frame[name]):
            remedy = "columns= names the columns of the tokens."
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
