"""Results as text, in a notebook, and as JSON.

A single row is shown vertically; the numbers of a column share a format, and a number of several
rows has its standard error beside it. Columns without any value are left out.
"""

from __future__ import annotations

import abc
import html as escape
import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

_MOST_ROWS = 60
_WIDTH = 110  # characters: of wider tables what all rows share is a line, the rest goes on below
_DIGITS = 4  # significant, of the largest number of a column
_MOST_DECIMALS = 8

Record = Mapping[str, Any]


class Shown(abc.ABC):
    """A result that is shown as a table, with lines of text below it."""

    @abc.abstractmethod
    def _shown(self) -> tuple[Sequence[Record], Sequence[str]]:
        """Return the rows of the table, and the lines."""

    def __repr__(self) -> str:
        return text(*self._shown())

    def _repr_html_(self) -> str:
        return html(*self._shown())


def text(rows: Sequence[Record], advice: Sequence[str] = (), title: str = "") -> str:
    """Return rows as a table of plain text."""
    if not rows:
        return "\n".join([title or "no points", *advice])
    columns = []
    for number, column in enumerate(zip(*_cells(rows), strict=True)):
        width, left = max(map(len, column)), len(rows) == 1 and not number
        columns.append([cell.ljust(width) if left else cell.rjust(width) for cell in column])
    lines, parts, shared = [title] if title else [], _parts(columns), ""
    differ = [column for column in columns if len(set(column[1:])) > 1]
    if len(parts) > 1 and differ:
        alike = [f"{c[0].strip()} {c[1].strip()}" for c in columns if len(set(c[1:])) == 1]
        parts, shared = _parts(differ), ", ".join(alike)
    for number, part in enumerate(parts):
        lines += [""] * bool(number)
        lines += ["  ".join(cells).rstrip() for cells in zip(*part, strict=True)]
    if len(rows) > _MOST_ROWS:
        lines.append(f"{len(rows) - _MOST_ROWS} more rows")
    if shared:
        lines.append(f"In all rows: {shared}.")
    return "\n".join([*lines, *advice])


def html(rows: Sequence[Record], advice: Sequence[str] = ()) -> str:
    """Return rows as an HTML table for a notebook."""
    if not rows:
        return "<p>no points</p>"
    body = "".join(
        "<tr>" + "".join(f"<td>{escape.escape(cell)}</td>" for cell in row) + "</tr>"
        for row in _cells(rows)
    )
    more = f"<p>{len(rows) - _MOST_ROWS} more rows</p>" if len(rows) > _MOST_ROWS else ""
    notes = "".join(f"<p>{escape.escape(note)}</p>" for note in advice)
    return f"<table>{body}</table>{more}{notes}"


def _cells(rows: Sequence[Record]) -> list[list[str]]:
    """Return the cells of the table as texts, with the names of the columns."""
    if len(rows) > 1:
        columns = columns_of(rows[:_MOST_ROWS])
        return [list(columns), *map(list, zip(*columns.values(), strict=True))]
    (row,) = rows
    given = {name: value for name, value in row.items() if value not in (None, "")}
    errors = [name for name in given if name.removesuffix("_se") in given.keys() - {name}]
    if not errors:
        return [[_words(name), *formatted([value])] for name, value in given.items()]
    cells = [["", "value", "error"]]
    for name in given:
        if name not in errors:
            error = given.get(f"{name}_se")
            (both,) = _with_errors([given[name]], [error])
            value, _, known = both.partition(" ± ")
            if isinstance(error, float) and not known and math.isfinite(error):
                known = f"{error:.1e}" if error else "0"
            cells.append([_words(name), value, known])
    return cells


def columns_of(rows: Sequence[Record]) -> dict[str, list[str]]:
    """Return the columns of rows as texts, each number with its standard error."""
    names = dict.fromkeys(name for row in rows for name in row)
    values = {name: [row.get(name) for row in rows] for name in names}
    columns = {
        name: _with_errors(column, values.get(f"{name}_se"))
        for name, column in values.items()
        if not name.endswith("_se") or name.removesuffix("_se") not in values
    }
    return {name: column for name, column in columns.items() if any(column)}


def _parts(columns: Sequence[list[str]]) -> list[list[list[str]]]:
    """Return the columns of each part of a table; the first ones, which tell rows apart, in all."""
    keys = 1
    while keys < len(columns) and len(set(zip(*columns[:keys], strict=True))) < len(columns[0]):
        keys += 1
    parts = [list(columns[:keys])]
    for column in columns[keys:]:
        width = sum(len(cells[0]) + 2 for cells in parts[-1]) + len(column[0])
        if width > _WIDTH and len(parts[-1]) > keys:
            parts.append(list(columns[:keys]))
        parts[-1].append(column)
    return parts


def _with_errors(values: Sequence[Any], errors: Sequence[Any] | None) -> list[str]:
    """Return numbers as texts, with the decimals that their standard errors need.

    The largest error has two to four digits, so that others have one if they can.
    """
    known = [e for e in errors or () if isinstance(e, float) and 0 < e < math.inf]
    if errors is None or not known:
        return formatted(values)
    largest, smallest = (math.floor(math.log10(size)) for size in (max(known), min(known)))
    decimals = max(1 - largest, min(-smallest, 3 - largest))
    if not 0 <= decimals <= _MOST_DECIMALS:
        return formatted(values)
    form = f".{decimals}f"
    pairs = [[_text(number, form) for number in pair] for pair in zip(values, errors, strict=True)]
    return [one if {"-", ""} & {one, error} else f"{one} ± {error}" for one, error in pairs]


def _words(name: str) -> str:
    return name.replace("_", " ")


def formatted(values: Sequence[Any]) -> list[str]:
    """Return the values of a column as texts; its numbers have the same number of decimals."""
    numbers = [
        abs(value)
        for value in values
        if isinstance(value, float) and math.isfinite(value) and value != 0
    ]
    largest = max(numbers, default=1.0)
    decimals = _DIGITS - 1 - math.floor(math.log10(largest))
    form = f".{max(decimals, 0)}f" if -3 < decimals <= 7 else f".{_DIGITS - 1}e"
    return [_text(value, form) for value in values]


def _text(value: Any, form: str) -> str:
    if not isinstance(value, float):
        return "" if value is None else str(value)
    if not math.isfinite(value):
        return "-" if math.isnan(value) else str(value)
    return format(value, form)


def json_text(value: Any, indent: int | None = None) -> str:
    """Return a value as JSON: arrays become lists, and numbers that JSON lacks become null.

    Each number has the fewest digits from which its own type reads it back.

    Examples
    --------
    >>> from sparsetoken.base.tables import json_text
    >>> json_text({"auc": float("nan"), "steps": (1, 2)})
    '{"auc": null, "steps": [1, 2]}'
    """
    return json.dumps(_plain(value), indent=indent, allow_nan=False)


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    if getattr(value, "dtype", None) in ("float32", "float16"):
        value = value.astype(str).astype(float)
    value = value.tolist() if hasattr(value, "tolist") else value
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
