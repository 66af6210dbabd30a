"""Exports: the finished rows sorted by configuration, results first."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sparsetoken.extras import needed
from sparsetoken.sweep.columns import Coded, Columns, Numbers
from sparsetoken.sweep.integrity import readable_rows
from sparsetoken.sweep.store import Store
from sparsetoken.validation import InvalidInput

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["ENDINGS", "check_export", "export_table", "to_pandas"]

ENDINGS = (".csv", ".parquet")
LINES = 50_000


def check_export(path: Path) -> None:
    """Raise `InvalidInput` unless the path can be exported to."""
    if path.suffix.lower() not in ENDINGS:
        raise InvalidInput("--export", "a path that ends in .csv or .parquet", str(path))
    if not path.resolve().parent.is_dir() or not os.access(path.resolve().parent, os.W_OK):
        raise InvalidInput("--export", "in a folder that can be written", str(path))
    if path.suffix.lower() == ".parquet":
        needed("pyarrow", "to write Parquet files", "data")


def export_table(store: Store, path: Path | str, *, facts: bool = False) -> int:
    """Write the finished rows to a .csv or .parquet file, which replaces an older one.

    Two stores with the same results give the same bytes.

    Parameters
    ----------
    store : Store
    path : path
    facts : bool
        Whether to add the seconds of each row and what it was computed with; then the
        bytes differ from run to run.

    Returns
    -------
    int
        Rows that are lost since the file is damaged.

    Raises
    ------
    InvalidInput
        If the ending is another, the folder cannot be written, or pyarrow is missing.
    """
    path = Path(path)
    check_export(path)
    columns = read_columns(store, facts)
    aside = path.with_name(path.name + ".part")
    if path.suffix.lower() == ".csv":
        _write_csv(columns, aside)
    else:
        _write_parquet(columns, aside)
    aside.replace(path)
    return columns.lost


def to_pandas(store: Store, *, facts: bool = False) -> pd.DataFrame:
    """Return the finished rows as a DataFrame, sorted by configuration, results first.

    A value that a row does not have is NaN, or None in columns of text.
    """
    pd = needed("pandas", "to make a DataFrame", "data")
    columns = read_columns(store, facts)
    return pd.DataFrame({name: column.take(columns.order) for name, column in columns.items()})


def read_columns(store: Store, facts: bool = False) -> Columns:
    """Return the finished rows by column, with their sorted order."""
    columns = Columns(facts)
    for chunk in readable_rows(store):
        columns.add(chunk)
    columns.close()
    return columns


def _write_csv(columns: Columns, path: Path) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        file.write(",".join(_quoted(name) for name in columns.names) + "\n")
        texts = [_texts(column) for _, column in columns.items()]
        for first in range(0, len(columns.order), LINES):
            places = columns.order[first : first + LINES]
            lines = zip(*(text(places) for text in texts), strict=True)
            file.writelines(",".join(line) + "\n" for line in lines)


def _texts(column: Any) -> Any:
    """Return a function from places to the texts of a column there."""
    if isinstance(column, Coded):
        texts = np.array([_text(value) for value in column.values], dtype=object)
        return lambda places: texts[column.codes[places]].tolist()
    return lambda places: [
        _text(value) if there else ""
        for value, there in zip(_plain(column, places), column.present[places], strict=True)
    ]


def _plain(column: Numbers, places: np.ndarray) -> list[Any]:
    values = column.values[places].tolist()
    if not column.whole:
        return values
    return [int(value) if value == value else value for value in values]


def _text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, (int, float)):
        return repr(value)
    return _quoted(value)


def _quoted(text: str) -> str:
    if any(mark in text for mark in ',"\n\r'):
        return '"' + text.replace('"', '""') + '"'
    return text


def _write_parquet(columns: Columns, path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    arrays = [_arrow(pa, column, columns.order) for _, column in columns.items()]
    pq.write_table(pa.table(arrays, names=list(columns.names)), path)


def _arrow(pa: Any, column: Any, order: np.ndarray) -> Any:
    if isinstance(column, Coded):
        plain = column.values
        if len({type(v) for v in plain if v is not None}) > 1:
            plain = [None if v is None else _text(v) for v in plain]
        codes = pa.array(column.codes[order])
        return pa.DictionaryArray.from_arrays(codes, pa.array(plain)).dictionary_decode()
    values = column.values[order]
    missing = ~column.present[order]
    if column.whole:
        return pa.array(np.where(missing, 0, values).astype(int), mask=missing)
    return pa.array(values, mask=missing)
