"""Results as text, in a notebook, and as JSON.

A single row is shown vertically; the numbers of a column share a format.
"""

from __future__ import annotations

import html as escape
import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

_MOST_ROWS = 60
_DIGITS = 4  # significant, of the largest number of a column

Record = Mapping[str, Any]


def text(rows: Sequence[Record], advice: Sequence[str] = (), title: str = "") -> str:
    """Return rows as a table of plain text."""
    if not rows:
        return "\n".join([title or "no points", *advice])
    shown = _cells(rows)
    widths = [max(map(len, column)) for column in zip(*shown, strict=True)]
    upright = len(rows) == 1
    lines = [title] if title else []
    for row in shown:
        cells = [cell.rjust(width) for cell, width in zip(row, widths, strict=True)]
        if upright:
            cells[0] = row[0].ljust(widths[0])
        lines.append("  ".join(cells).rstrip())
    if len(rows) > _MOST_ROWS:
        lines.append(f"{len(rows) - _MOST_ROWS} more rows")
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
        names = list(rows[0])
        columns = [formatted([row.get(name) for row in rows[:_MOST_ROWS]]) for name in names]
        return [names, *map(list, zip(*columns, strict=True))]
    (row,) = rows
    given = {name: value for name, value in row.items() if value not in (None, "")}
    errors = [name for name in given if name.removesuffix("_se") in given.keys() - {name}]
    if not errors:
        return [[_words(name), *formatted([value])] for name, value in given.items()]
    cells = [["", "value", "standard error"]]
    for name in given:
        if name not in errors:
            cells.append([_words(name), *formatted([given[name], given.get(f"{name}_se")])])
    return cells


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
