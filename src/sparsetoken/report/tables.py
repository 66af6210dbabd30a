"""The rows behind a report as tables of named columns, and the values of single trials."""

from __future__ import annotations

import csv
import dataclasses
import io
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from sparsetoken.experiments.rows import Measured

TRIAL_COLUMNS = ("experiment", "table", "row", "column", "engine", "dimension", "trial", "value")


def row_tables(rows: Mapping[str, Sequence[Any]]) -> dict[str, str]:
    """Return a table for each class of rows of each experiment, by the name of its file.

    Parameters
    ----------
    rows : mapping
        The rows of each experiment, by its name.
    """
    return {
        f"{experiment}.{kind}.csv": _text(*_columns(some))
        for experiment, found in rows.items()
        for kind, some in _by_class(found).items()
    }


def trial_table(rows: Mapping[str, Sequence[Any]]) -> str:
    """Return the value of every trial; row is the number of the row in its table, from 0."""
    return _text(TRIAL_COLUMNS, _trials(rows))


def _by_class(rows: Iterable[Any]) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = {}
    for row in rows:
        found.setdefault(type(row).__name__, []).append(row)
    return found


def _columns(rows: Sequence[Any]) -> tuple[list[str], Iterator[list[Any]]]:
    flat = [_flat(row) for row in rows]
    names = list(dict.fromkeys(name for row in flat for name in row))
    return names, ([row.get(name) for name in names] for row in flat)


def _flat(row: Any) -> dict[str, Any]:
    """Return the columns of a row, those of a column that is a dataclass as NAME.COLUMN."""
    found: dict[str, Any] = {}
    for field in dataclasses.fields(row):
        value = getattr(row, field.name)
        if isinstance(row, Measured) and field.name == "values":
            continue
        if dataclasses.is_dataclass(value):
            found |= {f"{field.name}.{name}": v for name, v in _flat(value).items()}
        else:
            found[field.name] = value
    return found


def _trials(rows: Mapping[str, Sequence[Any]]) -> Iterator[tuple[Any, ...]]:
    for experiment, found in rows.items():
        for kind, some in _by_class(found).items():
            for number, row in enumerate(some):
                for field in dataclasses.fields(row):
                    value = getattr(row, field.name)
                    if not isinstance(value, Measured):
                        continue
                    place = experiment, kind, number, field.name, value.engine, value.dimension
                    yield from ((*place, trial, v) for trial, v in enumerate(value.values))


def _text(names: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(names)
    writer.writerows([_cell(value) for value in row] for row in rows)
    return text.getvalue()


def _cell(value: Any) -> Any:
    return "" if value is None or (isinstance(value, float) and math.isnan(value)) else value
