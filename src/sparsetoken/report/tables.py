"""The rows behind a report as tables of named columns, and the values of single trials."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from sparsetoken.experiments.core.rows import Row, Rows

COLUMNS = ("value", "error", "engine", "dimension", "trials", "status")
TRIAL_COLUMNS = ("experiment", "row", "series", "quantity", "engine", "dimension", "trial", "value")


def row_tables(rows: Mapping[str, Rows]) -> dict[str, str]:
    """Return a table of the rows of each experiment, by the name of its file.

    Parameters
    ----------
    rows : mapping
        By the name of the experiment.
    """
    return {f"{experiment}.csv": _text(*_columns(found)) for experiment, found in rows.items()}


def trial_table(rows: Mapping[str, Rows]) -> str:
    """Return the value of every trial; row is the number of the row in its table, from 0."""
    return _text(TRIAL_COLUMNS, _trials(rows))


def _columns(rows: Rows) -> tuple[list[str], Iterator[list[Any]]]:
    """Return series, quantity and all coordinates, then what was found."""
    coordinates = list(dict.fromkeys(name for row in rows for name in row.at))
    names = ["series", "quantity", *coordinates, *COLUMNS]
    return names, ([_column(row, name) for name in names] for row in rows)


def _column(row: Row, name: str) -> Any:
    return row.at.get(name) if name not in ("series", "quantity", *COLUMNS) else getattr(row, name)


def _trials(rows: Mapping[str, Rows]) -> Iterator[tuple[Any, ...]]:
    for experiment, found in rows.items():
        for number, row in enumerate(found):
            place = experiment, number, row.series, row.quantity, row.engine, row.dimension
            yield from ((*place, trial, value) for trial, value in enumerate(row.values))


def _text(names: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(names)
    writer.writerows([_cell(value) for value in row] for row in rows)
    return text.getvalue()


def _cell(value: Any) -> Any:
    return "" if value is None or (isinstance(value, float) and math.isnan(value)) else value
