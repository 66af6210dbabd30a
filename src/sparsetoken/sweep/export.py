"""Exports: the finished rows sorted by configuration, results first."""

from __future__ import annotations

import csv
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sparsetoken.extras import needed
from sparsetoken.sweep.columns import Columns
from sparsetoken.sweep.integrity import readable_rows
from sparsetoken.sweep.reading import StoreReader
from sparsetoken.sweep.store import Store
from sparsetoken.validation import InvalidInput

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["ENDINGS", "check_export", "export_table", "to_pandas"]

ENDINGS = (".csv", ".parquet")
LINES = 5_000


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
    columns, lost = read_columns(store, facts)
    aside = path.with_name(path.name + ".part")
    write = _write_csv if path.suffix.lower() == ".csv" else _write_parquet
    write(columns, aside)
    aside.replace(path)
    return lost


def to_pandas(store: Store, *, facts: bool = False) -> pd.DataFrame:
    """Return the finished rows as a DataFrame, sorted by configuration, results first.

    A value that a row does not have is NaN, or None in columns of text.
    """
    pd = needed("pandas", "to make a DataFrame", "data")
    columns, _ = read_columns(store, facts)
    order = columns.order()
    return pd.DataFrame({name: _array(values)[order] for name, values in columns.named().items()})


def read_columns(store: StoreReader, facts: bool = False) -> tuple[Columns, int]:
    """Return the finished rows by column, and the number of rows that cannot be read."""
    columns, lost = Columns(facts), 0
    for chunk in readable_rows(store):
        if chunk is None:
            lost += 1
        else:
            columns.add(chunk)
    return columns, lost


def _types(values: list[Any]) -> set[type]:
    return set(map(type, values)) - {type(None)}


def _alike(values: list[Any]) -> list[Any]:
    """Return the values of a column; if some numbers are fractions, all are floats."""
    if not {int, float} <= _types(values):
        return values
    return [float(value) if isinstance(value, int) else value for value in values]


def _texts(values: list[Any]) -> list[str | None]:
    return [v if v is None or isinstance(v, str) else repr(v) for v in _alike(values)]


def _array(values: list[Any]) -> np.ndarray:
    types = _types(values)
    if not types or not types <= {int, float}:
        return np.array(_texts(values), dtype=object)
    complete = types == {int} and None not in values
    return np.array([np.nan if v is None else v for v in values], dtype=int if complete else float)


def _write_csv(columns: Columns, path: Path) -> None:
    order = columns.order()
    named = {name: _alike(values) for name, values in columns.named().items()}
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(named)
        for first in range(0, len(order), LINES):
            places = order[first : first + LINES].tolist()
            cells = ([values[place] for place in places] for values in named.values())
            writer.writerows(zip(*cells, strict=True))


def _write_parquet(columns: Columns, path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    order = pa.array(columns.order())
    arrays = {name: _arrow(pa, values).take(order) for name, values in columns.named().items()}
    pq.write_table(pa.table(arrays), path)


def _arrow(pa: Any, values: list[Any]) -> Any:
    if _types(values) <= {int, float}:
        return pa.array(_alike(values))
    return pa.array(_texts(values), pa.string())
