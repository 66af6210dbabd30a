"""Exports: the finished rows sorted by configuration, results first."""

from __future__ import annotations

import csv
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sparsetoken.extras import needed
from sparsetoken.files import require_place, written_whole
from sparsetoken.sweep.columns import Columns
from sparsetoken.sweep.integrity import Losses, read_whole_rows
from sparsetoken.sweep.reading import StoreReader, damaged_rows_text, require_store
from sparsetoken.sweep.schema import StoreError
from sparsetoken.sweep.store import Store
from sparsetoken.validation import InvalidInput

if TYPE_CHECKING:
    import pandas as pd

STORE = ".sqlite"
ENDINGS = (".csv", ".parquet", STORE)
LINES = 5_000


def check_export(path: Path, store: Path | None = None) -> None:
    """Raise `InvalidInput` unless the path can be exported to, and is not that of the store."""
    if path.suffix.lower() not in ENDINGS:
        raise InvalidInput("--export", "a path that ends in .csv, .parquet or .sqlite", str(path))
    require_place("--export", path, *([store] if store else []))
    if path.suffix.lower() == STORE and path.exists():
        raise InvalidInput("--export", "a new file, since it is a store", str(path))
    if path.suffix.lower() == ".parquet":
        needed("pyarrow", "to write Parquet files", "data")


def export_table(store: StoreReader, path: Path | str, *, facts: bool = False) -> Losses:
    """Write the finished rows that are whole to a .csv or .parquet file, or to a new store.

    A table replaces an older one. Two stores with the same results give the same bytes. A new
    store (.sqlite) has the rows alone: a sweep that is run on it computes what it lacks.

    Parameters
    ----------
    store : StoreReader
    path : path
    facts : bool
        Whether to add the seconds of each row and what it was computed with; then the
        bytes differ from run to run.

    Returns
    -------
    Losses
        What is lost since the file is damaged.

    Raises
    ------
    InvalidInput
        If the ending is another, the file is that of the store, the folder cannot be written,
        or pyarrow is missing.
    StoreError
        If a row cannot be written to a new store.

    Examples
    --------
    >>> import tempfile
    >>> from sparsetoken.sweep import Grid, GridPlan, Store, export_table, linear, run
    >>> grid = Grid("alignment", [linear("strength", 1, 3, 3)], {"length": 4})
    >>> with tempfile.TemporaryDirectory() as folder, Store(folder + "/s.sqlite") as store:
    ...     _ = run(store, GridPlan(grid))
    ...     export_table(store, folder + "/s.csv")
    Losses(finished=0, unknown=0)
    """
    require_store(store)
    path = Path(path)
    check_export(path, store.path)
    if path.suffix.lower() == STORE:
        return copy_rows(store, path)
    columns, losses = read_columns(store, facts)
    write = _write_csv if path.suffix.lower() == ".csv" else _write_parquet
    with written_whole(path) as aside:
        write(columns, aside)
    return losses


def copy_rows(source: StoreReader, path: Path) -> Losses:
    """Write the finished rows that are whole to a new store; return what is lost.

    It takes its place when it is on the disk, so that an error leaves nothing of it.
    """
    with tempfile.TemporaryDirectory(dir=path.resolve().parent, prefix=".unfinished-") as folder:
        aside = Path(folder) / "new.sqlite"
        with Store(aside) as store:
            losses = read_whole_rows(source, store.add_finished)
            store.query("PRAGMA journal_mode = DELETE")  # a log would have the name of this file
        aside.replace(path)
    return losses


def to_pandas(store: Store, *, facts: bool = False) -> pd.DataFrame:
    """Return the finished rows as a DataFrame, sorted by configuration, results first.

    A value that a row does not have is NaN, or None in columns of text.

    Raises
    ------
    StoreError
        If rows are damaged.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from sparsetoken.sweep import Grid, GridPlan, Store, linear, run, to_pandas
    >>> grid = Grid("alignment", [linear("strength", 1, 3, 3)], {"length": 4})
    >>> with tempfile.TemporaryDirectory() as folder, Store(Path(folder) / "s.sqlite") as store:
    ...     _ = run(store, GridPlan(grid))
    ...     len(to_pandas(store))
    3
    """
    require_store(store)
    pd = needed("pandas", "to make a DataFrame", "data")
    columns, losses = read_columns(store, facts)
    if any(losses):
        raise StoreError(damaged_rows_text(store.path, f"A part ({sum(losses)} rows)"))
    order = columns.order()
    return pd.DataFrame({name: _array(values)[order] for name, values in columns.named().items()})


def read_columns(store: StoreReader, facts: bool = False) -> tuple[Columns, Losses]:
    """Return the finished rows that are whole by column, and what is lost."""
    columns = Columns(facts)
    return columns, read_whole_rows(store, columns.add)


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
